// The table of src/kafka/cluster/leader-table.ts, with brokers whose responses each test specifies.

import { expect, test, vi } from "vitest";
import type { Request } from "../../../../src/kafka/broker/request.ts";
import type { SharedConnections } from "../../../../src/kafka/broker/shared-connections.ts";
import { Brokers } from "../../../../src/kafka/cluster/brokers.ts";
import type { Clients } from "../../../../src/kafka/cluster/connection.ts";
import { LeaderTable } from "../../../../src/kafka/cluster/leader-table.ts";
import { inEachTest } from "../../../support/clock/stepped-timers.ts";
import { int32, text } from "../../../support/kafka-client/bytes.ts";

const LOOK_MS = 5_000;

inEachTest();

/** Creates one partition for each requested topic, with the leader `leader`. */
function world() {
  const state = {
    ...{ leader: 1, asked: [] as number[], seeds: 0 },
    ...{ isSilent: false, isThrottled: false },
  };
  const send = async ({ args }: Request<unknown>): Promise<object> => {
    const [topics] = args as readonly [readonly string[]];
    state.asked.push(topics.length);
    if (state.isSilent) return await new Promise(() => undefined);
    return { payload: responseTo(topics, state.leader) };
  };
  const broker = { send };
  const shared = {
    any: (act: (to: typeof broker) => unknown) => act(broker),
    nextSeed: () => {
      state.seeds += 1;
    },
  };
  const throttles = { isThrottled: () => state.isThrottled };
  const brokers = new Brokers({ shared: shared as unknown as SharedConnections });
  const table = new LeaderTable({ throttles } as unknown as Clients, brokers);
  const member = (...topics: readonly string[]) => {
    const seen = { times: 0 };
    const found = (): void => {
      seen.times += 1;
    };
    const watching = { topics, found };
    table.add(watching);
    return { seen, leave: () => table.delete(watching) };
  };
  return { state, table, member };
}

let controller = 0;

function responseTo(topics: readonly string[], leader: number): Buffer {
  const broker = (node: number, rack: Buffer) => [int32(node), text("a"), int32(9092), rack];
  const brokers = [int32(2), ...broker(1, Buffer.from([0xff, 0xff])), ...broker(2, text("r"))];
  // With KRaft, each response has another controller.
  controller += 1;
  const parts: Buffer[] = [Buffer.alloc(4), ...brokers, text("cluster"), int32(controller)];
  parts.push(int32(topics.length));
  for (const topic of topics) {
    // No error, the name, not internal; one partition, with two replicas, one of which is in sync.
    parts.push(Buffer.alloc(2), text(topic), Buffer.alloc(1));
    parts.push(int32(1), Buffer.alloc(2), ...[0, leader, 2, 1, 2, 1, 1, 0].map(int32));
  }
  return Buffer.concat(parts);
}

test("all members' topics are asked for together, and each lookup asks for all of them", async () => {
  const { state, table, member } = world();
  const [one, other] = [member("a", "b"), member("c")];
  await vi.advanceTimersByTimeAsync(LOOK_MS);
  expect(state.asked).toEqual([3]);
  expect([one.seen.times, other.seen.times]).toEqual([1, 1]);
  expect(["a", "b", "c"].map((topic) => table.of(topic)?.nodes)).toEqual([[1], [1], [1]]);
  state.leader = 2;
  await vi.advanceTimersByTimeAsync(LOOK_MS);
  expect(table.of("c")?.nodes).toEqual([2]);
  await vi.advanceTimersByTimeAsync(LOOK_MS);
  // The last lookup found no change.
  expect(other.seen.times).toBe(2);
  table.close();
});

test("a lookup that finds the same as an earlier one is not ignored if another one was made in between", async () => {
  const { state, table, member } = world();
  const { seen } = member("a", "b");
  await vi.advanceTimersByTimeAsync(LOOK_MS);
  state.leader = 2;
  await Promise.all([table.load(["a"]), vi.advanceTimersByTimeAsync(1)]);
  expect(table.of("a")?.nodes).toEqual([2]);
  state.leader = 1;
  await vi.advanceTimersByTimeAsync(LOOK_MS);
  expect([table.of("a")?.nodes, seen.times]).toEqual([[1], 3]);
  table.close();
});

test("a leader has an address; a topic that nobody reads any more is dropped", async () => {
  const { table, member } = world();
  const { leave } = member("a");
  expect(table.leaderOf("a", 0)).toBe(null);
  await vi.advanceTimersByTimeAsync(LOOK_MS);
  expect(table.leaderOf("a", 0)).toEqual({ host: "a", port: 9092 });
  expect(table.leaderOf("a", 1)).toBe(null);
  leave();
  expect(table.of("a")).toBe(undefined);
  table.close();
});

test("a topic is kept while another member reads it, and leaving looks at no other member", async () => {
  const { table, member } = world();
  const { leave } = member("a", "b");
  let looks = 0;
  const other = {
    get topics() {
      looks += 1;
      return ["b"];
    },
    found: () => undefined,
  };
  table.add(other);
  await vi.advanceTimersByTimeAsync(LOOK_MS);
  looks = 0;
  leave();
  // Otherwise, 10,000 members that leave would look at each other's topics for a minute.
  expect(looks).toBe(0);
  expect([table.of("a"), table.of("b")?.nodes]).toEqual([undefined, [1]]);
  table.delete(other);
  expect(table.of("b")).toBe(undefined);
  table.close();
});

test("only members that read a topic hear of its lookup, and all hear of another address", async () => {
  const { table, member } = world();
  const [one, other] = [member("a"), member("b")];
  // The first lookup finds the address.
  await Promise.all([table.load(["a"]), vi.advanceTimersByTimeAsync(1)]);
  expect([one.seen.times, other.seen.times]).toEqual([1, 1]);
  await Promise.all([table.load(["a"]), vi.advanceTimersByTimeAsync(1)]);
  expect([one.seen.times, other.seen.times]).toEqual([2, 1]);
  table.close();
});

test("what is known of a topic stays the same object until something of it changes", async () => {
  const { state, table, member } = world();
  member("a");
  await Promise.all([table.load(["a"]), vi.advanceTimersByTimeAsync(1)]);
  const before = table.of("a");
  const { addressChanges } = table;
  expect(before?.nodes).toEqual([1]);
  await vi.advanceTimersByTimeAsync(2 * LOOK_MS);
  await Promise.all([table.load(["a", "b"]), vi.advanceTimersByTimeAsync(1)]);
  expect(table.of("a")).toBe(before);
  expect(table.addressChanges).toBe(addressChanges);
  state.leader = 2;
  await vi.advanceTimersByTimeAsync(LOOK_MS);
  expect(table.of("a")?.nodes).toEqual([2]);
  table.close();
});

test("a thousand topics take two requests; without members nothing is asked", async () => {
  const { state, table, member } = world();
  const all = member(...Array.from({ length: 1_000 }, (_, at) => `t${at}`));
  await vi.advanceTimersByTimeAsync(LOOK_MS);
  expect(state.asked).toEqual([500, 500]);
  all.leave();
  await vi.advanceTimersByTimeAsync(10 * LOOK_MS);
  expect(state.asked.slice(2)).toEqual([]);
  member("a");
  await vi.advanceTimersByTimeAsync(LOOK_MS);
  expect(state.asked).toEqual([500, 500, 1]);
  table.close();
});

test("members that ask in one turn share a request", async () => {
  const { state, table, member } = world();
  member("a");
  const asked = Promise.all([table.load(["a"]), table.load(["b", "a"])]);
  await vi.advanceTimersByTimeAsync(1);
  await asked;
  expect([state.asked, table.of("b")?.nodes]).toEqual([[2], [1]]);
  table.close();
});

test("members that ask for topic IDs in one turn share a request", async () => {
  const asked: (readonly string[])[] = [];
  const topicIds = async (topics: readonly string[]) => {
    asked.push(topics);
    return new Map(
      topics.filter((topic) => topic !== "gone").map((topic) => [topic, `id-${topic}`]),
    );
  };
  const brokers = { topicIds } as unknown as Brokers;
  const table = new LeaderTable({} as unknown as Clients, brokers);
  const both = Promise.all([table.topicIds(["a", "gone"]), table.topicIds(["b", "a"])]);
  await vi.advanceTimersByTimeAsync(1);
  for (const ids of await both) {
    expect(["a", "b", "gone"].map((topic) => ids.get(topic))).toEqual(["id-a", "id-b", undefined]);
  }
  expect(asked).toEqual([["a", "gone", "b"]]);
});

test("a leader that may have moved is looked up at once, but not again and again", async () => {
  const { state, table, member } = world();
  const { leave } = member("a", "b");
  await vi.advanceTimersByTimeAsync(LOOK_MS);
  for (let time = 0; time < 100; time += 1) {
    table.refresh(time % 2 === 0 ? ["a"] : ["b", "a"]);
    await vi.advanceTimersByTimeAsync(10);
  }
  // The first topic is requested immediately, and then both topics together.
  expect(state.asked.slice(0, 4)).toEqual([2, 1, 2, 2]);
  expect(state.asked.length).toBeLessThan(7);
  const asked = state.asked.length;
  leave();
  table.refresh(["a"]);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(state.asked).toHaveLength(asked);
  table.close();
  table.close();
});

test("brokers that throttle this process are asked less often", async () => {
  const { state, table, member } = world();
  state.isThrottled = true;
  const { seen } = member("a");
  await vi.advanceTimersByTimeAsync(29_999);
  expect(seen.times).toBe(0);
  await vi.advanceTimersByTimeAsync(1);
  expect(seen.times).toBe(1);
  table.close();
});

test("a broker that does not respond is left, and the next lookup asks another", async () => {
  const { state, table, member } = world();
  const { seen } = member("a");
  state.isSilent = true;
  const failed = expect(table.load(["a"])).rejects.toThrow("no response within 4 s");
  await vi.advanceTimersByTimeAsync(4_500);
  await failed;
  expect({ seeds: state.seeds, times: seen.times }).toEqual({ seeds: 1, times: 0 });
  state.isSilent = false;
  await vi.advanceTimersByTimeAsync(LOOK_MS);
  expect(seen.times).toBe(1);
  table.close();
});
