// How often a producer looks up leaders for partitions that have none.

import { expect, test, vi } from "vitest";
import { ended, inEachTest, stepTimers, until } from "../../../support/clock/stepped-timers.ts";
import { NumberingCluster } from "../../../support/kafka-client/numbering-cluster.ts";

const NOT_LEADER = 6;
const MESSAGE_TOO_LARGE = 10;
/** Steps of 10 ms each. */
const STEPS = 500;
/** Lookups are 50 ms to 2 s apart, and there is one more for what failed before. */
const REQUESTS_MAX = 12;

inEachTest(stepTimers);

/** Returns the metadata requests during five seconds, while `send` is called at each step. */
async function requestsWhile(cluster: NumberingCluster, send: () => void): Promise<number> {
  const before = cluster.metadataRequests;
  let steps = 0;
  await until(() => {
    send();
    steps += 1;
    return steps > STEPS;
  });
  return cluster.metadataRequests - before;
}

test("a partition without a leader is asked for with pauses, and written when it has one", async () => {
  const cluster = new NumberingCluster();
  await ended(Promise.all([cluster.send(0, "a0"), cluster.send(1, "b0")]));
  cluster.leaders[1] = -1;
  cluster.finalStates.set(2, [{ isIgnored: true, errorCode: NOT_LEADER }]);
  const sends = [cluster.send(1, "first")];
  expect(await requestsWhile(cluster, () => undefined)).toBeLessThan(REQUESTS_MAX);
  const more = () => sends.push(cluster.send(1, `b${sends.length}`));
  expect(await requestsWhile(cluster, more)).toBeLessThan(REQUESTS_MAX);
  await ended(cluster.send(0, "a1"));

  cluster.leaders[1] = 2;
  await ended(Promise.all(sends));
  expect(cluster.written[0]).toEqual(["a0", "a1"]);
  expect(cluster.written[1]?.slice(0, 3)).toEqual(["b0", "first", "b1"]);
  expect(cluster.written[1]).toHaveLength(1 + sends.length);
});

test("a topic that is missing is asked for with pauses, and written when it is there", async () => {
  const cluster = new NumberingCluster();
  cluster.isTopicMissing = true;
  const sends: Promise<unknown>[] = [];
  const more = () => sends.push(cluster.send(1, `b${sends.length}`));
  expect(await requestsWhile(cluster, more)).toBeLessThan(REQUESTS_MAX);
  cluster.isTopicMissing = false;
  await ended(Promise.all(sends));
  expect(cluster.written[1]).toHaveLength(sends.length);
});

test("what nobody led when it was asked for is asked for again once there are records", async () => {
  const cluster = new NumberingCluster();
  cluster.leaders[1] = -1;
  await ended(cluster.send(0, "a0"));
  expect(await requestsWhile(cluster, () => undefined)).toBeLessThan(REQUESTS_MAX);
  cluster.leaders[1] = 2;
  await ended(cluster.send(1, "b0"));
  expect(cluster.written).toEqual([["a0"], ["b0"]]);
});

test("after batches were too large, each refresh of the metadata lets them grow again", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] });
  const cluster = new NumberingCluster();
  const batches = async () => {
    const before = cluster.sent.length;
    await ended(cluster.send(0, ...Array.from({ length: 64 }, (_, at) => `${at}`.padEnd(100))));
    return cluster.sent.length - before;
  };
  expect(await batches()).toBe(1);
  const tooLarge = { isIgnored: true, errorCode: MESSAGE_TOO_LARGE };
  cluster.finalStates.set(1, [tooLarge, tooLarge, tooLarge]);
  await batches();
  const small = await batches();
  expect(small).toBeGreaterThan(4);
  for (let refreshes = 0; refreshes < 10; refreshes += 1) {
    vi.setSystemTime(Date.now() + 20_000);
    expect(await batches()).toBeLessThanOrEqual(small);
  }
  expect(await batches()).toBe(1);
});

test.each([
  ["wait for its broker", { errorCode: 3 }],
  ["may be written", { isCut: true }],
])(
  "records of a partition that is gone, which %s, go to those that the topic has now",
  async (_, state) => {
    const cluster = new NumberingCluster();
    const keyed = (...values: string[]) =>
      cluster.producer.send(
        values.map((value) => ({
          ...{ topic: "t", key: Buffer.from(value), value: Buffer.from(value), headers: [] },
        })),
      );
    const values = Array.from({ length: 20 }, (_, number) => `k${number}`);
    await ended(keyed(...values));
    const before = cluster.written.map((each) => [...each]);
    expect(before.every((each) => each.length > 0)).toBe(true);
    // The topic was recreated with one partition, so node 2 no longer has the second one.
    cluster.leaders.pop();
    cluster.finalStates.set(2, [{ isIgnored: true, ...state }]);
    await ended(keyed(...values));
    expect(cluster.written[1]).toEqual(before[1]);
    expect(cluster.written[0]?.slice(before[0]?.length).toSorted()).toEqual(values.toSorted());
  },
);
