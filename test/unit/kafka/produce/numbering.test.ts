// Producer IDs and sequence numbers during failures: every acknowledged record is written exactly once.

import fc from "fast-check";
import { expect, test } from "vitest";

import { costlyInputs } from "../../../support/build/generated-inputs.ts";
import { ended, inEachTest, stepTimers, until } from "../../../support/clock/stepped-timers.ts";
import {
  type FinalState,
  NODES,
  NumberingCluster,
} from "../../../support/kafka-client/numbering-cluster.ts";

const MESSAGE_TOO_LARGE = 10;
const NOT_LEADER = 6;
const OUT_OF_ORDER = 45;

inEachTest(stepTimers);

/** Creates a partition on each broker, each with one record that has the first producer ID. */
async function begun() {
  const cluster = new NumberingCluster();
  await ended(Promise.all([cluster.send(0, "a0"), cluster.send(1, "b0")]));
  return cluster;
}

test("a record is acknowledged when all replicas in sync have it", async () => {
  const { acks } = await begun();
  expect([...acks]).toEqual([-1]);
});

test.each([
  ["that is written", { isSkipped: true }],
  ["that is not written", { isSkipped: true, isIgnored: true }],
])("a batch %s and omitted of the response is repeated as it was", async (_name, finalState) => {
  const cluster = await begun();
  cluster.finalStates.set(2, [finalState]);
  const first = cluster.send(1, "b1");
  await until(() => cluster.finalStates.get(2)?.length === 0);
  await ended(Promise.all([first, cluster.send(1, "b2")]));
  expect(cluster.written[1]).toEqual(["b0", "b1", "b2"]);
});

test("a batch that waits for its broker while another one makes a new id necessary is written", async () => {
  const cluster = await begun();
  const reachable = Promise.withResolvers<void>();
  cluster.finalStates.set(2, [{ isIgnored: true, isCut: true }]);
  cluster.reachable.set(2, reachable.promise);
  const waiting = cluster.send(1, "b1");
  await until(() => cluster.connecting === 1);

  cluster.finalStates.set(1, [{ isIgnored: true, errorCode: OUT_OF_ORDER }]);
  await ended(cluster.send(0, "a1"));
  expect(cluster.ids).toBe(2);
  reachable.resolve();
  await ended(waiting);
  await ended(cluster.send(1, "b2"));
  expect(cluster.written).toEqual([
    ["a0", "a1"],
    ["b0", "b1", "b2"],
  ]);
});

test("a batch that may be written keeps its id and sequence when others get a new id", async () => {
  const cluster = await begun();
  const reachable = Promise.withResolvers<void>();
  cluster.finalStates.set(2, [{ isCut: true }]);
  cluster.reachable.set(2, reachable.promise);
  const waiting = cluster.send(1, "b1");
  await until(() => cluster.connecting === 1);

  cluster.finalStates.set(1, [{ isIgnored: true, errorCode: OUT_OF_ORDER }]);
  await ended(cluster.send(0, "a1"));
  reachable.resolve();
  await ended(waiting);
  await ended(cluster.send(1, "b2"));
  expect(cluster.written[1]).toEqual(["b0", "b1", "b2"]);
  expect(cluster.sent.filter(({ values }) => values.includes("b1"))).toEqual([
    { partition: 1, id: "1", sequence: 1, values: ["b1"] },
    { partition: 1, id: "1", sequence: 1, values: ["b1"] },
  ]);
  expect(cluster.sent.at(-1)).toEqual({ partition: 1, id: "2", sequence: 0, values: ["b2"] });
});

test("a response under the id before does not count under the new one", async () => {
  const cluster = await begun();
  const response = Promise.withResolvers<void>();
  cluster.finalStates.set(2, [{ after: response.promise }]);
  const underWay = cluster.send(1, "b1");
  await until(() => cluster.written[1]?.length === 2);

  cluster.finalStates.set(1, [{ isIgnored: true, errorCode: OUT_OF_ORDER }]);
  await ended(cluster.send(0, "a1"));
  response.resolve();
  await ended(underWay);
  await ended(cluster.send(1, "b2"));
  expect(cluster.sent.at(-1)).toEqual({ partition: 1, id: "2", sequence: 0, values: ["b2"] });
  expect(cluster.written[1]).toEqual(["b0", "b1", "b2"]);
});

test("an id that is rejected late does not take the newer one along", async () => {
  const cluster = await begun();
  const response = Promise.withResolvers<void>();
  const rejected = { isIgnored: true, errorCode: OUT_OF_ORDER };
  cluster.finalStates.set(2, [{ ...rejected, after: response.promise }]);
  const underWay = cluster.send(1, "b1");
  await until(() => cluster.finalStates.get(2)?.length === 0);

  cluster.finalStates.set(1, [rejected]);
  await ended(cluster.send(0, "a1"));
  response.resolve();
  await ended(underWay);
  expect(cluster.ids).toBe(2);
  expect(cluster.written).toEqual([
    ["a0", "a1"],
    ["b0", "b1"],
  ]);
});

test("what comes after a record that may be written and is then too large is written", async () => {
  const cluster = await begun();
  cluster.finalStates.set(2, [{ isCut: true }, { isIgnored: true, errorCode: MESSAGE_TOO_LARGE }]);
  const rejected = await ended(cluster.send(1, "large"));
  expect(rejected).toHaveLength(1);
  await ended(cluster.send(1, "b1"));
  expect(cluster.written[1]).toEqual(["b0", "large", "b1"]);
});

test("the same when no broker gives a new id at first", async () => {
  const cluster = await begun();
  cluster.finalStates.set(2, [{ isCut: true }, { isIgnored: true, errorCode: MESSAGE_TOO_LARGE }]);
  cluster.idFailures = 1;
  expect(await ended(cluster.send(1, "large"))).toHaveLength(1);
  await ended(cluster.send(1, "b1"));
  expect(cluster.written[1]).toEqual(["b0", "large", "b1"]);
});

test("the same when the record was in a batch with others", async () => {
  const cluster = await begun();
  const shrink = { isIgnored: true, errorCode: MESSAGE_TOO_LARGE };
  cluster.finalStates.set(2, [{ isCut: true }, shrink, shrink]);
  const first = cluster.send(1, "large".repeat(100), "b1");
  await until(() => cluster.finalStates.get(2)?.length === 2);
  const [rejected] = await ended(Promise.all([first, cluster.send(1, "b2")]));
  expect(rejected).toHaveLength(1);
  expect(cluster.written[1]).toContain("b2");
});

test("a batch is repeated as it was when its broker led no more, but had written it", async () => {
  const cluster = await begun();
  cluster.finalStates.set(2, [{ errorCode: NOT_LEADER }]);
  const first = cluster.send(1, "b1");
  await until(() => cluster.finalStates.get(2)?.length === 0);
  await ended(Promise.all([first, cluster.send(1, "b2")]));
  expect(cluster.written[1]).toEqual(["b0", "b1", "b2"]);
});

const CUT: readonly FinalState[] = [{ isIgnored: true, isCut: true }, { isCut: true }];
const LOST: readonly FinalState[] = [
  ...CUT,
  { errorCode: 6 }, // NOT_LEADER_OR_FOLLOWER
  { errorCode: 7 }, // REQUEST_TIMED_OUT
  { isIgnored: true, errorCode: 15 }, // COORDINATOR_NOT_AVAILABLE: nothing that is known
];
const UNKNOWN_ID: readonly FinalState[] = [
  { isIgnored: true, errorCode: 45 }, // OUT_OF_ORDER_SEQUENCE_NUMBER
  { isIgnored: true, errorCode: 59 }, // UNKNOWN_PRODUCER_ID
];

const partition = fc.nat({ max: 1 });
const node = fc.constantFrom(...NODES);

function steps(finalStates: readonly FinalState[]) {
  const step = fc.oneof(
    fc.record({
      kind: fc.constant("send" as const),
      partition,
      count: fc.integer({ min: 1, max: 3 }),
    }),
    fc.record({
      kind: fc.constant("final-state" as const),
      node,
      finalState: fc.constantFrom(...finalStates),
    }),
    fc.record({ kind: fc.constant("lead" as const), partition, node }),
    fc.record({
      kind: fc.constant("connect" as const),
      node,
      ms: fc.integer({ min: 1, max: 1_000 }),
    }),
    fc.record({ kind: fc.constant("pass" as const), ms: fc.integer({ min: 1, max: 300 }) }),
  );
  return fc.array(step, { maxLength: 40, size: "max" });
}

type Step = ReturnType<typeof steps> extends fc.Arbitrary<readonly (infer One)[]> ? One : never;

/**
 * Returns, for each partition, the records that were sent, when all of them are acknowledged, and the written records.
 */
async function played(all: readonly Step[]) {
  const cluster = new NumberingCluster();
  const sent: string[][] = NODES.map(() => []);
  const sends: Promise<unknown>[] = [];
  for (const step of all) {
    if (step.kind === "send") {
      const values = Array.from({ length: step.count }, (_, index) => `${sends.length}.${index}`);
      sent[step.partition]?.push(...values);
      sends.push(cluster.send(step.partition, ...values));
    } else if (step.kind === "final-state") {
      cluster.finalStates.set(step.node, [
        ...(cluster.finalStates.get(step.node) ?? []),
        step.finalState,
      ]);
    } else if (step.kind === "lead") {
      cluster.leaders[step.partition] = step.node;
    } else if (step.kind === "connect") {
      cluster.reachable.set(step.node, new Promise((resolve) => setTimeout(resolve, step.ms)));
    } else {
      await ended(new Promise((resolve) => setTimeout(resolve, step.ms)));
    }
  }
  await ended(Promise.all(sends));
  await cluster.producer.close(0);
  return { sent, written: cluster.written };
}

test("what is acknowledged is written, once and in order", async () => {
  await fc.assert(
    fc.asyncProperty(steps(LOST), async (all) => {
      const { sent, written } = await played(all);
      expect(written).toEqual(sent);
    }),
    { numRuns: costlyInputs(10) },
  );
});

test("with ids that are rejected, it is written at least once and in order", async () => {
  await fc.assert(
    fc.asyncProperty(steps([...CUT, ...UNKNOWN_ID]), async (all) => {
      const { sent, written } = await played(all);
      expect(written.map((values) => [...new Set(values)])).toEqual(sent);
    }),
    { numRuns: costlyInputs(10) },
  );
});
