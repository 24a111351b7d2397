import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { GroupWatch } from "../../../../src/kafka/group/group-watch.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** A group that rebalances once, from the given time on, and gets no more requests until then. */
class Group {
  readonly sent: number[] = [];
  isRebalancing = false;
  /** By default, it is recognized all the time. */
  heardAt: () => number | null = () => Date.now();

  heardAtMs(): number | null {
    return this.heardAt();
  }

  sendHeartbeat(): Promise<boolean> {
    this.sent.push(performance.now());
    const reported = this.isRebalancing;
    this.isRebalancing = false;
    return Promise.resolve(reported);
  }
}

function watched(count: number) {
  const watch = new GroupWatch(5_000);
  const groups = Array.from({ length: count }, () => new Group());
  for (const group of groups) watch.add(group);
  return { watch, groups };
}

const asks = (groups: readonly Group[]) => groups.reduce((sum, { sent }) => sum + sent.length, 0);

test.each([1, 10, 1_000])(
  "%i groups at rest are asked in turns, 20 times a second in all",
  async (count) => {
    const { groups } = watched(count);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(asks(groups)).toBe(200);
    const most = Math.max(...groups.map(({ sent }) => sent.length));
    expect(most).toBe(Math.ceil(200 / count));
  },
);

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

test("an alarm of many groups is bounded", async () => {
  const { watch, groups } = watched(1_000);
  for (let times = 0; times < 100; times += 1) watch.startAlarm();
  await vi.advanceTimersByTimeAsync(1_999);
  expect(asks(groups)).toBe(1_000);
});

test("a process without groups does nothing", async () => {
  const { watch, groups } = watched(2);
  for (const group of groups) watch.delete(group);
  expect(vi.getTimerCount()).toBe(0);
});

test("one that was not heard of for half of a session is asked, and one that is asked is not", async () => {
  const { groups } = watched(1_000);
  const beganAtMs = Date.now();
  const [, , silent, underWay, ahead] = groups;
  if (silent === undefined || underWay === undefined || ahead === undefined) throw new Error("few");
  silent.heardAt = () => beganAtMs;
  underWay.heardAt = () => null;
  await vi.advanceTimersByTimeAsync(4_900);
  const before = [silent.sent.length, underWay.sent.length];
  await vi.advanceTimersByTimeAsync(600);
  expect([silent.sent.length, underWay.sent.length]).toEqual([(before[0] ?? 0) + 2, before[1]]);
  // The clock was set back.
  ahead.heardAt = () => Date.now() + 60_000;
  const sent = ahead.sent.length;
  await vi.advanceTimersByTimeAsync(5_000);
  expect(ahead.sent.length).toBeGreaterThan(sent);
});

test("a group that is at rest is looked at only when its heartbeat can be due", async () => {
  const { watch, groups } = watched(1_000);
  let looks = 0;
  for (const group of groups) {
    const heardAtMs = Date.now();
    group.heardAt = () => {
      looks += 1;
      return Math.max(heardAtMs, ...group.sent.map((atMs) => heardAtMs + atMs));
    };
    group.sendHeartbeat = () => {
      group.sent.push(Date.now() - heardAtMs);
      return Promise.resolve(false);
    };
  }
  await vi.advanceTimersByTimeAsync(30_000);
  // A group's heartbeat is due every 5 s. A scan in each turn of the event loop would make 100,000 checks.
  expect(groups.every(({ sent }) => sent.length >= 5)).toBe(true);
  expect(looks).toBeLessThan(20_000);
  const [deleted] = groups;
  if (deleted === undefined) throw new Error("no group");
  watch.delete(deleted);
  const before = deleted.sent.length;
  await vi.advanceTimersByTimeAsync(10_000);
  expect(deleted.sent).toHaveLength(before);
  watch.add(deleted);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(deleted.sent.length).toBeGreaterThan(before);
});
