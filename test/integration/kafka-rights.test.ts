// Each role does its work on a broker that grants it exactly the permissions that `switchyard acls` prints.

import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { Kafka as KafkajsClient } from "kafkajs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createLog } from "../../src/base/telemetry/log.ts";
import {
  COMMAND_ROLES,
  grantsOf,
  ROLE_NAMES,
  type RoleName,
} from "../../src/domain/permissions.ts";
import { STAGE_NAMES } from "../../src/domain/stages.ts";
import { groupNames, topicNames } from "../../src/domain/topics.ts";
import { createKafka } from "../../src/kafka/kafka.ts";
import type { Kafka } from "../../src/kafka/port.ts";
import { kafkaConnection } from "../../src/operator/connect/connection.ts";
import { runProgram } from "../../src/program/cli/program.ts";
import { groupOf } from "../../src/program/cli/skip-corrupt-batch/command.ts";
import { skipCorrupt } from "../../src/program/cli/skip-corrupt-batch/skip-corrupt-batch.ts";
import { freePort } from "../../tools/kafka/free-port.ts";
import { buildPage } from "../../tools/page/build.ts";
import { JAVA } from "../support/kit/java.ts";
import { loaded, runCommand, useRun } from "../support/kit/program.ts";
import { type Receiver, startReceiver } from "../support/kit/receiver.ts";
import {
  type GuardedBroker,
  PASSWORD,
  startGuardedBroker,
} from "../support/servers/guarded-broker.ts";
import { fakeShell } from "../support/worlds/fake-shell.ts";

const PREFIX = "rights.";
const quiet = createLog("error", { write: () => undefined });
const never = new AbortController().signal;
const cleanUp = new AsyncDisposableStack();
let broker: GuardedBroker;

let receiver: Receiver;

interface Ports {
  readonly admin: number;
  readonly ingest: number;
  readonly page?: number;
}

/** The calls of the test, which were received less than two minutes ago. */
const TO_THE_END = ["--since", "1h", "--until", new Date(Date.now() + 3_600_000).toISOString()];

/** Writes the configuration file of a process that authenticates as the role. */
function fileOf(role: RoleName, ports: Ports) {
  const webhook = (id: string) => ({
    ...{ id, type: "webhook", order: id === "retry" ? "strict" : "loose" },
    endpoints: [{ url: `${receiver.url}/${id}` }],
  });
  const ids = ["hook", "retry", "reject"];
  const file = join(broker.directory, `${role}.yaml`);
  const sasl = { mechanism: "plain", username: `switchyard-${role}`, password: PASSWORD };
  const brokers = [broker.guardedAddress];
  const options = {
    kafka: { brokers, topicPrefix: PREFIX, partitions: 2, createTopics: false, sasl },
    sources: [{ id: "web", writeKey: "k", destinations: ids }],
    defaultSource: "web",
    destinations: ids.map(webhook),
    delivery: { retryDelays: ["1s"], allowNetworks: ["127.0.0.0/8"] },
    ingest: { host: "127.0.0.1", port: ports.ingest, handover: "100ms" },
    admin: { host: "127.0.0.1", port: ports.admin },
    console: { port: ports.page ?? 3, readOnly: false },
    audience: { stateDir: join(broker.directory, "state") },
    attempts: { enabled: true },
  };
  // JSON is valid YAML.
  writeFileSync(file, JSON.stringify(options));
  return file;
}

/** Returns the exit status of a command that authenticates as the role. */
async function command(role: RoleName, args: readonly string[], input = ""): Promise<number> {
  const file = fileOf(role, { admin: 1, ingest: 2 });
  const { status, out, err } = await runCommand(file, args, input);
  if (status !== 0) throw new Error(`${args.join(" ")}: ${out}${err}`);
  return status;
}

/** Grants the permissions with Kafka's own tool, with the printed commands. */
async function grantByTool(role: RoleName, javaPath: string, jars: string): Promise<void> {
  const shell = fakeShell();
  const tool = `${javaPath} -cp '${join(jars, "*")}' org.apache.kafka.tools.AclCommand`;
  const file = fileOf(role, { admin: 1, ingest: 2 });
  await runProgram(["acls", "--roles", role, "--tool", tool, "--config", file], shell);
  const guarded = broker.guardedAddress;
  const lines = shell.output().split("\n");
  for (const line of lines.filter((each) => each !== "" && !each.startsWith("#"))) {
    await promisify(execFile)("sh", ["-c", line.replace(guarded, broker.openAddress)]);
  }
}

beforeAll(async () => {
  if (JAVA === null) return;
  const users = ROLE_NAMES.map((role) => `switchyard-${role}`);
  broker = await startGuardedBroker(JAVA, users);
  cleanUp.defer(broker.stop);
  // It responds 503 to the first request of `/retry`, and 400 to all of `/reject`.
  receiver = await startReceiver(({ path, earlier }) =>
    path === "/reject" ? 400 : path === "/retry" && earlier === 0 ? 503 : 200,
  );
  cleanUp.use(receiver);
  // The stage `console` serves the console.
  await buildPage();
  const [topics, groups] = [topicNames(PREFIX), groupNames(PREFIX)];
  for (const role of ROLE_NAMES.filter((each) => each !== "delay")) {
    const rules = { makesTopics: false, acts: true };
    await broker.grant(`switchyard-${role}`, grantsOf(role, topics, groups, rules));
  }
  await grantByTool("delay", JAVA.java, JAVA.jars);
});

afterAll(() => cleanUp.disposeAsync());

/** Skips one batch of each kind of topic. The batch is intact, but is treated as corrupt. */
async function skipAll(): Promise<void> {
  const role = "skip-corrupt-batch";
  const file = fileOf(role, { admin: 1, ingest: 2 });
  const { config } = loaded(file);
  const whole = await runCommand(file, [role, `${PREFIX}calls`, "0", "0"]);
  expect(whole.status).toBe(1);
  expect(whole.err).toMatch(/has already passed offset 0|is intact/);

  const kafka = createKafka(kafkaConnection(config), quiet);
  await using _kafka = { [Symbol.asyncDispose]: () => kafka.close() };
  const kinds = ["calls", "audience-syncs", "deletion-requests", "deliveries.hook"];
  for (const kind of [...kinds, "retries.retry", "delays.1s"]) {
    const topic = PREFIX + kind;
    const group = groupOf(topic, config) ?? "";
    const corruptFrom: Kafka = {
      ...kafka,
      corruptionAt: async (at) => {
        await kafka.corruptionAt(at);
        return { ...at, behind: at.offset + 1, isEndKnown: true, corruption: "none" };
      },
    };
    const at = await kafka.admin.committed(group, topic);
    const first = { partition: 0, offset: (await kafka.admin.offsets(topic))[0]?.first ?? 0 };
    const { partition, offset } = at[0] ?? first;
    const options = { topic, partition, offset, group, dryRun: false, signal: never };
    expect(await skipCorrupt(corruptFrom, options, fakeShell())).toBe(0);
  }
}

/** @param admin admin port of the process that delivers. */
async function pauseAndResume(admin: number): Promise<void> {
  const readyz = async () => await (await fetch(`http://127.0.0.1:${admin}/readyz`)).text();
  expect(await command("control", ["pause", "hook"])).toBe(0);
  await expect.poll(readyz).toContain("paused by command");
  expect(await command("control", ["resume", "hook"])).toBe(0);
  await expect.poll(readyz).not.toContain("paused by command");
}

/** Makes the action in the console, which has all permissions for it. */
async function actOnPage(page: number, action: object): Promise<void> {
  const url = `http://127.0.0.1:${page}/api/actions`;
  const headers = { "content-type": "application/json", "x-switchyard-console": "1" };
  const begun = await fetch(url, { method: "POST", headers, body: JSON.stringify(action) });
  expect([begun.status, action]).toEqual([202, action]);
  const { id } = (await begun.json()) as { id: string };
  const stateOf = async () => {
    const { jobs } = (await (await fetch(url)).json()) as { jobs: Record<string, unknown>[] };
    const { state, messages } = jobs.find((job) => job.id === id) ?? {};
    return state === "done" ? state : `${state}: ${String(messages)}`;
  };
  await expect.poll(stateOf).toBe("done");
}

async function actInAllWays(page: number): Promise<void> {
  const of = { destination: "hook" };
  const all = { since: 3_600_000, until: 0, perSecond: null, dryRun: false };
  await actOnPage(page, { action: "pause", ...of, pauseForMs: null });
  await actOnPage(page, { action: "resume", ...of });
  await actOnPage(page, { action: "retry", ...of });
  await actOnPage(page, { action: "wait", ...of });
  await actOnPage(page, { action: "cancel", ...of, before: 0, dryRun: false });
  await actOnPage(page, { action: "replay", ...of, ...all, types: [], events: [] });
  const deadLetters = {
    messageId: null,
    destination: "reject",
    reason: null,
    includeReplayed: true,
  };
  await actOnPage(page, { action: "replay-dead-letters", ...deadLetters, ...all });
}

/** `timeline` may read what `publish` reads. */
async function endsWithoutRight(): Promise<void> {
  const file = fileOf("timeline", { admin: 1, ingest: 2 });
  const calls = '{"type":"track","userId":"u1","event":"Published"}\n';
  for (const [args, topic] of [
    [["publish"], "calls"],
    [["delete", "u1"], "deletion-requests"],
  ] as const) {
    const { status, err } = await runCommand(file, args, calls);
    expect(status).toBe(1);
    const name = `${PREFIX}${topic}`;
    const missing = `the permission Write on the topic ${name} is missing for User:switchyard-timeline`;
    expect(err).toContain(`${name} cannot be written: ${missing}`);
  }
}

function bodiesAt(path: string): readonly string[] {
  return receiver.at(path).map(({ body }) => body);
}

describe.skipIf(JAVA === null)("a broker with an authorizer (needs Java)", () => {
  test("topics are made, and stages and commands do their work, each with its rights alone", async () => {
    expect(await command("topics", ["topics", "--apply"])).toBe(0);

    const ingestPort = await freePort();
    const deliverAdmin = await freePort();
    const page = await freePort();
    const running: ReturnType<typeof useRun>[] = [];
    for (const stage of STAGE_NAMES) {
      const admin = stage === "deliver" ? deliverAdmin : await freePort();
      const file = fileOf(stage, { admin, ingest: ingestPort, page });
      running.push(useRun(file, [stage]));
    }

    const call = '{"type":"track","userId":"u1","event":"Published","messageId":"m-1"}\n';
    expect(await command("publish", ["publish"], call)).toBe(0);
    await expect.poll(() => bodiesAt("/hook").length).toBe(1);
    // The delivery passed through a delay topic.
    await expect.poll(() => bodiesAt("/retry").length).toBe(2);
    await expect.poll(() => bodiesAt("/reject").length).toBe(1);

    const body = '{"userId":"u2","event":"Ingested","writeKey":"k"}';
    const url = `http://127.0.0.1:${ingestPort}/v1/track`;
    expect((await fetch(url, { method: "POST", body })).status).toBe(200);
    await expect.poll(() => bodiesAt("/hook").join()).toContain("Ingested");

    const sync = ["audience", "publish", "--name", "Vips"];
    expect(await command("audience-admin", sync, "u3\n")).toBe(0);
    await expect.poll(() => bodiesAt("/hook").join()).toContain('"vips":true');
    expect(await command("audience-admin", ["audience", "list"])).toBe(0);
    expect(await command("delete", ["delete", "u3"])).toBe(0);
    await expect.poll(() => bodiesAt("/hook").join()).toContain('"type":"delete"');

    expect(await command("suppressions", ["suppressions", "add", "u4", "--delete"])).toBe(0);
    await expect.poll(() => bodiesAt("/hook").join()).toContain('"userId":"u4"');
    expect(await command("suppressions", ["suppressions", "list"])).toBe(0);
    expect(await command("delete", ["delete", "u5", "--suppress"])).toBe(0);

    const before = bodiesAt("/reject").length;
    const replay = ["dead-letters", "replay", "--reason", "rejected", "--limit", "1"];
    expect(await command("replay", ["dead-letters", "list"])).toBe(0);
    expect(await command("replay", replay)).toBe(0);
    await expect.poll(() => bodiesAt("/reject").length).toBeGreaterThan(before);
    expect(await command("status", ["status", "--json"])).toBe(0);
    expect(await command("timeline", ["timeline", "m-1"])).toBe(0);
    expect(await command("audit", ["audit", ...TO_THE_END])).toBe(0);

    await pauseAndResume(deliverAdmin);
    await actInAllWays(page);

    expect(await Promise.all(running.map(({ stop }) => stop()))).toEqual(STAGE_NAMES.map(() => 0));
    await skipAll();
  });

  test("a command without the permission to write ends, and reports it", endsWithoutRight);

  test.each<[RoleName, string]>([
    ["ingest", "deliveries.hook"],
    ["deliver", "calls"],
    ["deliver", "deliveries.hook"],
    ["delay", "calls"],
    ["route", "calls"],
    ["route", "retries.hook"],
    ["route", "order.retry"],
    ["publish", "dead-letters"],
    ["status", "calls"],
  ])("%s may not write to %s", async (role, topic) => {
    const sasl = {
      mechanism: "plain",
      username: `switchyard-${role}`,
      password: PASSWORD,
    } as const;
    const client = new KafkajsClient({
      ...{ brokers: [broker.guardedAddress], sasl, logLevel: 0 },
      retry: { retries: 0 },
    });
    const producer = client.producer();
    await producer.connect();
    const sent = producer.send({ topic: PREFIX + topic, messages: [{ value: "x" }] });
    await expect(sent).rejects.toThrow(/not authorized/i);
    await producer.disconnect();
  });
});

test("every role has been tried", () => {
  expect(COMMAND_ROLES).toEqual([
    "topics",
    "publish",
    "audience-admin",
    "delete",
    "suppressions",
    "status",
    "control",
    "replay",
    "timeline",
    "audit",
    "skip-corrupt-batch",
  ]);
});
