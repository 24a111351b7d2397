// Events for people, with the real program on a real Kafka: a pause by a command and by the
// configuration, a refused file, and a restart that tells nothing twice; and the operator's webhook.

import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";

import { createKafka } from "../../src/kafka/kafka.ts";
import { createLog } from "../../src/telemetry/log.ts";
import { verify, verifyStandard } from "../../src/webhooks/index.ts";
import { freePort } from "../../tools/kafka/free-port.ts";
import { uniquePrefix } from "../support/build/prefix.ts";
import { programWorld } from "../support/servers/program.ts";

const POLL = { timeout: 60_000, interval: 250 };
const brokers = (process.env.SWITCHYARD_KAFKA_BROKERS ?? "").split(",");

/** Takes everything, or answers 503 for a while. */
async function startWebhook() {
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

async function startWorld(more = "") {
  const prefix = uniquePrefix("events");
  const world = programWorld(`
kafka: { brokers: [${brokers.join(", ")}], topicPrefix: "${prefix}", partitions: 2, replicationFactor: 1 }
sources: [{ id: web, destinations: [crm] }]
defaultSource: web
destinations:
  - { id: crm, type: webhook, endpoints: [{ url: "http://127.0.0.1:9/" }] }
delivery: { delays: [1s], allowNetworks: [127.0.0.0/8] }
operatorEvents: { enabled: true${more} }
admin: { host: 127.0.0.1, port: ${await freePort()} }
`);
  const kafka = createKafka(
    {
      ...{ brokers, clientId: "test", tls: null, sasl: null, sessionTimeoutMs: 10_000 },
      recordMaxBytes: () => 1_048_576,
    },
    createLog("error", { write: () => undefined }),
  );
  onTestFinished(async () => {
    await world[Symbol.asyncDispose]();
    const names = await kafka.admin.topics();
    await kafka.admin.deleteTopics(names.filter((name) => name.startsWith(prefix)));
    await kafka.close();
  });
  const topic = `${prefix}operator-events`;
  const told = async (): Promise<readonly unknown[]> => {
    const [at] = await kafka.admin.offsets(topic);
    if (at === undefined || at.end === at.first) return [];
    const { signal } = new AbortController();
    const range = { topic, partition: 0, from: at.first, to: at.end, maxBytes: 1_048_576, signal };
    const found: unknown[] = [];
    for await (const records of kafka.read(range)) {
      for (const { key, value } of records) {
        const event = value === null ? null : (JSON.parse(value.toString()) as { type: string });
        found.push([key?.toString(), event?.type ?? null]);
      }
    }
    return found;
  };
  return { world, told };
}

const PAUSED = ["destination.paused/crm", "switchyard.destination.paused"];
const RESUMED = ["destination.paused/crm", "switchyard.destination.resumed"];
const REFUSED = ["configuration.refused/configuration", "switchyard.configuration.refused"];
const CLOSED = ["configuration.refused/configuration", null];

test("what people should know is told once, also over a restart", async () => {
  const { world, told } = await startWorld();
  const first = world.start(["--stages", "deliver"]);
  await first.logged("ready");
  expect(await world.command(["pause", "crm"])).toMatchObject({ status: 0 });
  await expect.poll(told, POLL).toEqual([PAUSED]);
  await first.kill();

  const second = world.start(["--stages", "deliver"]);
  await second.logged("ready");
  const good = readFileSync(world.file, "utf8");
  writeFileSync(world.file, good.replace("crm, type: webhook", "crm, type: webhok"));
  // It has looked at itself by then, and has not told of the pause again.
  await expect.poll(told, POLL).toEqual([PAUSED, REFUSED]);
  writeFileSync(world.file, good);
  await expect.poll(told, POLL).toEqual([PAUSED, REFUSED, CLOSED]);
  expect(await world.command(["resume", "crm"])).toMatchObject({ status: 0 });
  await expect.poll(told, POLL).toEqual([PAUSED, REFUSED, CLOSED, RESUMED]);
}, 170_000);

const SECRET = "whsec_c2VjcmV0IG9mIG9wZXJhdG9ycw==";

test("the operator's webhook is told, signed; a restart posts what it did not take, once and in order", async () => {
  const { accepted, state, url } = await startWebhook();
  const { world, told } = await startWorld(`, webhook: { url: "${url}", sharedSecret: ${SECRET} }`);
  const first = world.start(["--stages", "deliver"]);
  await first.logged("ready");
  await world.command(["pause", "crm"]);
  await expect.poll(() => state.refused, POLL).toBeGreaterThan(0);
  await expect.poll(told, POLL).toEqual([PAUSED]);
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
}, 170_000);
