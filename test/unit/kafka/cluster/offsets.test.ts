// Committed offsets while coordinators of groups are elected, as on a new cluster, where the first group waits until the
// topic of committed offsets has been created.

import { expect, test, vi } from "vitest";

import type { Brokers } from "../../../../src/kafka/cluster/brokers.ts";
import { ELECTION_LIMIT_MS, protocolError } from "../../../../src/kafka/cluster/kafka-error.ts";
import { committedOf } from "../../../../src/kafka/cluster/offsets.ts";

vi.mock("node:timers/promises", () => ({ setTimeout: (ms: number) => vi.advanceTimersByTime(ms) }));

const LOADING = 14;
const NOT_AVAILABLE = 15;
const NOT_COORDINATOR = 16;
const FORBIDDEN = 30;

function existing(name: string) {
  return { name, errorCode: 0, partitions: [{ partitionIndex: 0, leaderId: 1 }] };
}

/** Queries the offsets of two groups. The coordinator's responses are error codes, of which the last one is repeated. */
async function query(codes: readonly number[]) {
  vi.useFakeTimers({ toFake: ["performance"] });
  const rest = [...codes];
  let queries = 0;
  const brokers = {
    metadata: async () => ({
      topics: ["calls", "audiences"].map(existing),
    }),
    coordinatorsOf: async () => new Map(),
    coordinator: async (groupId: string) => {
      queries += 1;
      throw protocolError((rest.length > 1 ? rest.shift() : rest[0]) ?? 0, groupId);
    },
  } as unknown as Brokers;
  const unknown: string[] = [];
  const groups = new Map([
    ["route", ["calls"]],
    ["audience", ["audiences"]],
  ]);
  const startedMs = performance.now();
  await committedOf(brokers, groups, (topic) => unknown.push(topic));
  const tookMs = performance.now() - startedMs;
  vi.useRealTimers();
  return { queries, unknown, tookMs };
}

test.each([LOADING, NOT_AVAILABLE, NOT_COORDINATOR])(
  "while no broker coordinates a group (code %i), its offsets are queried for 10 s, for all groups together",
  async (code) => {
    const { queries, unknown, tookMs } = await query([code]);
    expect(unknown).toEqual(["calls", "audiences"]);
    expect(tookMs).toBeGreaterThanOrEqual(ELECTION_LIMIT_MS);
    expect(tookMs).toBeLessThan(ELECTION_LIMIT_MS + 1_000);
    expect(queries).toBeGreaterThan(30);
  },
);

test("a missing permission is reported at once, also after an election", async () => {
  expect(await query([FORBIDDEN])).toEqual({
    queries: 2,
    unknown: ["calls", "audiences"],
    tookMs: 0,
  });
  const { queries, unknown, tookMs } = await query([LOADING, LOADING, FORBIDDEN]);
  expect([queries, unknown]).toEqual([4, ["calls", "audiences"]]);
  expect(tookMs).toBeLessThan(1_000);
});

test("groups whose offsets are read together are not queried on their own", async () => {
  const partitions = [
    { partitionIndex: 0, committedOffset: 7n, metadata: "", errorCode: 0 },
    { partitionIndex: 1, committedOffset: -1n, metadata: "", errorCode: 0 },
  ];
  const group = { groupId: "route", errorCode: 0, topics: [{ name: "calls", partitions }] };
  const unreadable = { ...group, groupId: "audience", errorCode: NOT_COORDINATOR };
  const alone: string[] = [];
  const brokers = {
    metadata: async (topics: readonly string[]) => ({
      topics: topics.map(existing),
    }),
    coordinatorsOf: async () => new Map(["route", "audience"].map((name) => [name, 1])),
    leader: async () => ({ send: async () => ({ groups: [group, unreadable] }) }),
    coordinator: async (groupId: string) => {
      alone.push(groupId);
      throw protocolError(FORBIDDEN, groupId);
    },
  } as unknown as Brokers;
  const groups = new Map([
    ["route", ["calls"]],
    ["audience", ["audiences"]],
  ]);
  const found = await committedOf(brokers, groups, () => undefined);
  const offsets = [{ partition: 0, offset: 7, metadata: "" }];
  expect([...found]).toEqual([["route", new Map([["calls", offsets]])]]);
  expect(alone).toEqual(["audience"]);
});
