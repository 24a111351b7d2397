// The hooks, around classes that stand for kafkajs' own; test/integration has the real ones.

import type { Assigner, Cluster, Logger, PartitionAssigner } from "kafkajs";
import { expect, test, vi } from "vitest";

import {
  type ConsumerGroupHooks,
  commitMetadataHook,
  consumerGroupHooks,
  joinHook,
} from "../../../../src/kafka/kafkajs/group-hooks.ts";
import type { FetchedOffset } from "../../../../src/kafka/membership.ts";

const assigner: PartitionAssigner = () => ({ name: "test" }) as Assigner;

/** A consumer as kafkajs makes it: it shows its cluster to the assigners. */
function consumer(hooks: Partial<ConsumerGroupHooks>): Cluster {
  const cluster = {} as Cluster;
  const { partitionAssigners } = consumerGroupHooks(assigner, {
    beforeJoin: async () => undefined,
    offsetsFetched: () => [],
    joinsAgain: async () => false,
    ...hooks,
  });
  for (const create of partitionAssigners) create({ cluster, groupId: "g", logger: {} as Logger });
  return cluster;
}

function hookedGroup() {
  const events: string[] = [];
  class Group {
    readonly cluster: Cluster;
    constructor(cluster: Cluster) {
      this.cluster = cluster;
    }
    async joinAndSync(): Promise<void> {
      events.push("join");
    }
  }
  joinHook.replace(() => Group);
  return { Group, events };
}

test("the join waits for the hook", async () => {
  const { Group, events } = hookedGroup();
  const drained = Promise.withResolvers<void>();
  const beforeJoin = vi.fn(() => drained.promise);
  const joined = new Group(consumer({ beforeJoin })).joinAndSync();
  await Promise.resolve();
  expect([beforeJoin.mock.calls.length, events]).toEqual([1, []]);
  drained.resolve();
  await joined;
  expect(events).toEqual(["join"]);
});

test("joins asked for at the same time are one, later ones are another", async () => {
  const { Group, events } = hookedGroup();
  const group = new Group(consumer({}));
  await Promise.all([group.joinAndSync(), group.joinAndSync()]);
  expect(events).toEqual(["join"]);
  await group.joinAndSync();
  expect(events).toEqual(["join", "join"]);
});

test("a failed hook fails the join, and the next join starts afresh", async () => {
  const { Group, events } = hookedGroup();
  const beforeJoin = vi.fn(async () => undefined).mockRejectedValueOnce(new Error("no"));
  const group = new Group(consumer({ beforeJoin }));
  await expect(group.joinAndSync()).rejects.toThrow("no");
  await group.joinAndSync();
  expect(events).toEqual(["join"]);
});

test("a failed join is tried again, from the beginning, for as long as the hook says so", async () => {
  const { Group, events } = hookedGroup();
  class Unknown extends Group {
    override async joinAndSync(): Promise<void> {
      events.push("join");
      if (events.length < 4) throw new Error(`unknown topic ${events.length}`);
    }
  }
  joinHook.replace(() => Unknown);
  const beforeJoin = vi.fn(async () => undefined);
  const joinsAgain = vi.fn(async () => true);
  await new Unknown(consumer({ beforeJoin, joinsAgain })).joinAndSync();
  expect(events).toHaveLength(4);
  expect(beforeJoin).toHaveBeenCalledTimes(4);
  expect(joinsAgain).toHaveBeenCalledTimes(3);
  events.length = 0;
  joinsAgain.mockResolvedValueOnce(true).mockResolvedValueOnce(false);
  await expect(new Unknown(consumer({ beforeJoin, joinsAgain })).joinAndSync()).rejects.toThrow(
    "unknown topic 2",
  );
});

test("a consumer without hooks joins as it always did", async () => {
  const { Group, events } = hookedGroup();
  await new Group({} as Cluster).joinAndSync();
  expect(events).toEqual(["join"]);
});

function hookedOffsets() {
  const response = {
    responses: [
      {
        topic: "t",
        partitions: [
          { partition: 0, offset: "12", metadata: "of 0" },
          { partition: 1, offset: "-1", metadata: null },
        ],
      },
    ],
  };
  const received: unknown[] = [];
  const coordinator = { versions: {}, connectionPool: {}, offsetFetch: async () => response };
  class Offsets {
    readonly cluster: Cluster;
    constructor(cluster: Cluster) {
      this.cluster = cluster;
    }
    async getCoordinator() {
      return coordinator;
    }
    async resolveOffsets() {
      received.push(await (await this.getCoordinator()).offsetFetch());
    }
  }
  commitMetadataHook.replace(() => Offsets);
  return { Offsets, received, response };
}

test("offsets are shown with their metadata, and kafkajs gets them as before", async () => {
  const { Offsets, received, response } = hookedOffsets();
  const shown: FetchedOffset[] = [];
  const offsets = new Offsets(
    consumer({
      offsetsFetched: (all) => {
        shown.push(...all);
        return [];
      },
    }),
  );
  await offsets.resolveOffsets();
  expect(shown).toEqual([
    { topic: "t", topicId: null, partition: 0, offset: 12, metadata: "of 0" },
    { topic: "t", topicId: null, partition: 1, offset: -1, metadata: "" },
  ]);
  expect(received).toEqual([response]);
});

test("two consumers of one group in one process have hooks of their own", async () => {
  const { Offsets } = hookedOffsets();
  const one = vi.fn(() => []);
  const other = vi.fn(() => []);
  const ofOne = new Offsets(consumer({ offsetsFetched: one }));
  const ofOther = new Offsets(consumer({ offsetsFetched: other }));
  await ofOne.resolveOffsets();
  expect([one.mock.calls.length, other.mock.calls.length]).toEqual([1, 0]);
  await ofOther.resolveOffsets();
  expect([one.mock.calls.length, other.mock.calls.length]).toEqual([1, 1]);
});

test("kafkajs sees no commit where reading starts again", async () => {
  const { Offsets, received } = hookedOffsets();
  const offsets = new Offsets(consumer({ offsetsFetched: (all) => all.slice(0, 1) }));
  await offsets.resolveOffsets();
  expect(received).toEqual([
    {
      responses: [
        {
          topic: "t",
          partitions: [
            { partition: 0, offset: "-1", metadata: null },
            { partition: 1, offset: "-1", metadata: null },
          ],
        },
      ],
    },
  ]);
});
