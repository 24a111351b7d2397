// The table of follow-operator-actions.ts, on a Kafka in memory.

import { describe, expect, onTestFinished, test } from "vitest";
import { CorruptBatchError } from "../../../../src/domain/corrupt-batch.ts";
import { endpointKey } from "../../../../src/domain/destination.ts";
import type { DestinationId } from "../../../../src/domain/ids.ts";
import type { IncomingRecord } from "../../../../src/domain/record.ts";
import { ConnectionClosedError, RequestTimeoutError } from "../../../../src/kafka/broker/errors.ts";
import { errorType, patienceMs, protocolError } from "../../../../src/kafka/cluster/kafka-error.ts";
import {
  followOperatorActions,
  type OperatorActionsDeps,
} from "../../../../src/router/control/follow-operator-actions.ts";
import { OPERATIONS_MAX } from "../../../../src/router/control/operator-action-state.ts";
import {
  type EndpointNews,
  earlyReleaseRecord,
  endpointRecord,
  pauseRecord,
  resumeRecord,
} from "../../../../src/router/control/operator-actions.ts";
import { clockDriver } from "../../../support/clock/clock-driver.ts";
import { ManualClock } from "../../../support/clock/manual-clock.ts";
import { createPrng } from "../../../support/clock/prng.ts";
import { parsedLog } from "../../../support/log/parsed-log.ts";
import { MemoryCluster } from "../../../support/memory-kafka/memory-kafka.ts";

const TOPIC = "sw.operator-actions";
const crm = "crm" as DestinationId;

function world(
  kafkaOf: (kafka: OperatorActionsDeps["kafka"]) => OperatorActionsDeps["kafka"] = (one) => one,
) {
  const clock = new ManualClock();
  const cluster = new MemoryCluster({ clock, random: createPrng(1) });
  cluster.createTopic(TOPIC, 1);
  const { log, lines } = parsedLog();
  const driver = clockDriver(clock);
  const kafka = kafkaOf(cluster.connect());
  const unreachable = { now: false };
  const start = () => {
    const operatorActions = followOperatorActions(
      { kafka, clock, log, isUnreachable: () => unreachable.now, patienceMs },
      TOPIC,
    );
    onTestFinished(() => operatorActions[Symbol.dispose]());
    return operatorActions;
  };
  const pause = (untilMs: number | null = null) =>
    cluster.append(
      pauseRecord(TOPIC, { destination: crm, sinceMs: clock.nowMs(), by: "command", untilMs }),
    );
  return { clock, cluster, lines, driver, unreachable, start, pause };
}

test("it is known when the topic was read whole, and each record soon after it is written", async () => {
  const { cluster, clock, driver, start, pause } = world();
  pause();
  const operatorActions = start();
  await driver.during(operatorActions.known);
  expect(operatorActions.pauseOf(crm)).toMatchObject({ by: "command" });
  const reported: string[] = [];
  const end = operatorActions.onChange((destination) => reported.push(destination));
  cluster.append(resumeRecord(TOPIC, crm));
  await clock.advance(2_000);
  expect(operatorActions.pauseOf(crm)).toBeNull();
  expect(reported).toEqual(["crm"]);
  end();
  pause();
  await clock.advance(2_000);
  expect(operatorActions.pauseOf(crm)).not.toBeNull();
  expect(reported).toEqual(["crm"]);
  expect(operatorActions.healthProblems()).toEqual([]);
});

test("corrupt and unknown records are reported and passed over", async () => {
  const { cluster, clock, lines, driver, start, pause } = world();
  const text = (key: string | null, value: string) =>
    cluster.append({
      topic: TOPIC,
      key: key === null ? null : Buffer.from(key),
      value: Buffer.from(value),
      headers: [],
    });
  text(null, "x");
  text("later/crm", '{"v":2}');
  const operatorActions = start();
  await driver.during(operatorActions.known);
  text("pause/crm", "{");
  pause();
  await clock.advance(2_000);
  expect(operatorActions.pauseOf(crm)).not.toBeNull();
  const refused = lines.filter(({ msg }) => msg === "operator-actions.invalid-record");
  expect(refused.map(({ offset }) => offset)).toEqual([0, 1, 2]);
});

test("a kind of action of which there are too many is a health problem, and others still apply", async () => {
  const { cluster, clock, driver, start, pause } = world();
  for (let at = 0; at < OPERATIONS_MAX["retries and cancellations"]; at += 1) {
    const of = { kind: "retry", atMs: 0, by: "command", receivedBeforeMs: null } as const;
    const destination = `d${at}` as DestinationId;
    cluster.append(earlyReleaseRecord(TOPIC, { ...of, destination, id: "p" }));
  }
  const operatorActions = start();
  await driver.during(operatorActions.known);
  pause();
  await clock.advance(2_000);
  expect(operatorActions.pauseOf(crm)).not.toBeNull();
  expect(operatorActions.healthProblems()).toEqual([
    `the topic ${TOPIC} contains too many retries and cancellations, so later ones are ignored`,
  ]);
});

test("listeners are reported when a pause is over by its time", async () => {
  const { clock, driver, start, pause } = world();
  const operatorActions = start();
  await driver.during(operatorActions.known);
  pause(clock.nowMs() + 100_000);
  await clock.advance(1_000);
  const reported: number[] = [];
  operatorActions.onChange(() => reported.push(clock.nowMs()));
  await clock.advance(98_000);
  expect(reported).toEqual([]);
  await clock.advance(2_000);
  expect(reported).toHaveLength(1);
  expect(operatorActions.pauseOf(crm)).toBeNull();
});

// A timer of Node can fire under a millisecond before the time on the clock, and much later if the process is busy.
test("each end of 600 pauses is reported once, whatever fires early, late or in between", async () => {
  const random = createPrng(51);
  const { clock, cluster, driver, start } = world();
  const sleep = clock.sleep.bind(clock);
  const offsMs = [-1, -1, 0, 3, 20];
  clock.sleep = (ms, signal) => sleep(Math.max(0, ms + random.pick(offsMs)), signal);
  const operatorActions = start();
  await driver.during(operatorActions.known);
  const reported = new Map<string, number>();
  operatorActions.onChange((destination) => {
    if (operatorActions.pauseOf(destination) !== null) return;
    reported.set(destination, (reported.get(destination) ?? 0) + 1);
  });
  const all = Array.from({ length: 600 }, (_, at) => `d${at}` as DestinationId);
  const pause = (destination: DestinationId, untilMs: number | null) =>
    cluster.append(
      pauseRecord(TOPIC, { destination, sinceMs: clock.nowMs(), by: "command", untilMs }),
    );
  for (const destination of all) {
    pause(destination, clock.nowMs() + random.integer(400, 900));
    await clock.advanceUntil(() => operatorActions.pauseOf(destination) !== null, 350);
    await clock.advance(random.integer(1, 900));
    if (random.chance(0.5)) pause(crm, null);
  }
  await clock.advance(1_000);
  expect(all.filter((destination) => reported.get(destination) !== 1)).toEqual([]);
});

test("a topic that cannot be read is reported, keeps what is known, and is read when it can be", async () => {
  let isRefused = false;
  const refuse = () => {
    if (isRefused) throw new Error("Not authorized to access topics");
  };
  const { unreachable, cluster, clock, lines, driver, start, pause } = world((kafka) => ({
    admin: kafka.admin,
    read: (range) => {
      refuse();
      return kafka.read(range);
    },
    follow: async function* (range): AsyncGenerator<readonly IncomingRecord[]> {
      for await (const records of kafka.follow(range)) {
        refuse();
        yield records;
      }
    },
  }));
  isRefused = true;
  pause();
  // For an unreachable broker, there is a separate log line.
  unreachable.now = true;
  const operatorActions = start();
  await driver.during(operatorActions.known);
  expect(operatorActions.pauseOf(crm)).toBeNull();
  expect(operatorActions.healthProblems()).toEqual([expect.stringContaining("Not authorized")]);
  await clock.advance(60_000);
  expect(lines.filter(({ msg }) => msg === "operator-actions.read-failed")).toEqual([]);
  unreachable.now = false;
  await clock.advance(60_000);
  expect(lines.filter(({ msg }) => msg === "operator-actions.read-failed")).toHaveLength(1);
  isRefused = false;
  await clock.advance(6_000);
  expect(operatorActions.healthProblems()).toEqual([]);
  expect(operatorActions.pauseOf(crm)).not.toBeNull();
  isRefused = true;
  cluster.append(resumeRecord(TOPIC, crm));
  await clock.advance(6_000);
  expect(operatorActions.pauseOf(crm)).not.toBeNull();
  expect(operatorActions.healthProblems()).toHaveLength(1);
  isRefused = false;
  await clock.advance(6_000);
  expect(operatorActions.pauseOf(crm)).toBeNull();
});

describe("at the start, if the topic cannot be read", () => {
  const code = (type: string) =>
    Array.from({ length: 100 }, (_, at) => at).find((at) => errorType(at) === type) ?? -1;
  const cannotRead = (cause: Error) => new Error("cannot read partition 0", { cause });

  /** A process that starts while reads fail, and the seconds after which it starts its stages. */
  function failing(error: Error) {
    const failures = { left: Number.POSITIVE_INFINITY, seen: 0 };
    const one = world((kafka) => ({
      follow: (range) => kafka.follow(range),
      admin: kafka.admin,
      read: (range) => {
        if (failures.left === 0) return kafka.read(range);
        failures.left -= 1;
        failures.seen += 1;
        throw cannotRead(error);
      },
    }));
    one.pause();
    const { clock } = one;
    const operatorActions = one.start();
    const startedMs = clock.nowMs();
    const known = operatorActions.known.then(() => Math.floor((clock.nowMs() - startedMs) / 1_000));
    return { ...one, failures, operatorActions, known };
  }

  test.each([
    ["no permission", protocolError(code("TOPIC_AUTHORIZATION_FAILED")), 0, 1],
    ["a corrupt batch", new CorruptBatchError("its checksum is wrong", 3), 0, 1],
    ["an unknown topic", protocolError(code("UNKNOWN_TOPIC_OR_PARTITION")), 15, 16],
    ["a reset connection", new ConnectionClosedError("read ECONNRESET"), 30, 30],
    ["no response", new RequestTimeoutError("no response within 5 s"), 30, 30],
    ["no leader", protocolError(code("LEADER_NOT_AVAILABLE")), 30, 30],
    ["a response that makes no sense", new Error("it ends in a field"), 30, 30],
  ])("%s: it waits as long as that may pass", async (_name, error, seconds, attempts) => {
    const { driver, failures, known } = failing(error);
    expect(await driver.during(known)).toBe(seconds);
    expect(failures.seen).toBe(attempts);
  });

  test("a connection that was reset once lets no delivery pass a pause", async () => {
    const { driver, failures, known, operatorActions } = failing(
      new ConnectionClosedError("read ECONNRESET"),
    );
    failures.left = 1;
    await driver.during(known);
    expect(operatorActions.pauseOf(crm)).not.toBeNull();
    expect(operatorActions.healthProblems()).toEqual([]);
  });

  test("after the start it is read every 5 s", async () => {
    const { clock, driver, failures, known } = failing(new ConnectionClosedError("ECONNRESET"));
    await driver.during(known);
    failures.seen = 0;
    await clock.advance(60_000);
    expect(failures.seen).toBe(12);
  });
});

test("nobody waits for longer than half a minute", async () => {
  const { cluster, clock, start } = world();
  cluster.goDown();
  let isKnown = false;
  void start().known.then(() => {
    isKnown = true;
  });
  await clock.advance(29_000);
  expect(isKnown).toBe(false);
  await clock.advance(2_000);
  expect(isKnown).toBe(true);
});

test("news of an endpoint are reported as they are written, and those of before are not", async () => {
  const { cluster, clock, driver, lines, start } = world();
  const news = (process: string): EndpointNews => ({
    ...{ destination: crm, id: "1", endpoint: endpointKey("http://a.test/"), process },
    ...{ news: "accepts", forMs: 0 },
  });
  cluster.append(endpointRecord(TOPIC, news("before")));
  const operatorActions = start();
  await driver.during(operatorActions.known);
  const reported: string[] = [];
  const end = operatorActions.onNews(({ process }) => reported.push(process));
  cluster.append(endpointRecord(TOPIC, news("now")));
  await clock.advance(2_000);
  end();
  cluster.append(endpointRecord(TOPIC, news("later")));
  await clock.advance(2_000);
  expect(reported).toEqual(["now"]);
  expect(lines).toEqual([]);
});
