// The tables of src/kafka/kafkajs/member-fetches.ts, on a group that keeps metadata as kafkajs does.

import { expect, test } from "vitest";
import type {
  ConsumerGroup,
  TopicPartitions,
} from "../../../../src/kafka/kafkajs/consumer-group.ts";
import { isStale, MemberFetches } from "../../../../src/kafka/kafkajs/member-fetches.ts";
import { KafkajsMember } from "../../../../src/kafka/kafkajs/membership.ts";

const POLL_MS = 12_000;
const MINUTE_MS = 60_000;

function world() {
  const state = { leaders: [1, 2], nodes: ["1", "2", "3"], ended: 0 };
  /** What kafkajs' own fetch finds out first. */
  const onFetch = { run: async (): Promise<void> => undefined };
  const brokerPool = {
    get metadata() {
      const partitionMetadata = state.leaders.map((leader, partitionId) => ({
        partitionId,
        leader,
      }));
      return { topicMetadata: [{ topic: "t", partitionMetadata }] };
    },
    metadataExpireAt: null,
    refreshMetadata: async () => undefined,
    removeBroker: () => {
      state.nodes = state.nodes.slice(1);
    },
    getNodeIds: () => state.nodes,
  };
  const group = {
    cluster: { brokerPool },
    maxWaitTime: POLL_MS,
    getActiveTopicPartitions: () => ({ t: new Set(state.leaders.keys()) }),
    filterPartitionsByNode: (node: string) => [
      {
        topic: "t",
        partitions: state.leaders.flatMap((leader, at) => (`${leader}` === node ? at : [])),
      },
    ],
    recoverFromFetch: async () => undefined,
  } as unknown as ConsumerGroup;
  const fetches = new MemberFetches(group, POLL_MS, () => {
    state.ended += 1;
  });
  const lasts: (number | null)[] = [];
  const fetch = (node: string) =>
    fetches.fetch(
      node,
      async () => {
        await onFetch.run();
        lasts.push(fetches.lastsMs(node, group.maxWaitTime));
        return [];
      },
      null,
    );
  return { state, onFetch, brokerPool, group, fetches, lasts, fetch };
}

test("a fetch lasts for minutes; while a partition is paused, as long as the member polls", async () => {
  const { group, lasts, fetch } = world();
  await fetch("1");
  group.maxWaitTime = 250;
  await fetch("1");
  expect(lasts[0]).toBeGreaterThanOrEqual(5 * MINUTE_MS);
  expect(lasts[0]).toBeLessThanOrEqual(15 * MINUTE_MS);
  expect(lasts[1]).toBe(250);
});

test("fetches that begin together end at different times, in steps of 10 s", async () => {
  const { fetch, lasts } = world();
  for (let count = 0; count < 1_000; count += 1) await fetch("1");
  expect(new Set(lasts).size).toBeGreaterThan(30);
  expect(new Set(lasts).size).toBeLessThanOrEqual(61);
  expect(Math.min(...lasts.map(Number))).toBeGreaterThanOrEqual(5 * MINUTE_MS);
  expect(Math.max(...lasts.map(Number))).toBeLessThanOrEqual(15 * MINUTE_MS);
});

test.each<[string, (w: ReturnType<typeof world>) => unknown, number]>([
  ["nothing", ({ brokerPool }) => brokerPool.refreshMetadata(), 0],
  [
    "a leader",
    ({ state, brokerPool }) => {
      state.leaders = [2, 2];
      return brokerPool.refreshMetadata();
    },
    1,
  ],
  [
    "a new partition",
    ({ state, brokerPool }) => {
      state.leaders = [1, 2, 1];
      return brokerPool.refreshMetadata();
    },
    1,
  ],
  ["the brokers", ({ brokerPool }) => brokerPool.removeBroker(), 1],
  ["the assignment", ({ fetches }) => fetches.end(), 1],
])(
  "fetches in progress end when %s changed, and so does one that has not asked yet",
  async (_what, change, ended) => {
    const all = world();
    all.onFetch.run = async () => {
      await change(all);
    };
    await all.fetch("1");
    expect(all.state.ended).toBe(ended);
    expect(all.lasts).toEqual([ended === 0 ? expect.any(Number) : null]);
    all.onFetch.run = async () => undefined;
    await all.fetch("2");
    expect(all.lasts.at(-1)).toEqual(expect.any(Number));
  },
);

test("one that has not asked yet ends when a partition is resumed; the others continue", async () => {
  const { state, fetches, onFetch, lasts, fetch } = world();
  onFetch.run = async () => fetches.markResumed();
  await fetch("1");
  expect({ lasts, ended: state.ended }).toEqual({ lasts: [null], ended: 0 });
});

test("a broker that leads nothing is waited for until leaders are others", async () => {
  const { state, brokerPool, fetch } = world();
  let isOver = false;
  const waiting = fetch("3").then(() => {
    isOver = true;
  });
  await new Promise(setImmediate);
  expect(isOver).toBe(false);
  state.leaders = [3, 2];
  await brokerPool.refreshMetadata();
  await waiting;
});

test("it is not waited for when its own look finds that it leads something", async () => {
  const { state, brokerPool, onFetch, fetch } = world();
  onFetch.run = async () => {
    state.leaders = [3, 2];
    await brokerPool.refreshMetadata();
  };
  expect(await fetch("3")).toEqual([]);
});

test.each([
  ["the same", "t", [1, 2], false],
  ["another leader", "t", [1, 3], true],
  ["a partition more", "t", [1, 2, 1], true],
  ["a partition less", "t", [1], true],
  ["a topic that the group has not asked about", "x", [3], false],
])("what a group knows next to %s", (_what, topic, leaders, isOld) => {
  expect(isStale(world().group, topic, leaders)).toBe(isOld);
});

// Whether a broker leads any of the partitions that are wanted.

/** Broker 1 leads topic p, broker 2 topic t. */
const group = {
  getActiveTopicPartitions: () => ({ t: new Set([0]), p: new Set([0]) }),
  filterPartitionsByNode: (nodeId: string, wanted: readonly TopicPartitions[]) =>
    wanted.map(({ topic, partitions }) => ({
      topic,
      partitions: (topic === "p") === (nodeId === "1") ? partitions : [],
    })),
};

test.each([
  ["1", "p", true],
  ["2", "p", false],
  ["1", "t", false],
  ["2", "t", true],
  ["1", "another", false],
])("broker %s and topic %s: %s", (nodeId, wanted, expected) => {
  const member = new KafkajsMember(group as unknown as ConsumerGroup);
  expect(member.readsFrom(nodeId, (topic) => topic === wanted)).toBe(expected);
});

test("while a topic's leaders are not known nothing is read from a broker", () => {
  const unknown = {
    ...group,
    filterPartitionsByNode: () => {
      throw new Error("no metadata");
    },
  };
  const member = new KafkajsMember(unknown as unknown as ConsumerGroup);
  expect(member.readsFrom("1", () => true)).toBe(false);
});
