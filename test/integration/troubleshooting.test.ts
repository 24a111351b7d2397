// docs/troubleshooting.md about calls that do not arrive and destinations that fall behind: all causes are created at
// the same time in the program, are visible where the page describes, and are fixed in the way that the page describes.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import type { StatusReport } from "../../src/operator/look/status-report.ts";
import { freePort } from "../../tools/kafka/free-port.ts";
import { type CertificateRequest, issue } from "../support/build/certificates.ts";
import { useKafka } from "../support/kit/kafka.ts";
import { untilFileEnds } from "../support/kit/lifetime.ts";
import { type UsedProcess, type UsedProgram, useProgram } from "../support/kit/program.ts";
import { useReceiver } from "../support/kit/receiver.ts";
import { tlsServer } from "../support/servers/tls-server.ts";

const lifetime = untilFileEnds();

/**
 * Starts a receiver that responds as each path specifies, until the path is fixed. Returns the accepted paths and
 * users.
 */
async function startReceiver() {
  const accepted: string[] = [];
  const state = { isMended: false };
  const { url } = await useReceiver(({ path, body }) => {
    const what = path.slice(1);
    const { userId } = JSON.parse(body) as { readonly userId: string };
    if (what === "reset" && !state.isMended) return "destroy";
    if (what === "timeout" && !state.isMended) return "silence";
    const status = state.isMended ? 200 : Number(what.slice(0, 3)) || 200;
    if (status === 200) accepted.push(`${what} ${userId}`);
    return { status, headers: what === "503-later" ? { "retry-after": "3600" } : {} };
  }, lifetime);
  return { url, accepted, state };
}

const HOST = "127.0.0.1";
const YEAR_MS = 365 * 86_400_000;
const ca = issue({ name: "private CA", isCa: true });

async function startTls(name: string, more: Partial<CertificateRequest>): Promise<number> {
  const server = await tlsServer(issue({ name, hosts: [HOST], by: ca, ...more }));
  lifetime(() => server[Symbol.asyncDispose]());
  return server.port;
}

interface Destination {
  readonly id: string;
}

const OWN_CA = { tls: { ca: "ca.pem" } };
const to = (url: string) => ({ endpoints: [{ url }] });

/** Returns one destination for each cause. */
async function destinationsOf(local: string): Promise<readonly Destination[]> {
  const expired = {
    from: new Date(Date.now() - 2 * YEAR_MS),
    until: new Date(Date.now() - YEAR_MS),
  };
  const overTls = async (name: string, more: Partial<CertificateRequest>) =>
    to(`https://${HOST}:${await startTls(name, more)}/`);
  return [
    { id: "timeout", ...to(`${local}/timeout`) },
    { id: "refused", ...to(`http://${HOST}:${await freePort()}/`) },
    { id: "reset", ...to(`${local}/reset`) },
    { id: "dns", ...to("http://nowhere.invalid/") },
    { id: "unknown-ca", ...(await overTls("good", {})) },
    { id: "expired", ...(await overTls("old", expired)), ...OWN_CA },
    { id: "elsewhere", ...(await overTls("other", { hosts: ["example.com"] })), ...OWN_CA },
    { id: "limited", ...to(`${local}/429`) },
    { id: "later", ...to(`${local}/503-later`) },
    { id: "paused", ...to(`${local}/paused`), paused: true },
    { id: "off", ...to(`${local}/off`), enabled: false },
    { id: "rejects", ...to(`${local}/400`) },
    { id: "fine", ...to(`${local}/fine`) },
  ] as readonly Destination[];
}

interface Given {
  readonly prefix: string;
  readonly brokers: readonly string[];
  readonly delivery: object;
  readonly destinations: readonly Destination[];
  /** Sources in addition to `web`. */
  readonly sources?: readonly string[];
}

function configuration({ prefix, brokers, delivery, destinations, sources = [] }: Given): string {
  const connected = destinations.map(({ id }) => id);
  return JSON.stringify({
    kafka: { brokers, topicPrefix: prefix, partitions: 1 },
    sources: ["web", ...sources].map((id) => ({ id, destinations: connected })),
    defaultSource: "web",
    destinations: destinations.map((each) => ({ type: "webhook", ...each })),
    delivery,
    admin: { host: "127.0.0.1", port: 0 },
  });
}

async function publish(world: UsedProgram, messageId: string): Promise<void> {
  const call = { type: "track", userId: messageId, event: "e", messageId };
  expect(await world.inProcess(["publish"], JSON.stringify(call))).toMatchObject({ status: 0 });
}

let world: UsedProgram;
let program: UsedProcess;
let admin = "";
let receiver: Awaited<ReturnType<typeof startReceiver>>;
let destinations: readonly Destination[] = [];
const topics = useKafka("troubleshooting", { lifetime });
const delivery = { retryDelays: ["10m"], timeout: "2s", allowNetworks: [HOST] };

beforeAll(async () => {
  receiver = await startReceiver();
  destinations = await destinationsOf(receiver.url);
  world = useProgram(configuration({ ...topics, delivery, destinations }), lifetime);
  writeFileSync(join(world.directory, "ca.pem"), ca.cert);
  program = await world.ready("route,deliver,delay");
  admin = await program.admin();
  await publish(world, "m-1");
});

/** Returns, for each destination, the log line of its attempt: the decision, and the status or cause of its request. */
function attempted(messageId: string): Readonly<Record<string, string>> {
  const lines = program.lines.filter((line) => line.messageId === messageId);
  const reported = lines.flatMap(({ msg, destination, decision, requests }) => {
    if (msg !== "delivery.attempted") return [];
    const [request] = requests as { readonly status?: number; readonly cause?: string }[];
    return [[String(destination), `${decision} ${request?.cause ?? request?.status}`]];
  });
  return Object.fromEntries(reported);
}

test("delivery.attempted has each cause, with the call's message ID", async () => {
  await expect
    .poll(() => attempted("m-1"))
    .toEqual({
      timeout: "retry timeout",
      refused: "retry refused",
      reset: "retry reset",
      dns: "retry dns",
      "unknown-ca": "retry tls-unknown-ca",
      expired: "retry tls-expired",
      elsewhere: "retry tls-wrong-host",
      limited: "retry 429",
      later: "retry 503",
      rejects: "rejected 400",
      fine: "accepted 200",
    });
});

test("metrics show which destinations are on hold and why, what was skipped, and 429", async () => {
  const text = await program.get("/metrics");
  for (const [id, because] of [
    ["later", "retry-after"],
    ["paused", "paused"],
    ["off", "disabled"],
  ]) {
    expect(text).toContain(
      `switchyard_destination_on_hold{destination="${id}",reason="${because}"} 1`,
    );
  }
  expect(text).toMatch(/switchyard_delivery_requests_total\{destination="limited",.*429.*\} 1/);
  const skipped = 'switchyard_route_calls_skipped_total{destination="off",reason="disabled"} 1';
  expect(text).toContain(skipped);
});

test("status shows that its queue has the call, and who paused it", async () => {
  const { out } = await world.inProcess(["status", "--json", "--admin", admin]);
  const report = JSON.parse(out) as StatusReport;
  const paused = report.destinations.find(({ destination }) => destination === "paused");
  expect(paused).toMatchObject({ waiting: 1, hold: { reason: "paused", by: "configuration" } });
});

test("dead-letters list finds the call by its message id, with the reason and the last status", async () => {
  const list = ["dead-letters", "list", "--message-id", "m-1", "--json"];
  const { out } = await world.inProcess(list);
  expect(JSON.parse(out)).toMatchObject({
    ...{ reason: "rejected", destination: "rejects" },
    error: expect.stringMatching(/every endpoint rejected it.*400/),
  });
});

test("invalid records become dead letters with the reason", async () => {
  const call = { type: "track", userId: "m-shop", event: "e" };
  const values = [
    JSON.stringify({ ...call, sourceId: "shop" }),
    JSON.stringify({ ...call, event: 7 }),
    "no JSON",
    // This is the format of a registry's serializer: a zero, and the ID 7.
    Buffer.of(0, 0, 0, 0, 7, 2),
  ];
  await topics.write(
    "calls",
    values.map((value) => ({ value: Buffer.from(value), partition: 0 })),
  );
  const reasons = async () => {
    const { out } = await world.inProcess(["dead-letters", "list", "--json"]);
    const deadLetters = out.split("\n").filter((line) => line !== "");
    const reported = deadLetters.map(
      (line) => JSON.parse(line) as { reason: string; error: string },
    );
    return Object.fromEntries(reported.map(({ reason, error }) => [reason, error]));
  };
  await expect.poll(reasons).toMatchObject({
    "unknown-source": expect.stringContaining("shop"),
    "invalid-call": expect.stringContaining("event"),
    undecodable: expect.stringContaining("JSON"),
    "unknown-schema": expect.stringContaining("7"),
  });
});

test("each remedy helps", async () => {
  receiver.state.isMended = true;
  const remedies: Readonly<Record<string, object>> = {
    paused: { paused: false },
    off: { enabled: true },
    "unknown-ca": OWN_CA,
  };
  const mended = destinations.map((each) => ({ ...each, ...remedies[each.id] }));
  const changed = { ...topics, delivery, destinations: mended, sources: ["shop"] };
  writeFileSync(world.file, configuration(changed));
  await program.logged("config.applied");
  await publish(world, "m-2");
  const mendedIds = ["timeout", "reset", "unknown-ca", "limited", "paused", "off"];
  const isNotYet = () => mendedIds.filter((id) => attempted("m-2")[id] !== "accepted 200");
  await expect.poll(isNotYet).toEqual([]);
  expect(receiver.accepted).toContain("paused m-1");
  // A call that was skipped does not arrive later.
  expect(receiver.accepted).not.toContain("off m-1");

  const replay = ["dead-letters", "replay", "--destination", "rejects", "--reason", "rejected"];
  const dry = await world.inProcess([...replay, "--dry-run"]);
  expect(dry).toMatchObject({ status: 0, out: expect.stringContaining("1 dead letter to") });
  expect(await world.inProcess(replay)).toMatchObject({ status: 0 });
  await expect.poll(() => receiver.accepted).toContain("400 m-1");
  const unknown = ["dead-letters", "replay", "--reason", "unknown-source", "--yes"];
  expect(await world.inProcess(unknown)).toMatchObject({ status: 0 });
  await expect.poll(() => receiver.accepted).toContain("fine m-shop");
  expect(await program.stop()).toBe(0);
  expect(program.lines.at(-1)).toMatchObject({ msg: "stopped" });
});

test("a stage that nobody runs shows in the status, until a process runs it", async () => {
  const topics = useKafka("nobody-runs");
  const receiver = await startReceiver();
  const endpoints = [{ url: `${receiver.url}/503` }];
  const delivery = { retryDelays: ["1s"], allowNetworks: ["127.0.0.0/8"] };
  const destinations = [{ id: "hook", endpoints }];
  const world = useProgram(configuration({ ...topics, delivery, destinations }));
  const route = await world.ready("route");
  const admins = [await route.admin()];
  await publish(world, "m-1");
  const status = async () => {
    const args = ["status", "--json", ...admins.flatMap((admin) => ["--admin", admin])];
    const report = JSON.parse((await world.inProcess(args)).out) as StatusReport;
    const run = report.processes.flatMap(({ stages }) => stages?.map(({ name }) => name) ?? []);
    return { ...report, run };
  };
  const waits = async () => (await status()).destinations[0]?.waiting;
  await expect.poll(waits).toBe(1);
  expect((await status()).run).toEqual(["route"]);

  const deliver = world.begin("deliver");
  admins.push(await deliver.admin());
  const due = async () => Number((await status()).delayTopics[0]?.dueInMs ?? 0);
  await expect.poll(due).toBeLessThan(0);
  expect((await world.inProcess(["status"])).out).toMatch(/^1s .* overdue \d/m);
  expect((await status()).run.toSorted()).toEqual(["deliver", "route"]);

  await route.stop();
  admins.shift();
  await publish(world, "m-2");
  const oldest = async () =>
    (await status()).stages.find(({ stage }) => stage === "route")?.oldestMs ?? 0;
  await expect.poll(oldest).toBeGreaterThan(0);
  await expect.poll(oldest).toBeGreaterThan(await oldest());
  receiver.state.isMended = true;
  world.begin("route,delay");
  await expect.poll(() => receiver.accepted.toSorted()).toEqual(["503 m-1", "503 m-2"]);
  // A process that was killed has not drained, and does not log that it has.
  await deliver.kill();
  expect(deliver.lines.at(-1)).not.toMatchObject({ msg: "stopped" });
  expect(route.lines.at(-1)).toMatchObject({ msg: "stopped" });
});
