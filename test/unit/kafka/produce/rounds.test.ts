// Records that are returned while their partition rejects writes, and the record that probes the partition.

import { expect, test, vi } from "vitest";

import { ended, inEachTest, until } from "../../../support/clock/stepped-timers.ts";
import {
  type FinalState,
  NumberingCluster,
} from "../../../support/kafka-client/numbering-cluster.ts";

const NOT_ENOUGH_REPLICAS = 19;
const TOPIC_AUTHORIZATION_FAILED = 29;
const PERMISSION: unknown = expect.stringContaining(
  "the permission Write on the topic t is missing for User:ANONYMOUS",
);
/** Steps of 10 ms each, in total longer than any pause. */
const STEPS = 500;

inEachTest(() => vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] }));

function giveBack(cluster: NumberingCluster, partition: number, ...values: string[]) {
  const record = { topic: "t", partition, key: null, headers: [] };
  return cluster.producer.send(
    values.map((value) => ({ ...record, value: Buffer.from(value) })),
    { giveBack: true },
  );
}

function refusing(times: number, errorCode = NOT_ENOUGH_REPLICAS): FinalState[] {
  return Array.from({ length: times }, () => ({ isIgnored: true, errorCode }));
}

async function passes(): Promise<void> {
  let steps = 0;
  await until(() => {
    steps += 1;
    return steps > STEPS;
  });
}

test("records of a partition without a leader come back, those of another are written", async () => {
  const cluster = new NumberingCluster();
  cluster.leaders[1] = -1;
  const others = cluster.send(0, "a0");
  const rejected = await ended(giveBack(cluster, 1, "b0", "b1"));
  expect(rejected.map(({ blocked, error }) => [blocked, error])).toEqual([
    ["unavailable", "LEADER_NOT_AVAILABLE"],
    ["unavailable", "LEADER_NOT_AVAILABLE"],
  ]);
  await ended(others);
  // From then on, records are returned immediately, without a timer.
  expect(await giveBack(cluster, 1, "b2")).toHaveLength(1);
  expect(cluster.producer.blocked()).toHaveLength(1);
  cluster.leaders[1] = 2;
  await passes();
  expect(await ended(giveBack(cluster, 1, "b3"))).toEqual([]);
  expect(cluster.producer.blocked()).toEqual([]);
  expect(cluster.written).toEqual([["a0"], ["b3"]]);
});

test("a topic without the permission to write it says so", async () => {
  const cluster = new NumberingCluster();
  cluster.finalStates.set(2, refusing(1_000, TOPIC_AUTHORIZATION_FAILED));
  const [rejected] = await ended(giveBack(cluster, 1, "b0"));
  expect(rejected).toMatchObject({ blocked: "forbidden", error: PERMISSION });
  expect(cluster.producer.blocked()).toMatchObject([{ by: "forbidden" }]);
});

test.each([
  [NOT_ENOUGH_REPLICAS, "kafka.produce.failing", "NOT_ENOUGH_REPLICAS"],
  [TOPIC_AUTHORIZATION_FAILED, "kafka.produce.permission-missing", PERMISSION],
])("error %i of a topic is reported as %s, with the topic", async (code, msg, error) => {
  const cluster = new NumberingCluster();
  cluster.finalStates.set(2, refusing(1_000, code));
  await ended(giveBack(cluster, 1, "b0"));
  expect([...cluster.healthProblems, ...cluster.warned][0]).toMatchObject({
    msg,
    fields: { topic: "t", error },
  });
});

test("a partition that responds with errors is probed with one record at a time", async () => {
  const cluster = new NumberingCluster();
  cluster.finalStates.set(2, refusing(1_000));
  expect(await ended(giveBack(cluster, 1, "b0"))).toHaveLength(1);
  await passes();
  const before = cluster.finalStates.get(2)?.length ?? 0;
  const rejected = await ended(giveBack(cluster, 1, "probe", "b2", "b3"));
  expect(rejected).toHaveLength(3);
  // There is one request, only for the probe.
  expect(before - (cluster.finalStates.get(2)?.length ?? 0)).toBe(1);
  expect(await giveBack(cluster, 1, "b4")).toHaveLength(1);
  cluster.finalStates.set(2, []);
  await passes();
  expect(await ended(giveBack(cluster, 1, "b5"))).toEqual([]);
  expect(await ended(giveBack(cluster, 1, "b6"))).toEqual([]);
  expect(cluster.written[1]).toEqual(["b5", "b6"]);
});

test("a batch that is rejected is sent again with pauses, never two of a partition at a time", async () => {
  const cluster = new NumberingCluster();
  cluster.finalStates.set(2, refusing(1_000));
  void cluster.send(1, "b0");
  await passes();
  // These are 5 s of pauses from 50 ms to 2 s.
  expect(1_000 - (cluster.finalStates.get(2)?.length ?? 0)).toBeLessThan(12);
});

test("a batch of which the response was lost comes back once, and the next one has other numbers", async () => {
  const cluster = new NumberingCluster();
  // The record is written, but the brokers return an error until the record is returned to its caller.
  cluster.finalStates.set(2, [{ errorCode: NOT_ENOUGH_REPLICAS + 1 }, ...refusing(1_000)]);
  expect(await ended(giveBack(cluster, 1, "b0"))).toHaveLength(1);
  cluster.finalStates.set(2, []);
  await passes();
  expect(await ended(giveBack(cluster, 1, "b1"))).toEqual([]);
  // With the same sequence numbers, the broker would have treated b1 as b0.
  expect(cluster.written[1]).toEqual(["b0", "b1"]);
});

test("silence is no refusal: what gets no response waits", async () => {
  const cluster = new NumberingCluster();
  cluster.finalStates.set(
    2,
    Array.from({ length: 5 }, () => ({ isIgnored: true, isCut: true })),
  );
  expect(await ended(giveBack(cluster, 1, "b0"))).toEqual([]);
  expect(cluster.written[1]).toEqual(["b0"]);
});

test("a send that did not ask for it waits, and is written", async () => {
  const cluster = new NumberingCluster();
  cluster.leaders[1] = -1;
  const patient = cluster.send(1, "b0");
  await ended(giveBack(cluster, 1, "b1"));
  cluster.leaders[1] = 2;
  expect(await ended(patient)).toEqual([]);
  expect(cluster.written[1]).toEqual(["b0"]);
});
