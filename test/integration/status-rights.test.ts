// If something cannot be read from Kafka because of a missing permission, or does not exist, the reason is shown
// instead: in `status`, in `status --json` and in the console. Everything else is shown. On a broker with an
// authorizer.

import { randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createLog } from "../../src/base/telemetry/log.ts";
import { deliveryHeaders } from "../../src/domain/delivery.ts";
import type { DestinationId, MessageId } from "../../src/domain/ids.ts";
import type { Grant } from "../../src/domain/permissions.ts";
import { createKafka } from "../../src/kafka/kafka.ts";
import type { Kafka } from "../../src/kafka/port.ts";
import { kafkaConnection } from "../../src/operator/connect/connection.ts";
import { createConsoleReader } from "../../src/operator/console/read/console-reader.ts";
import type { StatusReport } from "../../src/operator/look/status-report.ts";
import { resumeRecord } from "../../src/router/control/operator-actions.ts";
import { deliveryOf } from "../support/build/webhook-destination.ts";
import { JAVA } from "../support/kit/java.ts";
import { loaded, runCommand } from "../support/kit/program.ts";
import {
  type GuardedBroker,
  PASSWORD,
  startGuardedBroker,
} from "../support/servers/guarded-broker.ts";
import { testKafka } from "../support/worlds/test-kafka.ts";

const PREFIX = "seen.";
const USER = "viewer";
const IDS = Array.from({ length: 20 }, (_, number) => `d${number}`);
const OWN = [
  ...["calls", "delays.10s", "delays.10m", "dead-letters", "operator-actions"],
  ...["audience-syncs", "deletion-requests", "dead-letter-replays"],
];
const LINES = IDS.map((id) => `deliveries.${id}`);
const RETRIES = IDS.map((id) => `retries.${id}`);
const GROUPS = ["route", "audience", "deletion", "delay.10s", "delay.10m"];
const TIMEOUT_MS = 120_000;
const quiet = createLog("error", { write: () => undefined });
const never = new AbortController().signal;
let broker: GuardedBroker | null = null;
let file = "";

function configuration(address: string) {
  const hook = (id: string) => {
    return { id, type: "webhook", name: id, endpoints: [{ url: `https://${id}.example.com/` }] };
  };
  const sasl = { mechanism: "plain", username: USER, password: PASSWORD };
  return {
    kafka: { brokers: [address], topicPrefix: PREFIX, sasl },
    sources: [{ id: "web", destinations: IDS }],
    defaultSource: "web",
    destinations: IDS.map(hook),
    delivery: { retryDelays: ["10s", "10m"] },
  };
}

const grantOf = (
  on: "topic" | "group",
  names: readonly string[],
  ...operations: Grant["operations"]
): Grant => {
  return { on, names: names.map((name) => PREFIX + name), pattern: "literal", operations };
};

/** Writes two deliveries to the queue of each destination, and one that waits for ten minutes. One topic is missing. */
async function fill(open: string): Promise<void> {
  const kafka = testKafka({ brokers: [open] });
  await using _closing = { [Symbol.asyncDispose]: () => kafka.close() };
  await kafka.admin.create(
    [...OWN, ...LINES.slice(0, -1), ...RETRIES].map((name) => {
      return { name: PREFIX + name, partitions: 1, replicationFactor: 1, config: {} };
    }),
  );
  const producer = kafka.producer();
  const nowMs = Date.now();
  const record = (topic: string, id: string, isScheduled: boolean) => {
    const scheduled = {
      attempt: 1,
      retryCount: 1,
      firstAttemptAtMs: nowMs,
      dueAtMs: nowMs + 600_000,
    };
    const messageId = randomUUID() as MessageId;
    const of = { destination: id as DestinationId, messageId, ...(isScheduled ? scheduled : {}) };
    const headers = deliveryHeaders(deliveryOf(of));
    return { topic: PREFIX + topic, partition: 0, key: null, value: Buffer.from("{}"), headers };
  };
  const all = IDS.slice(0, -1).flatMap((id) => [
    record(`deliveries.${id}`, id, false),
    record(`deliveries.${id}`, id, false),
    record("delays.10m", id, true),
  ]);
  const operation = resumeRecord(`${PREFIX}operator-actions`, "d0" as DestinationId);
  expect(await producer.send([...all, operation])).toEqual([]);
  await producer.close(5_000);
}

beforeAll(async () => {
  if (JAVA === null) return;
  broker = await startGuardedBroker(JAVA, [USER]);
  file = join(broker.directory, "switchyard.yaml");
  // JSON is valid YAML.
  writeFileSync(file, JSON.stringify(configuration(broker.guardedAddress)));
  await broker.grant(USER, [
    grantOf("topic", [...OWN, ...LINES, ...RETRIES], "Read", "Describe"),
    grantOf("group", [...GROUPS, ...IDS.map((id) => `deliver.${id}`)], "Describe"),
  ]);
  await fill(broker.openAddress);
});

afterAll(() => broker?.stop());

/** Returns all three views. */
async function seen() {
  const text = await runCommand(file, ["status"]);
  const json = await runCommand(file, ["status", "--json"]);
  const load = () => loaded(file);
  const kafka: Kafka = createKafka(kafkaConnection(load().config), quiet);
  await using _closing = { [Symbol.asyncDispose]: () => kafka.close() };
  const useKafka = <Result>(work: (one: Kafka) => Promise<Result>) => work(kafka);
  const reader = createConsoleReader({ current: load, load, admins: [], useKafka });
  const { healthProblems, report: page } = await reader.pollOnce(never);
  const report = JSON.parse(json.out) as StatusReport;
  return { exits: [text.status, json.status], text: text.out, report, page, healthProblems };
}

interface Case {
  readonly missing: Grant;
  /** The start of the line below the tables. */
  readonly says: string;
  /** Destinations whose BACKLOG is unknown. */
  readonly unknown?: readonly string[];
  /** True if AWAITING RETRY is unknown. */
  readonly isAwaitingUnknown?: boolean;
}

const all = (topic: string) => grantOf("topic", [topic], "Read", "Describe");
const read = (topic: string) => grantOf("topic", [topic], "Read");
const group = (name: string) => grantOf("group", [name], "Describe");

const CASES: readonly Case[] = [
  { missing: group("deliver.d7"), says: "d7: ", unknown: ["d7"] },
  { missing: all("deliveries.d3"), says: "d3: ", unknown: ["d3"] },
  { missing: all("retries.d4"), says: "d4: ", unknown: ["d4"] },
  { missing: read("deliveries.d5"), says: "d5: " },
  { missing: read("delays.10m"), says: "AWAITING RETRY is unknown: ", isAwaitingUnknown: true },
  { missing: all("delays.10m"), says: "delay 10m: ", isAwaitingUnknown: true },
  { missing: group("delay.10m"), says: "delay 10m: ", isAwaitingUnknown: true },
  {
    missing: read("operator-actions"),
    says: "AWAITING RETRY is unknown: ",
    isAwaitingUnknown: true,
  },
  {
    missing: all("operator-actions"),
    says: "AWAITING RETRY is unknown: ",
    isAwaitingUnknown: true,
  },
  { missing: group("route"), says: "route: " },
  { missing: all("calls"), says: "route: " },
  { missing: all("dead-letters"), says: "Dead letters: " },
];

const given = CASES.map((each) => {
  const { operations, on, names } = each.missing;
  return { name: `${operations.join(" and ")} on the ${on} ${names[0]}`, ...each };
});

describe.skipIf(JAVA === null)("a broker with an authorizer (needs Java)", () => {
  test("a topic that is missing is named, and everything else is known", {
    timeout: TIMEOUT_MS,
  }, async () => {
    const { exits, text, report, healthProblems } = await seen();
    expect(exits).toEqual([0, 0]);
    expect(text).toContain("d19: the topic seen.deliveries.d19 does not exist.\n");
    expect(report.unknown).toEqual([]);
    const counts = report.destinations.map((each) => [each.waiting, each.awaitingRetry]);
    expect(
      counts.filter(([waiting, awaitingRetry]) => waiting === 2 && awaitingRetry === 1),
    ).toHaveLength(19);
    expect(healthProblems.map((each) => each.text)).toEqual([
      expect.stringContaining("No processes are known"),
    ]);
  });

  test.each(given)("without $name", async (each) => {
    const { missing, says, unknown = [], isAwaitingUnknown = false } = each;
    await broker?.revoke(USER, [missing]);
    try {
      // The broker applies the change a moment later.
      await expect.poll(async () => (await seen()).exits[0]).toBe(1);
      const { exits, text, report, page, healthProblems } = await seen();
      expect(exits).toEqual([1, 1]);
      const operation = missing.operations.includes("Describe") ? "Describe" : "Read";
      const permission = `the permission ${operation} on the ${missing.on} ${missing.names[0]}`;
      const line = text.split("\n").find((one) => one.startsWith(says) && one.includes(permission));
      expect([text, line]).toEqual([text, expect.any(String)]);
      expect(report.unknown).not.toEqual([]);
      const views = [
        report.destinations.map(({ destination, waiting, awaitingRetry }) => {
          return [destination, waiting, awaitingRetry];
        }),
        page.destinations.map((one) => [one.destination, one.waiting, one.awaitingRetry]),
      ];
      for (const view of views) {
        const expected = IDS.map((id) => {
          const isKnown = id !== "d19" && !unknown.includes(id);
          const awaitingRetry = id === "d19" ? 0 : 1;
          return [id, isKnown ? 2 : null, isAwaitingUnknown ? null : awaitingRetry];
        });
        expect(view.toSorted()).toEqual(expected.toSorted());
      }
      expect(page.kafkaError).toBeNull();
      const problems = healthProblems.map((one) => one.text);
      expect(problems).toContain(`Incomplete: ${report.unknown[0]}.`);
    } finally {
      await broker?.grant(USER, [missing]);
      await expect.poll(async () => (await seen()).exits[0]).toBe(0);
    }
  });

  test.each([
    all("deliveries.d0"),
    all("retries.d0"),
    all("delays.10m"),
    read("delays.10m"),
    group("deliver.d0"),
    group("delay.10m"),
    all("operator-actions"),
  ])(
    "wait reports what it may not see: $operations on the $on $names",
    { timeout: TIMEOUT_MS },
    async (missing) => {
      const drained = async () => {
        const { status, out, err } = await runCommand(file, ["wait", "d0", "--timeout", "1ms"]);
        return `${status} ${out} ${err}`;
      };
      const known = "3 left: 2 queued, 0 due, 1 awaiting retry";
      await expect.poll(drained).toContain(known);
      await broker?.revoke(USER, [missing]);
      try {
        const [operation] = missing.operations.toReversed();
        const permission = `the permission ${operation} on the ${missing.on} ${missing.names[0]}`;
        await expect.poll(drained).toContain(permission);
      } finally {
        await broker?.grant(USER, [missing]);
      }
    },
  );
});
