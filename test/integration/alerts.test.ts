// The alerts in a real Prometheus that scrapes the real program: none fires while everything works, and each of many
// fires for its cause.

import { readFileSync, writeFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createLog } from "../../src/base/telemetry/log.ts";
import type { Kafka } from "../../src/kafka/port.ts";
import { freePort } from "../../tools/kafka/free-port.ts";
import { type PrivateKafka, startKafka } from "../../tools/kafka/start.ts";
import { findPrometheus } from "../../tools/prometheus/find.ts";
import { startReceiver } from "../support/kit/receiver.ts";
import {
  type ProgramWorld,
  programWorld,
  type RunningProgram,
} from "../support/servers/program.ts";
import {
  hurriedRules,
  impatientRules,
  type Prometheus,
  RULES,
  startPrometheus,
} from "../support/servers/prometheus.ts";
import { testKafka } from "../support/worlds/test-kafka.ts";

/** Much more than an alert may take, because its time is not measured. */
const PATIENCE = { timeout: 120_000, interval: 500 };
/** Most rules wait for a minute or more, but not in this test. */
const MOMENT = { timeout: 60_000, interval: 500 };
/** Rounds of calls, with an evaluation of all rules after each. */
const ROUNDS = 5;
const found = await findPrometheus(new AbortController().signal, () => undefined);
const title = found.kind === "none" ? ` (left out: ${found.why})` : "";

let broker: PrivateKafka;
let world: ProgramWorld;
let program: RunningProgram;
let kafka: Kafka;
let admin = 0;
let ingest = 0;
const status = { well: 200, refusing: 400, failing: 503 };
const receiver = await startReceiver(({ path }) => status[path.slice(1) as keyof typeof status]);

beforeAll(async () => {
  if (found.kind === "none") return;
  broker = await startKafka({ private: true });
  admin = await freePort();
  ingest = await freePort();
  const url = (path: string) => `"${receiver.url}/${path}"`;
  world = programWorld(`
kafka: { brokers: ["${broker.brokers[0]}"], partitions: 1, createTopics: false }
registry: { url: "http://127.0.0.1:9/" }
sources:
  - { id: web, writeKey: k, destinations: [well, refusing, failing] }
  - { id: old, writeKey: of-off, destinations: [off] }
defaultSource: web
destinations:
  - { id: well, type: webhook, endpoints: [{ url: ${url("well")} }] }
  - { id: refusing, type: webhook, name: Refusing, endpoints: [{ url: ${url("refusing")} }] }
  - { id: failing, type: webhook, name: Failing, endpoints: [{ url: ${url("failing")} }] }
  - { id: off, type: webhook, name: Off, enabled: false, endpoints: [{ url: ${url("well")} }] }
audienceDefaults: { source: web, approvalShare: 0.1, integrations: { All: false } }
audience: { stateDir: state }
delivery: { timeout: 1s, retryWindow: 12s, retryDelays: [1s, 2s], allowNetworks: [127.0.0.0/8] }
ingest: { host: 127.0.0.1, port: ${ingest}, handover: 100ms }
admin: { host: 127.0.0.1, port: ${admin} }
`);
  const made = await world.command(["topics", "--apply"]);
  expect(made.err).toBe("");
  program = world.start();
  await program.logged("ready");
  const log = createLog("error", process.stderr);
  kafka = testKafka({ brokers: broker.brokers }, log);
});
afterAll(async () => {
  await kafka?.close();
  await world?.[Symbol.asyncDispose]();
  await broker?.stop();
  await receiver[Symbol.asyncDispose]();
});

function post(integrations: Readonly<Record<string, boolean>>, writeKey = "k"): Promise<number> {
  return fetch(`http://127.0.0.1:${ingest}/v1/track`, {
    method: "POST",
    headers: { authorization: `Basic ${btoa(`${writeKey}:`)}`, "content-type": "application/json" },
    body: JSON.stringify({ userId: "u1", event: "Order Completed", integrations }),
  }).then(({ status: responded }) => responded);
}

/** Returns the samples of stages whose consumers have an unknown lag. */
async function unknownLags(): Promise<readonly string[]> {
  const samples = await (await fetch(`http://127.0.0.1:${admin}/metrics`)).text();
  return samples
    .split("\n")
    .filter((line) => /^switchyard_consumers_with_unknown_lag\{.* [1-9]/.test(line));
}

const alert = (name: string) => `Switchyard${name}`;
const only = (name: string) => ({ All: false, [name]: true });

async function send(topic: string, value: Buffer): Promise<void> {
  const producer = kafka.producer();
  await producer.send([{ topic, key: Buffer.from("vip"), value, headers: [] }]);
  await producer.close(5_000);
}

function sync(syncId: string, userIds: readonly string[]): Promise<void> {
  const value = { type: "snapshot", audienceId: "vip", audienceName: "VIP", syncId, userIds };
  return send("switchyard.audience-syncs", Buffer.from(JSON.stringify(value)));
}

/**
 * Resolves when each alert has fired.
 *
 * @param trouble repeated until then, because a late scrape would not see a problem that ends immediately.
 */
async function fires(
  prometheus: Prometheus,
  names: readonly string[],
  healthProblem: () => Promise<unknown> = () => Promise.resolve(),
): Promise<void> {
  const fired = new Set<string>();
  const missing = async () => {
    await healthProblem();
    for (const name of await prometheus.firing()) fired.add(name);
    return names.filter((name) => !fired.has(name));
  };
  await expect.poll(missing, PATIENCE).toEqual([]);
}

function start(hasShortTimes: boolean): Promise<Prometheus> {
  if (found.kind === "none") throw new Error(found.why);
  const rules = impatientRules(RULES, hasShortTimes);
  return startPrometheus(found.folder, [`127.0.0.1:${admin}`], rules);
}

test("impatient rules wait for nothing, and keep limits that are no times", () => {
  expect(impatientRules(RULES, false).match(/for: \w+/g)).toContain("for: 0s");
  expect(impatientRules(RULES, false)).not.toMatch(/for: (?!0s)\w+$/m);
  expect(impatientRules(RULES, true)).not.toMatch(/> (?:300|1800|3600)$/m);
  expect(impatientRules(RULES, true)).toContain("> 0.9");
});

test("hurried rules have all their times shorter, and keep limits that are no times", () => {
  const rule = [
    "x offset 15m > 0 and rate(y[1h]) > 0.9 and ratio_rate5m > 300",
    "time() - min by (a) (z > 0) > 300,",
    "end - time() < 3600",
    "for: 5m",
  ];
  expect(hurriedRules(rule.join("\n"), 1).split("\n")).toEqual([
    "x offset 15s > 0 and rate(y[60s]) > 0.9 and ratio_rate5m > 5",
    "time() - min by (a) (z > 0) > 5,",
    "end - time() < 60",
    "for: 5s",
  ]);
  expect(hurriedRules("for: 15m", 2.5)).toBe("for: 38s");
  expect(hurriedRules(RULES, 1)).not.toMatch(/for: \d+m|[<>] (?:300|1800|3600)\b/);
});

test.skipIf(found.kind === "none")(
  `nothing fires while all is well and calls flow${title}`,
  async () => {
    // The lag of a member that has just joined is not known yet. The rule would wait for 10 minutes.
    await expect.poll(unknownLags, PATIENCE).toEqual([]);
    await using prometheus = await start(false);
    // Before the first scrape, no process is visible.
    await expect.poll(prometheus.firing, PATIENCE).toEqual(["SwitchyardAbsent"]);
    await expect.poll(prometheus.firing, PATIENCE).toEqual([]);
    for (let round = 0; round < ROUNDS; round += 1) {
      const responses = await Promise.all(Array.from({ length: 20 }, () => post(only("Webhooks"))));
      expect(new Set(responses)).toEqual(new Set([200]));
      // A short problem, such as a slow scrape or a late response, must not cause an alert yet.
      await expect.poll(prometheus.firing, MOMENT).toEqual([]);
      const now = Date.now();
      await expect.poll(prometheus.evaluatedAtMs, PATIENCE).toBeGreaterThan(now);
    }
  },
);

test.skipIf(found.kind === "none")(
  `each problem fires its alert${title}`,
  async () => {
    await using prometheus = await start(true);
    await sync("monday", ["a", "b"]);
    await sync("tuesday", []);
    const failing = () => Array.from({ length: 20 }, () => post(only("Failing")));
    const calls = () =>
      Promise.all([post(only("Refusing")), post(only("Off"), "of-off"), ...failing()]);
    const ofCalls = ["DeadLetters", "CallsSkipped", "AudienceSyncAwaitingApproval"];
    const ofDestinations = ["DestinationFailing", "DestinationOnHold", "DeliveriesExpired"];
    await fires(prometheus, [...ofCalls, ...ofDestinations].map(alert), calls);

    const good = readFileSync(world.file, "utf8");
    writeFileSync(world.file, good.replace("retryWindow: 12s", "retryWindow: never"));
    await fires(prometheus, ["SwitchyardConfigInvalid"]);
    const added = "  - { id: added, type: topic, name: Added }\naudienceDefaults:";
    writeFileSync(world.file, good.replace("audienceDefaults:", added));
    await fires(prometheus, ["SwitchyardDestinationTopicsMissing"]);

    await kafka.admin.deleteTopics(["switchyard.deliveries.well"]);
    await post(only("Webhooks"));
    await fires(prometheus, ["SwitchyardTopicNotWritable"]);
    // Nobody has registered this schema, so the route stage waits for the registry.
    await send("switchyard.calls", Buffer.from([0, 0, 0, 0, 7, 2]));
    await fires(prometheus, ["SwitchyardRegistryUnreachable"]);

    await kafka.close();
    await broker.kill();
    // Repeated until the rejections exceed the budget's share of all requests.
    const refused = async () => expect(await post(only("Webhooks"))).toBe(503);
    await fires(
      prometheus,
      ["SwitchyardKafkaUnreachable", "SwitchyardIngestErrorBudgetBurnFast"],
      refused,
    );
    await program.kill();
    await fires(prometheus, ["SwitchyardTargetDown", "SwitchyardAbsent"]);
  },
  900_000,
);
