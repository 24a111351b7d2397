// The partitions of an assignment: from which broker they are read, and what happens if this is not possible.

import { expect, test, vi } from "vitest";
import { Signal } from "../../../../src/base/runtime/signal.ts";
import { protocolError } from "../../../../src/kafka/cluster/kafka-error.ts";
import type { LeaderTable } from "../../../../src/kafka/cluster/leader-table.ts";
import type { Cursor } from "../../../../src/kafka/fetch/cursor.ts";
import type { FetchSources } from "../../../../src/kafka/fetch/sources.ts";
import type { StartOffsets } from "../../../../src/kafka/group/start-offsets.ts";
import { Tenure } from "../../../../src/kafka/group/tenure.ts";
import type { FetchedOffset, OffsetToCommit } from "../../../../src/kafka/membership.ts";
import { inEachTest } from "../../../support/clock/stepped-timers.ts";
import { fetchedBatch } from "../../../support/kafka-client/fetched-batch.ts";

const TOPIC = "t";
const [A, B] = [
  { host: "a", port: 9092 },
  { host: "b", port: 9092 },
];
const OFFSET_OUT_OF_RANGE = 1;
const UNKNOWN_TOPIC = 3;
const NOT_LEADER = 6;

inEachTest();

interface Given {
  readonly fetchSpacingMs?: number;
  readonly shared?: ReadonlyMap<string, number>;
  /** The committed offset; -1 if there is none. */
  readonly committed?: number;
  readonly isRecreated?: boolean;
}

/** Starts a tenure of one partition, whose log starts at offset 3. */
async function started(given: Given = {}) {
  const { fetchSpacingMs = 0, shared = new Map(), committed = 7, isRecreated = false } = given;
  const state = {
    leaders: { errorCode: 0, nodes: [1] },
    address: A as typeof A | null,
    refreshed: [] as string[],
    isRecreated,
    stale: 0,
    failed: [] as Error[],
    commits: [] as OffsetToCommit[],
    fetchedOffsets: [] as FetchedOffset[],
    batches: 0,
  };
  const requested: string[] = [];
  const sources = {
    place: (cursor: Cursor, { host }: typeof A) =>
      cursor.setSource({
        want: (_: Cursor, offset: number) => void requested.push(`${host} from ${offset}`),
        drop: () => undefined,
        detach: () => undefined,
        respondedAtMs: () => 5,
      }),
  } as unknown as FetchSources;
  const leaders = {
    addressChanges: 0,
    of: () => state.leaders,
    has: (_topic: string, partition: number) => state.leaders.nodes[partition] !== undefined,
    leaderOf: () => state.address,
    refresh: (topics: Iterable<string>) => void state.refreshed.push(...topics),
  } as unknown as LeaderTable;
  const place = { topic: TOPIC, partition: 0, topicId: "id", metadata: "" };
  const starts = {
    committed: async () => [{ ...place, offset: committed }],
    outOfRange: async () => ({ ...place, offset: -2 }),
    areRecreated: async (topics: readonly string[]) => topics.length > 0 && state.isRecreated,
    first: async (
      cursors: readonly Cursor[],
      _isWanted: () => boolean,
      found: (cursor: Cursor, offset: number) => void,
      onStale: () => void,
    ) => {
      if (state.isRecreated) onStale();
      else for (const cursor of cursors) found(cursor, 3);
    },
  } as unknown as StartOffsets;
  const tenure = new Tenure(
    { [TOPIC]: [0] },
    {
      options: {
        ...{ groupId: "g", topics: [TOPIC], sessionTimeoutMs: 1, rebalanceTimeoutMs: 1 },
        ...{ partitionMaxBytes: () => 1, fetchSpacingMs, skipsCorrupt: false },
        recordMaxBytes: () => 1,
      },
      events: {
        fetched: () => {
          state.batches += 1;
          return undefined;
        },
        halted: () => undefined,
        offsetsFetched: (all) => {
          state.fetchedOffsets.push(...all);
          return [];
        },
      },
      ...{ leaders, sources, starts, wake: new Signal(), shared },
      commit: async (offsets) => void state.commits.push(...offsets),
      onStale: () => {
        state.stale += 1;
      },
      onFailed: (error) => state.failed.push(error),
    },
  );
  await tenure.start();
  const cursor = tenure.cursor(TOPIC, 0);
  if (cursor === undefined) throw new Error("the partition has no cursor");
  const fail = async (code: number, forMs = 300) => {
    cursor.take();
    cursor.owner.failed(cursor, protocolError(code));
    await vi.advanceTimersByTimeAsync(forMs);
  };
  const arrive = (last: number | null, end = 1_000) => {
    cursor.take();
    const offsets = last === null ? [] : [last];
    cursor.owner.fetched(cursor, fetchedBatch(offsets, { from: 7, end, last }));
  };
  return { state, requested, tenure, cursor, fail, arrive };
}

test.each([
  [7, "a from 7"],
  [-1, "a from 3"],
  [-2, "a from 3"],
])("with %i committed it is read %s on", async (committed, expected) => {
  const { requested, tenure } = await started({ committed });
  expect(requested).toEqual([expected]);
  expect(tenure.respondedAtMs()).toBe(5);
});

test("a leader that moves moves the cursor, and a lookup without news does nothing", async () => {
  const { state, requested, tenure } = await started();
  tenure.place();
  expect(requested).toHaveLength(1);
  state.leaders = { errorCode: 0, nodes: [2] };
  state.address = B;
  tenure.place();
  expect(requested).toEqual(["a from 7", "b from 7"]);
});

test("without a leader the cursor stays, so that its broker reports what is wrong", async () => {
  const { state, requested, tenure, fail } = await started();
  state.leaders = { errorCode: 0, nodes: [-1] };
  state.address = null;
  tenure.place();
  await fail(NOT_LEADER);
  expect(requested).toEqual(["a from 7", "a from 7"]);
  expect([state.refreshed, state.stale]).toEqual([[TOPIC], 0]);
});

test("one that has had no leader yet is looked up each second until it has", async () => {
  const { state, requested, tenure, cursor } = await started();
  cursor.setSource(null);
  state.address = null;
  state.leaders = { errorCode: 0, nodes: [-1] };
  tenure.place();
  tenure.place();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(state.refreshed).toEqual([TOPIC]);
  state.address = B;
  tenure.place();
  expect(requested.at(-1)).toBe("b from 7");
});

test("a partition that no broker knows has no leader to wait for if its topic was recreated", async () => {
  const { state, tenure, cursor } = await started();
  cursor.setSource(null);
  state.address = null;
  state.isRecreated = true;
  state.leaders = { errorCode: 0, nodes: [-1] };
  tenure.place();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(state.stale).toBe(0);
  state.leaders = { errorCode: 0, nodes: [] };
  tenure.place();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(state.stale).toBe(1);
});

test("a topic that is deleted before its first offset is found makes the member join again", async () => {
  const { state, requested } = await started({ committed: -1, isRecreated: true });
  expect([requested, state.stale]).toEqual([[], 1]);
});

test("a topic that is unknown is fetched again if its ID is the same, and otherwise the member joins again", async () => {
  const { state, requested, fail } = await started();
  await fail(UNKNOWN_TOPIC);
  expect([requested.length, state.stale]).toEqual([2, 0]);
  state.isRecreated = true;
  await fail(UNKNOWN_TOPIC);
  expect([requested.length, state.stale]).toEqual([2, 1]);
});

test("an offset that is out of range is reported, read from the log's start, and committed there", async () => {
  const { state, requested, fail } = await started();
  await fail(OFFSET_OUT_OF_RANGE);
  expect(state.fetchedOffsets.at(-1)).toMatchObject({ offset: -2 });
  expect(requested).toEqual(["a from 7", "a from 3"]);
  expect(state.commits).toEqual([{ topic: TOPIC, partition: 0, offset: 3, metadata: "" }]);
});

test("an error that lasts fails the member, but not after it has given its partitions up", async () => {
  const { state, tenure, fail } = await started();
  await fail(29);
  expect(state.failed).toMatchObject([{ type: "TOPIC_AUTHORIZATION_FAILED" }]);
  tenure.close();
  await fail(29);
  expect(state.failed).toHaveLength(1);
});

test("partitions that were added concern the member that has shared them out", async () => {
  const leader = await started({ shared: new Map([[TOPIC, 1]]) });
  const follower = await started();
  for (const { state, tenure } of [leader, follower]) {
    state.leaders = { errorCode: 0, nodes: [1, 1] };
    tenure.place();
  }
  expect([leader.state.stale, follower.state.stale]).toEqual([1, 0]);
});

test.each([
  ["leaves records behind", 7, 1_000, 0],
  ["leaves none", 999, 1_000, 100],
  ["finds nothing", null, 1_000, 0],
])("where fetches are spaced, what follows one that %s", async (_what, last, end, ms) => {
  const { requested, arrive } = await started({ fetchSpacingMs: 100 });
  arrive(last, end);
  if (ms > 0) await vi.advanceTimersByTimeAsync(ms - 1);
  expect(requested).toHaveLength(ms > 0 ? 1 : 2);
  await vi.advanceTimersByTimeAsync(1);
  expect(requested).toHaveLength(2);
});
