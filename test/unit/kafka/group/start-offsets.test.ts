// The table of src/kafka/group/start-offsets.ts, with a coordinator and leaders whose responses each test specifies.

import { expect, test, vi } from "vitest";
import { Signal } from "../../../../src/base/runtime/signal.ts";
import { ConnectionClosedError } from "../../../../src/kafka/broker/errors.ts";
import type { SharedConnections } from "../../../../src/kafka/broker/shared-connections.ts";
import type { LeaderTable } from "../../../../src/kafka/cluster/leader-table.ts";
import { StartOffsets } from "../../../../src/kafka/group/start-offsets.ts";
import { inEachTest } from "../../../support/clock/stepped-timers.ts";

const ALWAYS = () => true;
/** The leader of both partitions. */
const LEADER = { host: "a", port: 1 };
const PLACES = [
  { topic: "t", partition: 0 },
  { topic: "t", partition: 1 },
];

inEachTest();

interface Listed {
  readonly partition: number;
  readonly errorCode?: number;
  readonly offset?: number;
}

/** A response to ListOffsets for the topic `t`. */
function listed(partitions: readonly Listed[]): object {
  const all = partitions.map(({ partition, errorCode = 0, offset = 0 }) => {
    return { partitionIndex: partition, errorCode, offset: BigInt(offset) };
  });
  return { topics: [{ name: "t", partitions: all }] };
}

function world() {
  const state = {
    topicIds: new Map([["t", "an-id"]]) as ReadonlyMap<string, string> | Error,
    /** The number of partitions according to the brokers' metadata. */
    partitions: 2,
    stale: 0,
    refreshes: 0,
    /** The leader of each partition; null if there is none at the moment. */
    leaders: [LEADER, LEADER] as (object | null)[],
    /** The responses of leaders, in this order. */
    responses: [] as object[],
    committed: [] as (Error | readonly { readonly partition: number; readonly offset: number }[])[],
  };
  const coordinator = {
    offsets: async () => {
      const next = state.committed.shift() ?? [];
      if (next instanceof Error) throw next;
      return next.map((each) => ({ ...each, topic: "t", metadata: "m" }));
    },
  };
  const leaders = {
    topicIds: async () => {
      if (state.topicIds instanceof Error) throw state.topicIds;
      return state.topicIds;
    },
    has: (_topic: string, partition: number) => partition < state.partitions,
    leaderOf: (_topic: string, partition: number) => state.leaders[partition] ?? null,
    refresh: () => {
      state.refreshes += 1;
    },
  } as unknown as LeaderTable;
  const send = async (): Promise<object> => {
    const next = state.responses.shift() ?? listed([]);
    if (next instanceof Error) throw next;
    return next;
  };
  const broker = { send };
  const connections = { broker: () => ({ open: async () => broker }) };
  const starts = new StartOffsets(
    coordinator,
    leaders,
    connections as unknown as SharedConnections,
    new Signal(),
  );
  const found: (readonly [number, number])[] = [];
  const first = (isWanted: () => boolean = ALWAYS) =>
    starts.first(
      PLACES,
      isWanted,
      ({ partition }, offset) => found.push([partition, offset]),
      () => {
        state.stale += 1;
      },
    );
  return { state, starts, first, found };
}

function outage(): Error {
  return new ConnectionClosedError("closed");
}

test("commits come with the topic's ID, after an outage too", async () => {
  const { state, starts } = world();
  state.committed = [outage(), [{ partition: 0, offset: 7 }]];
  const read = starts.committed(PLACES, ALWAYS);
  await vi.advanceTimersByTimeAsync(300);
  const entry = { topic: "t", topicId: "an-id", partition: 0, offset: 7, metadata: "m" };
  expect(await read).toEqual([entry]);
});

test("brokers without topic IDs give none", async () => {
  const { state, starts } = world();
  state.topicIds = new Map();
  state.committed = [[{ partition: 0, offset: 7 }]];
  expect(await starts.committed(PLACES, ALWAYS)).toMatchObject([{ topicId: null }]);
});

test("an error that lasts is not waited for, and nobody waits without partitions", async () => {
  const { state, starts } = world();
  const forbidden = Object.assign(new Error("no"), { type: "GROUP_AUTHORIZATION_FAILED" });
  state.committed = [forbidden];
  await expect(starts.committed(PLACES, ALWAYS)).rejects.toBe(forbidden);
  expect(await starts.committed([], ALWAYS)).toEqual([]);
});

test("the first offsets come from the leaders, each once", async () => {
  const { state, first, found } = world();
  state.responses = [listed([{ partition: 0, offset: 3 }, { partition: 1 }])];
  await first();
  expect(found).toEqual([
    [0, 3],
    [1, 0],
  ]);
  expect(state.refreshes).toBe(0);
});

test.each([
  [
    "has moved",
    listed([
      { partition: 0, offset: 3 },
      { partition: 1, errorCode: 6 },
    ]),
  ],
  ["says nothing of it", listed([{ partition: 0, offset: 3 }])],
])("a partition whose leader %s is asked for again, alone", async (_what, response) => {
  const { state, first, found } = world();
  state.responses = [response, listed([{ partition: 1, offset: 4 }])];
  const done = first();
  await vi.advanceTimersByTimeAsync(300);
  await done;
  expect(found).toEqual([
    [0, 3],
    [1, 4],
  ]);
  expect(state.refreshes).toBe(1);
});

test("a partition without a leader, and a broker that is away, are waited for", async () => {
  const { state, first, found } = world();
  state.leaders[1] = null;
  state.responses = [outage(), listed([{ partition: 0, offset: 3 }])];
  const done = first();
  await vi.advanceTimersByTimeAsync(600);
  state.leaders[1] = LEADER;
  state.responses = [listed([{ partition: 1, offset: 4 }])];
  await vi.advanceTimersByTimeAsync(300);
  await done;
  expect(found).toEqual([
    [0, 3],
    [1, 4],
  ]);
});

test("an error of a partition that lasts is thrown", async () => {
  const { state, first } = world();
  state.responses = [listed([{ partition: 0, errorCode: 29 }])];
  await expect(first()).rejects.toMatchObject({ type: "TOPIC_AUTHORIZATION_FAILED" });
});

test("who has given the partitions up finds nothing, and waits no longer", async () => {
  const { state, first, found } = world();
  let isWanted = true;
  state.responses = [
    listed([{ partition: 0, errorCode: 6 }]),
    listed([{ partition: 1, offset: 4 }]),
  ];
  const done = first(() => isWanted);
  await vi.advanceTimersByTimeAsync(100);
  isWanted = false;
  await vi.advanceTimersByTimeAsync(300);
  await done;
  expect(found).toEqual([]);
});

test("a topic is recreated if its ID differs from that of the commits, or is gone", async () => {
  const { state, starts } = world();
  state.committed = [[{ partition: 0, offset: 7 }]];
  await starts.committed(PLACES, ALWAYS);
  expect(await starts.areRecreated(["t"])).toBe(false);
  state.topicIds = new Map([["t", "another-id"]]);
  expect(await starts.areRecreated(["t"])).toBe(true);
  expect(await starts.areRecreated([])).toBe(false);
  state.topicIds = new Map();
  expect(await starts.areRecreated(["t"])).toBe(true);
  state.topicIds = outage();
  expect(await starts.areRecreated(["t"])).toBe(false);
});

test.each([
  ["is unknown to its leader", { leader: LEADER, partitions: 2 }],
  ["has no leader, and is not in the metadata", { leader: null, partitions: 1 }],
])(
  "a partition that %s is waited for, until its topic has another ID",
  async (_what, partition) => {
    const { state, starts, first, found } = world();
    await starts.committed(PLACES, ALWAYS);
    const unknown = () => listed([{ partition: 0 }, { partition: 1, errorCode: 3 }]);
    state.leaders[1] = partition.leader;
    state.partitions = partition.partitions;
    state.responses = [unknown(), unknown(), unknown()];
    const done = first();
    await vi.advanceTimersByTimeAsync(300);
    state.topicIds = outage();
    await vi.advanceTimersByTimeAsync(300);
    expect(state.stale).toBe(0);
    state.topicIds = new Map([["t", "another-id"]]);
    await vi.advanceTimersByTimeAsync(300);
    await done;
    expect([found, state.stale]).toEqual([[[0, 0]], 1]);
  },
);

test("an offset that is out of range is reported with the ID that the topic has now", async () => {
  const { state, starts } = world();
  state.topicIds = new Map([["t", "another-id"]]);
  expect(await starts.outOfRange({ topic: "t", partition: 1 })).toEqual({
    ...{ topic: "t", topicId: "another-id", partition: 1, offset: -2, metadata: "" },
  });
});
