// The table of src/kafka/cluster/topic-watch.ts, with brokers that answer as they are told to.

import { afterEach, beforeEach, expect, test, vi } from "vitest";

import type { Clients } from "../../../../src/kafka/cluster/connection.ts";
import { ClusterTopicWatch } from "../../../../src/kafka/cluster/topic-watch.ts";
import type { TopicLeaders } from "../../../../src/kafka/membership.ts";

const LOOK_MS = 5_000;

interface Request {
  readonly request: { encode(): Promise<{ readonly buffer: Buffer }> };
}

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** One partition for each topic that is asked for, led by `leader`. */
function world() {
  const state = {
    ...{ leader: 1, asked: [] as number[], seeds: 0 },
    ...{ isSilent: false, isThrottled: false },
  };
  const send = async ({ request }: Request): Promise<Buffer> => {
    const { buffer } = await request.encode();
    const count = buffer.readInt32BE(0);
    state.asked.push(count);
    if (state.isSilent) return await new Promise(() => undefined);
    return answerTo(buffer, count, state.leader);
  };
  const pool = {
    connect: async () => undefined,
    seedBroker: {
      versions: { 3: { minVersion: 0, maxVersion: 13 } },
      connectionPool: { host: "a", port: 9092, send, pool: [] },
      disconnect: async () => undefined,
    },
    createSeedBroker: async () => {
      state.seeds += 1;
    },
    disconnect: async () => undefined,
  };
  const client = { brokerPool: () => pool, destroy: () => undefined };
  const throttles = { isThrottled: () => state.isThrottled };
  const clients = { createShared: () => client, throttles } as unknown as Clients;
  const watch = new ClusterTopicWatch(clients);
  const member = (...topics: readonly string[]) => {
    const found: TopicLeaders[] = [];
    const watching = { topics, found: (leaders: TopicLeaders) => void found.push(leaders) };
    watch.add(watching);
    return { found, leave: () => watch.delete(watching) };
  };
  return { state, watch, member };
}

function answerTo(request: Buffer, count: number, leader: number): Buffer {
  const parts: Buffer[] = [Buffer.alloc(4 + 4 + 2 + 4), int32(count)];
  let at = 4;
  for (let topic = 0; topic < count; topic += 1) {
    const end = at + 2 + request.readInt16BE(at);
    // No error, the name, not internal; one partition, no replicas.
    parts.push(Buffer.alloc(2), request.subarray(at, end), Buffer.alloc(1));
    parts.push(int32(1), Buffer.alloc(2), int32(0), int32(leader), Buffer.alloc(12));
    at = end;
  }
  return Buffer.concat(parts);
}

function int32(value: number): Buffer {
  const buffer = Buffer.alloc(4);
  buffer.writeInt32BE(value);
  return buffer;
}

test("all members' topics are asked for together, and each look tells all of them", async () => {
  const { state, watch, member } = world();
  const [one, other] = [member("a", "b"), member("c")];
  await vi.advanceTimersByTimeAsync(LOOK_MS);
  expect(state.asked).toEqual([3]);
  for (const { found } of [one, other]) {
    expect(found).toEqual([new Map(["a", "b", "c"].map((topic) => [topic, [1]]))]);
  }
  state.leader = 2;
  await vi.advanceTimersByTimeAsync(LOOK_MS);
  expect(other.found.at(-1)?.get("c")).toEqual([2]);
  await vi.advanceTimersByTimeAsync(LOOK_MS);
  expect(other.found).toHaveLength(3);
  watch.close();
});

test("a thousand topics take two requests; without members nothing is asked", async () => {
  const { state, watch, member } = world();
  const all = member(...Array.from({ length: 1_000 }, (_, at) => `t${at}`));
  await vi.advanceTimersByTimeAsync(LOOK_MS);
  expect(state.asked).toEqual([500, 500]);
  expect(all.found[0]?.size).toBe(1_000);
  all.leave();
  await vi.advanceTimersByTimeAsync(10 * LOOK_MS);
  expect(state.asked).toHaveLength(2);
  member("a");
  await vi.advanceTimersByTimeAsync(LOOK_MS);
  expect(state.asked).toEqual([500, 500, 1]);
  watch.close();
});

test("brokers that throttle this process are asked less often", async () => {
  const { state, watch, member } = world();
  state.isThrottled = true;
  const { found } = member("a");
  await vi.advanceTimersByTimeAsync(29_999);
  expect(found).toHaveLength(0);
  await vi.advanceTimersByTimeAsync(1);
  expect(found).toHaveLength(1);
  watch.close();
});

test("a broker that does not respond is left, and the next look asks another", async () => {
  const { state, watch, member } = world();
  const { found } = member("a");
  state.isSilent = true;
  await vi.advanceTimersByTimeAsync(LOOK_MS + 4_000);
  expect({ seeds: state.seeds, found }).toEqual({ seeds: 1, found: [] });
  state.isSilent = false;
  await vi.advanceTimersByTimeAsync(LOOK_MS);
  expect(found).toHaveLength(1);
  watch.close();
});
