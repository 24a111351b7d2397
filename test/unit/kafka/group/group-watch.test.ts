import { expect, test, vi } from "vitest";

import { GroupWatch } from "../../../../src/kafka/group/group-watch.ts";
import { inEachTest } from "../../../support/clock/stepped-timers.ts";

inEachTest();

/** A group that rebalances once, from the given time on, and gets no more requests until then. */
class Group {
  readonly sent: number[] = [];
  isRebalancing = false;

  sendHeartbeat(): Promise<boolean> {
    this.sent.push(performance.now());
    const reported = this.isRebalancing;
    this.isRebalancing = false;
    return Promise.resolve(reported);
  }
}

function watched(count: number) {
  const watch = new GroupWatch(() => 5_000);
  const groups = Array.from({ length: count }, () => new Group());
  for (const group of groups) watch.add(group);
  return { watch, groups };
}

function mostAtOnce(timesMs: readonly number[]): number {
  return Math.max(
    ...[...Map.groupBy(timesMs, (atMs) => atMs).values()].map(({ length }) => length),
  );
}

const asks = (groups: readonly Group[]) => groups.reduce((sum, { sent }) => sum + sent.length, 0);

test.each([
  [1, 10],
  [10, 20],
  [100, 20],
  [1_000, 200],
])("%i groups at rest are asked in turns, %i times a second in all", async (count, perSecond) => {
  const { groups } = watched(count);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(asks(groups)).toBe(10 * perSecond);
  const most = Math.max(...groups.map(({ sent }) => sent.length));
  expect(most).toBe(Math.ceil((10 * perSecond) / count));
});

test("the first group of a thousand that rebalances has all asked at once", async () => {
  const { groups } = watched(1_000);
  // A process that starts or stops is a member of all of them.
  for (const group of groups) group.isRebalancing = true;
  await vi.advanceTimersByTimeAsync(100);
  expect(groups.filter(({ isRebalancing }) => isRebalancing)).toEqual([]);
});

test("groups that begin to rebalance later are heard of, too, for a while", async () => {
  const { watch, groups } = watched(100);
  watch.startAlarm();
  await vi.advanceTimersByTimeAsync(2_000);
  const [late] = groups;
  if (late !== undefined) late.isRebalancing = true;
  await vi.advanceTimersByTimeAsync(300);
  expect(late?.isRebalancing).toBe(false);
  // This is three seconds after the start of the last one.
  await vi.advanceTimersByTimeAsync(4_000);
  const before = asks(groups);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(asks(groups) - before).toBe(20);
});

test("a group that starts to rebalance during the alarm of ten thousand is found before the alarm ends", async () => {
  const { watch, groups } = watched(10_000);
  watch.startAlarm();
  await vi.advanceTimersByTimeAsync(1_500);
  const [late] = groups;
  if (late !== undefined) late.isRebalancing = true;
  await vi.advanceTimersByTimeAsync(1_500);
  expect(late?.isRebalancing).toBe(false);
});

test("an alarm of many groups is bounded", async () => {
  const { watch, groups } = watched(1_000);
  for (let times = 0; times < 100; times += 1) watch.startAlarm();
  await vi.advanceTimersByTimeAsync(1_999);
  // One for each of them, those for the groups that joined first, and those in turn.
  expect(asks(groups)).toBe(1_000 + 9 * 128 + 19 * 20);
});

test("in an alarm of many groups, the 128 that joined first get a heartbeat every 200 ms", async () => {
  const { watch, groups } = watched(10_000);
  watch.startAlarm();
  await vi.advanceTimersByTimeAsync(1_000);
  for (let joined = 0; joined < 1_280; joined += 128) {
    const first = groups.slice(joined, joined + 128);
    for (const group of first) group.isRebalancing = true;
    await vi.advanceTimersByTimeAsync(200);
    expect(first.some(({ isRebalancing }) => isRebalancing)).toBe(false);
    for (const group of first) {
      watch.delete(group);
      watch.add(group);
    }
  }
});

test("a process without groups does nothing", async () => {
  const { watch, groups } = watched(2);
  for (const group of groups) watch.delete(group);
  expect(vi.getTimerCount()).toBe(0);
});

test("ten thousand groups get a heartbeat every 5 s, at most 2 % of them at once", async () => {
  const { watch, groups } = watched(10_000);
  const sentAtMs = () => groups.flatMap(({ sent }) => sent);
  await vi.advanceTimersByTimeAsync(5_000);
  expect(groups.every(({ sent }) => sent.length === 1)).toBe(true);
  expect(mostAtOnce(sentAtMs())).toBe(200);
  // The heartbeats of an alarm leave the young generation of the heap before the next ones.
  watch.startAlarm();
  await vi.advanceTimersByTimeAsync(900);
  expect(groups.every(({ sent }) => sent.length >= 2)).toBe(true);
  expect(mostAtOnce(sentAtMs())).toBeLessThanOrEqual(1_000 + 128 + 200);
  // A process that joins 10,000 groups would otherwise wait 20 s for each of them.
  const before = asks(groups);
  watch.startAlarm();
  await vi.advanceTimersByTimeAsync(4_000);
  watch.startAlarm();
  await vi.advanceTimersByTimeAsync(1_500);
  expect(asks(groups) - before).toBeGreaterThanOrEqual(20_000);
});

test("a process that was frozen owes each group one heartbeat", async () => {
  const { groups } = watched(1_000);
  vi.spyOn(performance, "now").mockReturnValue(60_000);
  await vi.advanceTimersByTimeAsync(100);
  expect(groups.every(({ sent }) => sent.length === 1)).toBe(true);
  vi.mocked(performance.now).mockRestore();
});

test("a group that was deleted gets none, until it is added again", async () => {
  const { watch, groups } = watched(1_000);
  const [deleted] = groups;
  if (deleted === undefined) throw new Error("no group");
  watch.delete(deleted);
  const before = deleted.sent.length;
  await vi.advanceTimersByTimeAsync(10_000);
  expect(deleted.sent).toHaveLength(before);
  watch.add(deleted);
  await vi.advanceTimersByTimeAsync(5_000);
  expect(deleted.sent.length).toBeGreaterThan(before);
});
