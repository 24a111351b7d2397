// The table of follow-suppressions.ts, on a Kafka in memory.

import { expect, onTestFinished, test } from "vitest";
import { createMetrics } from "../../../../src/base/telemetry/instruments.ts";
import type { Kafka } from "../../../../src/kafka/port.ts";
import { FollowedSuppressions } from "../../../../src/router/suppression/follow-suppressions.ts";
import { keyRecord, liftRecord } from "../../../../src/router/suppression/suppression-record.ts";
import { suppressionOf } from "../../../support/build/suppressions.ts";
import { clockDriver } from "../../../support/clock/clock-driver.ts";
import { ManualClock } from "../../../support/clock/manual-clock.ts";
import { createPrng } from "../../../support/clock/prng.ts";
import { parsedLog } from "../../../support/log/parsed-log.ts";
import { MemoryCluster } from "../../../support/memory-kafka/memory-kafka.ts";

const TOPIC = "sw.suppressions";

function world(kafkaOf: (kafka: Kafka) => Kafka = (one) => one) {
  const clock = new ManualClock();
  const cluster = new MemoryCluster({ clock, random: createPrng(1) });
  cluster.createTopic(TOPIC, 1);
  const { log, lines } = parsedLog();
  const driver = clockDriver(clock);
  let started = 0;
  const start = (needsKey = false) => {
    const kafka = kafkaOf(cluster.connect());
    const producer = kafka.producer();
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
  const messages = () => lines.map(({ msg }) => msg).filter((msg) => `${msg}`.includes("suppress"));
  return { clock, cluster, driver, lines, messages, start };
}

test("users are known when the topic was read whole, and each change soon after it is written", async () => {
  const { clock, cluster, driver, start } = world();
  for (const userId of ["u1", "u2"]) cluster.append(suppressionOf(userId));
  cluster.append(liftRecord(TOPIC, "u2"));
  const { followed, suppressions, has } = start();
  const heard: string[] = [];
  suppressions.onChange((userId) => heard.push(userId));
  await driver.during(followed.known);
  expect([has("u1"), has("u2"), suppressions.size]).toEqual([true, false, 1]);
  cluster.append(suppressionOf("u3"));
  cluster.append(liftRecord(TOPIC, "u1"));
  await clock.advance(2_000);
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
  await driver.during(followed.known);
  expect([has("u1"), has("jane"), has("joe")]).toEqual([true, false, false]);
  for (const each of bad) cluster.append({ topic: TOPIC, headers: [], ...each });
  cluster.append(suppressionOf("u2"));
  await clock.advance(2_000);
  expect(has("u2")).toBe(true);
  const logged = lines.filter(({ msg }) => msg === "suppressions.invalid-record");
  expect(logged.map(({ offset }) => offset)).toEqual([0, 1, 2, 4, 5, 6]);
  expect(JSON.stringify(lines)).not.toMatch(/jane|joe|u1/);
});

test("while the topic cannot be read, no stage starts, without a limit; health says why", async () => {
  let isRefused = true;
  const { clock, cluster, messages, start } = world((kafka) => ({
    ...kafka,
    admin: kafka.admin,
    producer: () => kafka.producer(),
    follow: (range) => kafka.follow(range),
    read: (range) => {
      if (isRefused) throw new Error("Not authorized");
      return kafka.read(range);
    },
  }));
  cluster.append(suppressionOf("u1"));
  const { followed, has } = start();
  let isKnown = false;
  void followed.known.then(() => {
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
  await driver.during(followed.known);
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
  const { clock, cluster, driver, messages, start } = world();
  for (const userId of ["u1", "u2", "u3"]) cluster.append(suppressionOf(userId));
  const { followed, suppressions, has } = start(true);
  await driver.during(followed.known);
  const key = suppressions.key;
  await driver.during(cluster.connect().admin.deleteTopics([TOPIC]));
  cluster.createTopic(TOPIC, 1);
  cluster.append(suppressionOf("u4"));
  await clock.advance(6_000);
  expect(["u1", "u2", "u3", "u4"].map(has)).toEqual([true, true, true, true]);
  expect(followed.healthProblems()).toEqual([expect.stringContaining("The 3 users")]);
  expect(messages()).toEqual(["suppressions.lost"]);
  cluster.append(liftRecord(TOPIC, "u1"));
  await clock.advance(2_000);
  expect(has("u1")).toBe(false);
  // The next process finds the same key.
  const next = start(true);
  await driver.during(next.followed.known);
  expect(next.suppressions.key).toEqual(key);
  expect([next.has("u2"), next.has("u4")]).toEqual([false, true]);
});

test("several first processes agree on one key, and later ones find it", async () => {
  const { cluster, driver, start } = world();
  const both = [start(true), start(true)];
  for (const { followed } of both) await driver.during(followed.known);
  await driver.until(() => cluster.records(TOPIC).length === 2);
  const [one, other] = both.map(({ suppressions }) => suppressions.key);
  expect(other).toEqual(one);
  const next = start(true);
  await driver.during(next.followed.known);
  expect(next.suppressions.key).toEqual(one);
  expect(cluster.records(TOPIC)).toHaveLength(2);
});

test("a process that writes no hashes does not write a key, and does not wait for one", async () => {
  const { clock, cluster, driver, start } = world();
  const { followed } = start(false);
  await driver.during(followed.known);
  await clock.advance(10_000);
  expect(cluster.records(TOPIC)).toEqual([]);
  cluster.append(keyRecord(TOPIC, Buffer.alloc(16, 9)));
  await clock.advance(2_000);
  expect(followed.suppressions.key).toEqual(Buffer.alloc(16, 9));
});
