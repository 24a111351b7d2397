// Operator events, with the real program on a real Kafka: a pause by a command and by the configuration, a rejected
// file, a restart that repeats no event, a sync that awaits approval, deliveries that expire; and the operator webhook.

import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "vitest";

import { verify, verifyStandard } from "../../src/sdk/webhooks/index.ts";
import { freePort } from "../../tools/kafka/free-port.ts";
import { issue } from "../support/build/certificates.ts";
import { programWorld } from "../support/servers/program.ts";
import { respondingServer } from "../support/servers/token-server.ts";
import { ownTopics } from "../support/worlds/own-topics.ts";

const POLL = { interval: 250 };

/** Starts a webhook that accepts everything, or responds 503 for a while. */
async function startWebhook({ onTestFinished }: TestContext) {
  const accepted: { readonly headers: IncomingHttpHeaders; readonly body: string }[] = [];
  const state = { isRefusing: true, refused: 0 };
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const body = Buffer.concat(chunks).toString();
      if (state.isRefusing) state.refused += 1;
      else accepted.push({ headers: request.headers, body });
      response.writeHead(state.isRefusing ? 503 : 200).end();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { accepted, state, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` };
}

interface Given {
  /** Settings in the section `operatorEvents`. */
  readonly webhook?: string;
  /** Settings in the section `delivery`. */
  readonly window?: string;
  readonly delay?: string;
  /** Path of `delivery.ca`. */
  readonly ca?: string;
}

async function startWorld(
  { onTestFinished }: TestContext,
  { webhook = "", window = "4h", delay = "1s", ca }: Given = {},
) {
  const { prefix, brokers, recordsIn } = ownTopics("events", onTestFinished);
  const world = programWorld(`
kafka: { brokers: [${brokers.join(", ")}], topicPrefix: "${prefix}", partitions: 2, replicationFactor: 1 }
sources: [{ id: web, destinations: [crm] }]
defaultSource: web
destinations:
  - { id: crm, type: webhook, endpoints: [{ url: "http://127.0.0.1:9/" }] }
audienceDefaults: { source: web, approvalShare: 0.1, approvalMinimum: 0 }
delivery: { retryWindow: ${window}, retryDelays: [${delay}], allowNetworks: [127.0.0.0/8, "::1/128"]${ca === undefined ? "" : `, ca: ${ca}`} }
operatorEvents: { enabled: true${webhook} }
admin: { host: 127.0.0.1, port: ${await freePort()} }
`);
  onTestFinished(() => world[Symbol.asyncDispose]());
  const events = async (): Promise<readonly (readonly [string, OperatorEvent | null])[]> =>
    (await recordsIn("operator-events")).map(({ key, value }) => [
      `${key}`,
      value === null ? null : (JSON.parse(`${value}`) as OperatorEvent),
    ]);
  const reported = async () => (await events()).map(([key, event]) => [key, event?.type ?? null]);
  return { world, events, reported };
}

interface OperatorEvent {
  readonly type: string;
  readonly subject: string;
  readonly data: Readonly<Record<string, unknown>>;
}

const PAUSED = ["destination.paused/crm", "switchyard.destination.paused"];
const RESUMED = ["destination.paused/crm", "switchyard.destination.resumed"];
const REFUSED = ["configuration.invalid/configuration", "switchyard.configuration.invalid"];
const CLOSED = ["configuration.invalid/configuration", null];

test.concurrent("what operators must know is reported once, also over a restart", async (context) => {
  const { expect } = context;
  const { world, reported } = await startWorld(context);
  const first = world.start(["--stages", "deliver"]);
  await first.logged("ready");
  expect(await world.command(["pause", "crm"])).toMatchObject({ status: 0 });
  await expect.poll(reported, POLL).toEqual([PAUSED]);
  await first.kill();

  const second = world.start(["--stages", "deliver"]);
  await second.logged("ready");
  const good = readFileSync(world.file, "utf8");
  writeFileSync(world.file, good.replace("crm, type: webhook", "crm, type: webhok"));
  // By then, the process has checked its state, and has not written the event of the pause again.
  await expect.poll(reported, POLL).toEqual([PAUSED, REFUSED]);
  writeFileSync(world.file, good);
  await expect.poll(reported, POLL).toEqual([PAUSED, REFUSED, CLOSED]);
  expect(await world.command(["resume", "crm"])).toMatchObject({ status: 0 });
  await expect.poll(reported, POLL).toEqual([PAUSED, REFUSED, CLOSED, RESUMED]);
});

const SECRET = "whsec_c2VjcmV0IG9mIG9wZXJhdG9ycw==";

test.concurrent("the operator's webhook gets events, signed; a restart posts what it did not accept, once and in order", async (context) => {
  const { expect } = context;
  const { accepted, state, url } = await startWebhook(context);
  const { world, reported } = await startWorld(context, {
    webhook: `, webhook: { url: "${url}", sharedSecret: ${SECRET} }`,
  });
  const first = world.start(["--stages", "deliver"]);
  await first.logged("ready");
  await world.command(["pause", "crm"]);
  await expect.poll(() => state.refused, POLL).toBeGreaterThan(0);
  await expect.poll(reported, POLL).toEqual([PAUSED]);
  await first.kill();
  state.isRefusing = false;

  const second = world.start(["--stages", "deliver"]);
  await second.logged("ready");
  await expect.poll(() => accepted.length, POLL).toBe(1);
  await world.command(["resume", "crm"]);
  await expect.poll(() => accepted.length, POLL).toBe(2);
  const events = accepted.map(({ body }) => JSON.parse(body) as Record<string, unknown>);
  expect(events.map(({ type }) => type)).toEqual([PAUSED[1], RESUMED[1]]);
  for (const [index, { headers, body }] of accepted.entries()) {
    expect(headers["content-type"]).toBe("application/cloudevents+json; charset=utf-8");
    expect(headers["webhook-id"]).toBe(events[index]?.id);
    expect(verify(body, `${headers["x-signature"]}`, SECRET)).toBe(true);
    expect(verifyStandard(body, headers, SECRET)).toBe(true);
  }
});

test.concurrent("the operator's webhook trusts a private CA that replaces the current one, without a restart", async (context) => {
  const { expect, onTestFinished } = context;
  const folder = mkdtempSync(join(tmpdir(), "switchyard-operator-ca-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const [before, after] = ["before", "after"].map((name) => issue({ name, isCa: true }));
  const { cert, key } = issue({
    name: "operator",
    hosts: ["localhost"],
    ...(after && { by: after }),
  });
  await using server = await respondingServer((response) => response.end(), { cert, key });
  const ca = join(folder, "ca.pem");
  writeFileSync(ca, before?.cert ?? "");
  const { world } = await startWorld(context, {
    ca,
    webhook: `, webhook: { url: "${server.url}" }`,
  });
  const program = world.start(["--stages", "deliver"]);
  await program.logged("ready");
  await world.command(["pause", "crm"]);
  expect(await program.logged("operator-webhook.failing")).toMatchObject({
    cause: "tls-unknown-ca",
  });
  writeFileSync(ca, after?.cert ?? "");
  await expect.poll(() => server.taken.length, { ...POLL, timeout: 60_000 }).toBeGreaterThan(0);
});

const APPROVAL = "audience.approval_required/vip";
const EXPIRING = "deliveries.expiring/crm";

test.concurrent("a sync that awaits approval is reported until it is approved; deliveries that expire, once", async (context) => {
  const { expect } = context;
  // The first attempt fails, and the next one is due shortly before the end of the window. The process checks every 5
  // s, which is more than once in the last quarter of the window.
  const { world, events } = await startWorld(context, { window: "40s", delay: "39s" });
  const program = world.start(["--stages", "route,audience,deliver,delay"]);
  await program.logged("ready");
  const calls = join(world.directory, "calls.jsonl");
  const ids = ["m-1", "m-2", "m-3"];
  const call = { type: "track", userId: "u", event: "E" };
  writeFileSync(calls, ids.map((messageId) => JSON.stringify({ ...call, messageId })).join("\n"));
  expect(await world.command(["publish", calls])).toMatchObject({ status: 0 });

  const users = join(world.directory, "users.txt");
  const sync = async (...all: readonly string[]) => {
    writeFileSync(users, all.join("\n"));
    const published = ["audience", "publish", "--name", "VIP", "--file", users];
    expect(await world.command(published)).toMatchObject({ status: 0 });
  };
  const of = async (key: string) =>
    (await events()).flatMap(([each, event]) => (each === key ? [event] : []));
  await sync("u-1", "u-2", "u-3", "u-4");
  await sync("u-1", "u-4");
  const required = {
    type: "switchyard.audience.approval_required",
    subject: "vip",
    data: { sync: expect.any(String), removals: 2 },
  };
  await expect.poll(() => of(APPROVAL), POLL).toMatchObject([required]);
  const members = async () => (await world.command(["audience", "members", "vip"])).out;
  expect((await members()).split("\n").toSorted()).toEqual(["", "u-1", "u-2", "u-3", "u-4"]);
  expect(await world.command(["audience", "approve", "vip"])).toMatchObject({
    status: 0,
    out: expect.stringContaining("2 users will be removed"),
  });
  await expect.poll(members, POLL).toBe("u-1\nu-4\n");
  await expect.poll(() => of(APPROVAL), POLL).toMatchObject([required, null]);

  await expect
    .poll(() => of(EXPIRING), POLL)
    .toMatchObject([
      {
        type: "switchyard.deliveries.expiring",
        subject: "crm",
        data: { count: expect.any(Number), firstExpiresAt: expect.stringMatching(/Z$/) },
      },
    ]);
});
