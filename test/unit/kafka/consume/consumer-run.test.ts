// One run of a consumer, with kafkajs' own group: what it leaves behind when it ends, and what it
// makes sure of before it hands records over.

import type { ConsumerConfig, Kafka } from "kafkajs";
import { afterEach, expect, test, vi } from "vitest";
import { CorruptBatchError } from "../../../../src/domain/corrupt-batch.ts";
import { CommitPace } from "../../../../src/kafka/consume/commit-pace.ts";
import { ConsumerRun } from "../../../../src/kafka/consume/consumer-run.ts";
import { GroupWatch } from "../../../../src/kafka/consume/group-watch.ts";
import { newMemory } from "../../../../src/kafka/consume/ownership.ts";
import { KafkajsMembership } from "../../../../src/kafka/kafkajs/membership.ts";
import { Taker } from "../../../support/contract/taker.ts";
import { GroupWorld, TOPIC } from "../../../support/kafkajs/kafkajs-group.ts";
import { LogLines } from "../../../support/log/log-lines.ts";

const JOINED = "consumer.group_join";
const CORRUPT = new CorruptBatchError("its length is 0", 10);

afterEach(() => {
  vi.useRealTimers();
});

/** A run that has not joined yet; the test is its fetch loop. */
function world() {
  const listeners = new Map<string, (event: { readonly payload: unknown }) => void>();
  const started = Promise.withResolvers<GroupWorld>();
  const consumer = (config: ConsumerConfig) => ({
    events: { GROUP_JOIN: JOINED, CRASH: "consumer.crash" },
    on: (event: string, listener: (event: { readonly payload: unknown }) => void) =>
      listeners.set(event, listener),
    connect: async () => undefined,
    subscribe: async () => undefined,
    run: async () =>
      started.resolve(
        new GroupWorld(config, (event, payload) => listeners.get(event)?.({ payload })),
      ),
    stop: async () => undefined,
    disconnect: async () => undefined,
  });
  const client = { kafka: { consumer } as unknown as Kafka, destroy: () => undefined };
  const taker = new Taker();
  const lines = new LogLines();
  const run = new ConsumerRun({
    createMembership: (options, events) =>
      new KafkajsMembership(client, { ...options, clientId: "switchyard" }, events, {
        add: () => undefined,
        delete: () => undefined,
      }),
    sessionTimeoutMs: 10_000,
    recordMaxBytes: () => 1_000_000,
    consume: {
      groupId: "g",
      topics: [TOPIC],
      whenFull: "hold",
      partitionRecordsMax: 1_000,
      maxBytes: 1_000_000,
      drainLimitMs: 0,
      onAssigned: taker.onAssigned,
      onCrash: () => undefined,
    },
    memory: newMemory(),
    commits: new CommitPace(),
    groups: new GroupWatch(5_000),
    onForeignMembers: () => undefined,
    onJoined: () => undefined,
    onOffsetReset: () => undefined,
    log: lines.log,
  });
  void run.start();
  return { run, taker, lines, started: started.promise };
}

/** Ten records are in hand, and the first five of them finished. */
async function halfDone() {
  const { run, taker, lines, started } = world();
  const kafka = await started;
  await kafka.group.joinAndSync();
  await (await kafka.fetch("1")).answered([...Array(10).keys()]);
  for (const taken of taker.taken.slice(0, 5)) taker.finish(taken);
  return { run, taker, lines, kafka };
}

test("what was finished is committed before kafkajs hears of a corrupt batch", async () => {
  const { run, kafka } = await halfDone();
  await expect((await kafka.fetch("1")).failed(CORRUPT)).rejects.toBe(CORRUPT);
  expect(kafka.coordinator.commits).toEqual([5]);
  expect(await run.ended).toBe(CORRUPT);
});

test("a coordinator that does not respond holds up no end", async () => {
  const { run, kafka } = await halfDone();
  kafka.coordinator.onCommit = () => new Promise(() => undefined);
  const fetch = await kafka.fetch("1");
  vi.useFakeTimers();
  const ended = expect(fetch.failed(CORRUPT)).rejects.toBe(CORRUPT);
  await vi.runAllTimersAsync();
  await ended;
  expect(await run.ended).toBe(CORRUPT);
});

test("a stop that commits what is finished says nothing", async () => {
  const { run, lines, kafka } = await halfDone();
  await run.stop();
  expect(kafka.coordinator.commits).toEqual([5]);
  expect(lines.seen).toEqual([]);
});

test("a stop that cannot commit what is finished says so", async () => {
  const { run, lines, kafka } = await halfDone();
  const gone = Object.assign(new Error("no member"), { type: "UNKNOWN_MEMBER_ID" });
  kafka.coordinator.onCommit = () => Promise.reject(gone);
  await run.stop();
  expect(lines.seen).toEqual(["kafka.commit.abandoned"]);
});

const UNKNOWN = Object.assign(new Error("no such topic"), { type: "UNKNOWN_TOPIC_OR_PARTITION" });

test("a topic that one broker does not know for a while is joined when it does", async () => {
  vi.useFakeTimers();
  const { run, started } = world();
  const kafka = await started;
  let times = 0;
  kafka.coordinator.onSync = () => {
    times += 1;
    if (times < 5) throw UNKNOWN;
  };
  const joined = kafka.group.joinAndSync();
  await vi.advanceTimersByTimeAsync(5_000);
  await joined;
  expect(times).toBe(5);
  expect(run.progress()).toHaveLength(1);
});

test("a join that the coordinator cuts off is tried again: the next one knows of no rebalance", async () => {
  vi.useFakeTimers();
  const { run, taker, kafka } = await halfDone();
  const cut = Object.assign(new Error("closed"), { name: "KafkaJSConnectionClosedError" });
  let times = 0;
  kafka.coordinator.onSync = () => {
    times += 1;
    if (times < 4) throw cut;
  };
  const joined = kafka.group.joinAndSync();
  await vi.advanceTimersByTimeAsync(2_000);
  await joined;
  expect(times).toBe(4);
  expect(run.isAssigned).toBe(true);
  await (await kafka.fetch("1")).answered([5, 6]);
  expect(taker.taken.at(-1)?.offset).toBe(6);
});

test("one that stays cut off ends the run", async () => {
  vi.useFakeTimers();
  const { run, kafka } = await halfDone();
  const cut = Object.assign(new Error("closed"), { name: "KafkaJSConnectionClosedError" });
  kafka.coordinator.onSync = () => {
    throw cut;
  };
  const joined = expect(kafka.group.joinAndSync()).rejects.toBe(cut);
  await vi.runAllTimersAsync();
  await joined;
  expect(await run.ended).toBe(cut);
});

test("one that stays unknown while joining ends the run", async () => {
  vi.useFakeTimers();
  const { run, started } = world();
  const kafka = await started;
  kafka.coordinator.onSync = () => {
    throw UNKNOWN;
  };
  const joined = expect(kafka.group.joinAndSync()).rejects.toThrow();
  await vi.runAllTimersAsync();
  await joined;
  expect(await run.ended).toMatchObject({ message: "no such topic" });
});

test("one that a broker does not know any more ends the run, whatever others answer meanwhile", async () => {
  vi.useFakeTimers();
  const { run, kafka } = await halfDone();
  for (let times = 0; times < 5; times += 1) {
    const asked = kafka.fetch("1");
    // The loops keep their pace.
    await vi.advanceTimersByTimeAsync(5_000);
    const { failed } = await asked;
    kafka.onRefresh = () => {
      throw UNKNOWN;
    };
    await expect(failed(UNKNOWN)).rejects.toBe(UNKNOWN);
    kafka.onRefresh = () => undefined;
    const other = kafka.group.fetch("2");
    await vi.advanceTimersByTimeAsync(12_000);
    kafka.group.endFetches?.();
    await other;
  }
  expect(await run.ended).toBe(UNKNOWN);
  expect(kafka.coordinator.commits).toEqual([5]);
});

test("what may go away gives no partition up", async () => {
  const { taker, kafka } = await halfDone();
  const outage = Object.assign(new Error("gone"), { name: "KafkaJSConnectionError" });
  // The driver would leave the group when that goes on for a while.
  expect(await (await kafka.fetch("1")).failed(outage)).toEqual([]);
  await (await kafka.fetch("1")).answered([10, 11]);
  expect(taker.taken).toHaveLength(12);
  expect(kafka.coordinator.commits).toEqual([]);
});

test("a member that was frozen while it joined asks before it hands anything over", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  const { taker, started } = world();
  const kafka = await started;
  const { group, coordinator } = kafka;
  coordinator.onSync = () => {
    vi.setSystemTime(Date.now() + 60_000);
  };
  await group.joinAndSync();
  const refused = Object.assign(new Error("who?"), { type: "UNKNOWN_MEMBER_ID" });
  coordinator.onHeartbeat = () => {
    throw refused;
  };
  await expect((await kafka.fetch("1")).answered([0, 1])).rejects.toBe(refused);
  expect(taker.taken).toEqual([]);
});

test("what was asked for under an earlier assignment is dropped: reading begins again", async () => {
  const { taker, started } = world();
  const kafka = await started;
  await kafka.group.joinAndSync();
  const late = await kafka.fetch("1");
  await kafka.group.joinAndSync();
  await late.answered([0, 1]);
  expect(taker.taken).toEqual([]);
  await (await kafka.fetch("1")).answered([0, 1]);
  expect(taker.taken.map(({ offset }) => offset)).toEqual([0, 1]);
});

const REBALANCES = Object.assign(new Error("rebalance"), { type: "REBALANCE_IN_PROGRESS" });

test.each(["REBALANCE_IN_PROGRESS", "ILLEGAL_GENERATION", "UNKNOWN_MEMBER_ID"])(
  "a fetch that waits for records ends with %s, and joining continues from there",
  async (type) => {
    const out = Object.assign(new Error("out"), { type });
    vi.useFakeTimers();
    const { taker, started } = world();
    const kafka = await started;
    await kafka.group.joinAndSync();
    const waiting = await kafka.fetch("1");
    kafka.coordinator.onHeartbeat = () => {
      throw out;
    };
    const reported = expect(waiting.fetched).rejects.toBe(out);
    await vi.advanceTimersByTimeAsync(600);
    await reported;
    // Loops of other brokers are told the same, and send nothing more.
    const { heartbeats } = kafka.coordinator;
    await expect(kafka.group.fetch("2")).rejects.toBe(out);
    await expect(kafka.group.heartbeat({ interval: 0 })).rejects.toBe(out);
    expect(kafka.coordinator.heartbeats).toBe(heartbeats);
    kafka.coordinator.onHeartbeat = () => undefined;
    await kafka.group.joinAndSync();
    await (await kafka.fetch("1")).answered([0, 1]);
    expect(taker.taken.map(({ offset }) => offset)).toEqual([0, 1]);
  },
);

/** A fetch is under way, and the next heartbeat fails. */
async function refused(error: Error) {
  vi.useFakeTimers();
  const { run, taker, started } = world();
  const kafka = await started;
  await kafka.group.joinAndSync();
  const waiting = await kafka.fetch("1");
  kafka.coordinator.onHeartbeat = () => {
    throw error;
  };
  return { run, taker, waiting };
}

test("a member that may not stay hands nothing over any more, and its run ends", async () => {
  const fenced = Object.assign(new Error("fenced"), { type: "FENCED_INSTANCE_ID" });
  const { run, taker, waiting } = await refused(fenced);
  const reported = expect(waiting.fetched).rejects.toBe(fenced);
  await vi.advanceTimersByTimeAsync(600);
  await reported;
  await waiting.answered([0, 1]).catch(() => undefined);
  expect(taker.taken).toEqual([]);
  expect(await run.ended).toBe(fenced);
});

test("an outage that a heartbeat meets ends no fetch", async () => {
  const gone = Object.assign(new Error("gone"), { name: "KafkaJSConnectionError" });
  const { taker, waiting } = await refused(gone);
  await vi.advanceTimersByTimeAsync(600);
  await waiting.answered([0, 1]);
  expect(taker.taken.map(({ offset }) => offset)).toEqual([0, 1]);
});

test("the word of a rebalance that comes after the next assignment counts for nothing", async () => {
  vi.useFakeTimers();
  const { taker, started } = world();
  const kafka = await started;
  await kafka.group.joinAndSync();
  const late = Promise.withResolvers<void>();
  kafka.coordinator.onHeartbeat = () => late.promise;
  await vi.advanceTimersByTimeAsync(600);
  expect(kafka.coordinator.heartbeats).toBe(1);
  await kafka.group.joinAndSync();
  late.reject(REBALANCES);
  await vi.advanceTimersByTimeAsync(1);
  await (await kafka.fetch("1")).answered([0, 1]);
  expect(taker.taken.map(({ offset }) => offset)).toEqual([0, 1]);
});

test("what one loop hears of a rebalance ends the fetches of the others", async () => {
  const { kafka } = await halfDone();
  const { fetched } = await kafka.fetch("1");
  const rebalancing = Object.assign(new Error("anew"), { type: "REBALANCE_IN_PROGRESS" });
  kafka.coordinator.onHeartbeat = () => {
    throw rebalancing;
  };
  const heard = expect(kafka.group.heartbeat({ interval: 0 })).rejects.toBe(rebalancing);
  await expect(fetched).rejects.toBe(rebalancing);
  await heard;
});
