// The table of follow-suppressions.ts, on a Kafka in memory.

import { expect, onTestFinished, test } from "vitest";
import { createMetrics } from "../../../../src/base/telemetry/instruments.ts";
import type { Kafka, ReadRange, WatchedProducer } from "../../../../src/kafka/port.ts";
import { FollowedSuppressions } from "../../../../src/router/suppression/follow-suppressions.ts";
import { keyRecord, liftRecord } from "../../../../src/router/suppression/suppression-record.ts";
import { suppressionOf } from "../../../support/build/suppressions.ts";
import { clockDriver } from "../../../support/clock/clock-driver.ts";
import { ManualClock } from "../../../support/clock/manual-clock.ts";
import { createPrng } from "../../../support/clock/prng.ts";
import { parsedLog } from "../../../support/log/parsed-log.ts";
import { MemoryCluster } from "../../../support/memory-kafka/memory-kafka.ts";

const TOPIC = "sw.suppressions";

type Reads = Pick<Kafka, "admin" | "read" | "follow">;

function world(
  kafkaOf: (kafka: Kafka) => Partial<Reads> = () => ({}),
  producerOf: (producer: WatchedProducer) => Partial<WatchedProducer> = () => ({}),
) {
  const clock = new ManualClock();
  const cluster = new MemoryCluster({ clock, random: createPrng(1) });
  cluster.createTopic(TOPIC, 1);
  const { log, lines } = parsedLog();
  const driver = clockDriver(clock);
  let started = 0;
  let breaking = new AbortController();
  const start = (needsKey = false) => {
    const connected = cluster.connect();
    const own = connected.producer();
    const kafka = {
      admin: connected.admin,
      read: (range: ReadRange) => connected.read(range),
      follow: async function* (range: Omit<ReadRange, "to">) {
        const broken = breaking.signal;
        const signal = AbortSignal.any([range.signal, broken]);
        yield* connected.follow({ ...range, signal });
        if (broken.aborted) throw new Error("connection reset");
      },
      ...kafkaOf(connected),
    };
    const producer = {
      send: (...given: Parameters<WatchedProducer["send"]>) => own.send(...given),
      blocked: () => own.blocked(),
      ...producerOf(own),
    };
    const metrics = createMetrics();
    started += 1;
    const byte = started;
    const randomBytes = (count: number) => Buffer.alloc(count, byte);
    const deps = { kafka, producer, clock, log, metrics, randomBytes };
    const followed = new FollowedSuppressions(deps, { topic: TOPIC, needsKey });
    onTestFinished(() => followed[Symbol.dispose]());
    const { suppressions } = followed;
    const values = () => metrics.values();
    return { followed, suppressions, values, has: (id: string) => suppressions.isSuppressed(id) };
  };
  /** Ends reading with an error. It begins again 5 s later. */
  const breakReading = () => {
    breaking.abort();
    breaking = new AbortController();
  };
  const recreate = async () => {
    await driver.during(cluster.connect().admin.deleteTopics([TOPIC]));
    cluster.createTopic(TOPIC, 1);
  };
  const messages = () => lines.map(({ msg }) => msg).filter((msg) => `${msg}`.includes("suppress"));
  return { clock, cluster, driver, lines, messages, start, breakReading, recreate };
}

test("users are known when the topic was read whole, and each change soon after it is written", async () => {
  const { clock, cluster, driver, start } = world();
  for (const userId of ["u1", "u2"]) cluster.append(suppressionOf(userId));
  cluster.append(liftRecord(TOPIC, "u2"));
  const { followed, suppressions, has, values } = start();
  const changedAtS = () => values().switchyard_suppressions_changed_timestamp_seconds?.[0]?.value;
  const heard: string[] = [];
  suppressions.onChange((userId) => heard.push(userId));
  expect(changedAtS()).toBe(0);
  await driver.during(followed.read);
  expect([has("u1"), has("u2"), suppressions.size]).toEqual([true, false, 1]);
  await clock.advance(60_000);
  const writtenAtS = clock.nowMs() / 1_000;
  cluster.append(suppressionOf("u3"));
  cluster.append(liftRecord(TOPIC, "u1"));
  expect(changedAtS()).toBeLessThan(writtenAtS);
  await clock.advance(2_000);
  expect(changedAtS()).toBe(writtenAtS);
  expect([has("u1"), has("u3")]).toEqual([false, true]);
  // What was there at the start is not news.
  expect(heard).toEqual(["u3", "u1"]);
  expect(followed.healthProblems()).toEqual([]);
});

test("bad records stop nothing, and are logged without what they contain", async () => {
  const { clock, cluster, driver, lines, start } = world();
  const bad = [
    { key: null, value: Buffer.from("{}") },
    { key: Buffer.from("jane"), value: Buffer.from("{") },
    { key: Buffer.from("jane"), value: Buffer.from('{"userId":"joe"}') },
  ];
  for (const each of bad) cluster.append({ topic: TOPIC, headers: [], ...each });
  cluster.append(suppressionOf("u1"));
  const { followed, has } = start();
  await driver.during(followed.read);
  expect([has("u1"), has("jane"), has("joe")]).toEqual([true, false, false]);
  for (const each of bad) cluster.append({ topic: TOPIC, headers: [], ...each });
  cluster.append(suppressionOf("u2"));
  await clock.advance(2_000);
  expect(has("u2")).toBe(true);
  const logged = lines.filter(({ msg }) => msg === "suppressions.invalid-record");
  expect(logged.map(({ offset }) => offset)).toEqual([0, 1, 2, 4, 5, 6]);
  expect(JSON.stringify(lines)).not.toMatch(/jane|joe|u1/);
});

test("while the topic cannot be read, no stage that matches users starts, without a limit; health says why", async () => {
  let isRefused = true;
  const { clock, cluster, messages, start } = world((kafka) => ({
    read: (range) => {
      if (isRefused) throw new Error("Not authorized");
      return kafka.read(range);
    },
  }));
  cluster.append(suppressionOf("u1"));
  const { followed, has } = start();
  let isKnown = false;
  void followed.read.then(() => {
    isKnown = true;
  });
  await clock.advance(600_000);
  expect(isKnown).toBe(false);
  expect(followed.healthProblems()).toEqual([expect.stringContaining("Not authorized")]);
  expect(messages()).toEqual(["suppressions.read-failed"]);
  isRefused = false;
  await clock.advance(6_000);
  expect([isKnown, has("u1"), followed.healthProblems()]).toEqual([true, true, []]);
});

test("a topic that is lost later keeps what is known: log, health and metric within 15 s", async () => {
  const { clock, cluster, driver, messages, start } = world();
  cluster.append(suppressionOf("u1"));
  const { followed, has, values } = start();
  const since = () =>
    values().switchyard_suppressions_unreadable_since_timestamp_seconds?.[0]?.value;
  await driver.during(followed.read);
  expect(since()).toBe(0);
  cluster.goDown();
  await clock.advance(15_000);
  expect(has("u1")).toBe(true);
  expect(followed.healthProblems()).toHaveLength(1);
  expect(since()).toBeGreaterThan(0);
  expect(messages()).toEqual(["suppressions.read-failed"]);
  cluster.comeUp();
  await clock.advance(6_000);
  expect([followed.healthProblems(), since()]).toEqual([[], 0]);
});

test("a topic that was recreated adds to what is known, and is reported until the restart", async () => {
  const { clock, cluster, driver, messages, start, breakReading, recreate } = world();
  for (const userId of ["u1", "u2", "u3"]) cluster.append(suppressionOf(userId));
  const { followed, suppressions, has } = start(true);
  await driver.during(followed.hasKey);
  const [key] = suppressions.keys;
  await recreate();
  cluster.append(suppressionOf("u4"));
  await clock.advance(6_000);
  expect(["u1", "u2", "u3", "u4"].map(has)).toEqual([true, true, true, true]);
  expect(followed.healthProblems()).toEqual([expect.stringContaining("The 3 users")]);
  expect(messages()).toEqual(["suppressions.lost"]);
  cluster.append(liftRecord(TOPIC, "u1"));
  await clock.advance(2_000);
  expect(has("u1")).toBe(false);
  breakReading();
  cluster.append(suppressionOf("u5"));
  await clock.advance(6_000);
  expect(messages()).toEqual(["suppressions.lost", "suppressions.read-failed"]);
  expect(["u1", "u2", "u3", "u4", "u5"].map(has)).toEqual([false, true, true, true, true]);
  // The next process finds the same key.
  const next = start(true);
  await driver.during(next.followed.read);
  expect(next.suppressions.keys).toEqual([key]);
  expect([next.has("u2"), next.has("u4")]).toEqual([false, true]);
});

test("a topic that was recreated with as many records as before is also lost", async () => {
  const { clock, cluster, driver, start, breakReading, recreate } = world();
  for (const userId of ["u1", "u2"]) cluster.append(suppressionOf(userId));
  const { followed, has } = start();
  await driver.during(followed.read);
  await recreate();
  for (const userId of ["u2", "u3", "u4"]) cluster.append(suppressionOf(userId));
  breakReading();
  await clock.advance(6_000);
  expect(["u1", "u2", "u3", "u4"].map(has)).toEqual([true, true, true, true]);
  expect(followed.healthProblems()).toEqual([expect.stringContaining("was recreated")]);
});

test("listeners hear of a change once, even if the reading that finds it fails", async () => {
  let failures = 0;
  const { clock, cluster, driver, start, breakReading } = world((kafka) => ({
    read: async function* (range) {
      yield* kafka.read(range);
      if (failures-- > 0) throw new Error("connection reset");
    },
  }));
  cluster.append(suppressionOf("u1"));
  const { followed, suppressions } = start();
  const heard: string[] = [];
  suppressions.onChange((userId) => heard.push(userId));
  await driver.during(followed.read);
  cluster.append(suppressionOf("u0"));
  await clock.advance(2_000);
  failures = 1;
  breakReading();
  cluster.append(suppressionOf("u2"));
  await clock.advance(12_000);
  expect([failures, followed.healthProblems(), heard]).toEqual([-1, [], ["u0", "u2"]]);
});

test("a key that is read before the users counts only when the users are known", async () => {
  let failures = 1;
  const { cluster, driver, start } = world((kafka) => ({
    read: async function* (range) {
      yield* kafka.read(range);
      if (failures-- > 0) throw new Error("connection reset");
    },
  }));
  cluster.append(keyRecord(TOPIC, Buffer.alloc(16, 9)));
  cluster.append(suppressionOf("u1"));
  const { followed, has } = start(true);
  const isKnown = followed.hasKey.then(() => has("u1"));
  await driver.during(isKnown);
  expect(await isKnown).toBe(true);
});

test("a key that cannot be written: the users are known, and health and log say why there is no key", async () => {
  const error = "TOPIC_AUTHORIZATION_FAILED";
  let isRefused = true;
  const { clock, driver, lines, start } = world(undefined, (own) => ({
    send: async (records, options) => {
      if (options?.giveBack === true)
        return records.map((record) => ({ record, error, blocked: "forbidden" }));
      while (isRefused) await clock.sleep(100, new AbortController().signal);
      return own.send(records, options);
    },
    blocked: () => (isRefused ? [{ topic: TOPIC, sinceMs: 1, by: "forbidden", error }] : []),
  }));
  const { followed } = start(true);
  await driver.during(followed.read);
  await clock.advance(5_000);
  expect(followed.healthProblems()).toEqual([
    expect.stringMatching(/no key .* the route stage does not start: .*TOPIC_AUTHORIZATION_FAILED/),
  ]);
  const logged = lines.filter(({ msg }) => msg === "suppressions.key-not-written");
  expect(logged).toMatchObject([{ topic: TOPIC, error }]);
  isRefused = false;
  await driver.during(followed.hasKey);
  expect(followed.healthProblems()).toEqual([]);
});

test("several first processes use the same key, and later ones find it", async () => {
  const { cluster, driver, start } = world();
  const both = [start(true), start(true)];
  for (const { followed } of both) await driver.during(followed.hasKey);
  await driver.until(() => cluster.records(TOPIC).length === 2);
  const [one, other] = both.map(({ suppressions }) => suppressions.keys[0]);
  expect(other).toEqual(one);
  const next = start(true);
  await driver.during(next.followed.read);
  expect(next.suppressions.keys[0]).toEqual(one);
  expect(cluster.records(TOPIC)).toHaveLength(2);
});

test("a process that writes no hashes does not write a key, and does not wait for one", async () => {
  const { clock, cluster, driver, start } = world();
  const { followed } = start(false);
  await driver.during(followed.read);
  await clock.advance(10_000);
  expect(cluster.records(TOPIC)).toEqual([]);
  cluster.append(keyRecord(TOPIC, Buffer.alloc(16, 9)));
  await clock.advance(2_000);
  expect(followed.suppressions.keys).toEqual([Buffer.alloc(16, 9)]);
});
