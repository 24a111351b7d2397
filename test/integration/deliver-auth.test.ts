// OAuth 2 of the real program on a real Kafka: the destination is on hold while there is no token, tokens are replaced
// and revoked while calls are delivered, and everything that the program writes and serves is searched for the bytes of
// tokens and secrets.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "vitest";

import type { AttemptRecord } from "../../src/domain/attempt-record.ts";
import { freePort } from "../../tools/kafka/free-port.ts";
import {
  type ProgramWorld,
  programWorld,
  type RunningProgram,
} from "../support/servers/program.ts";
import { json, respondingServer } from "../support/servers/token-server.ts";
import { ownTopics } from "../support/worlds/own-topics.ts";

const UNTIL = { timeout: 60_000, interval: 250 };
const TEST_LIMIT_MS = 180_000;
const CLIENT_SECRET = "client-secret-9f3b7c21d8";
const LIFE_S = 2;
const QUEUED = 20;
const FLOWING = 300;
/** Each token is revoked after this many requests. */
const REVOKED_AFTER = 70;

/** Starts an identity provider that can be down, and a receiver that accepts only the provider's current token. */
async function servers({ onTestFinished }: TestContext) {
  const state = { isUp: false };
  /** The tokens, each with the number of requests that contained it. */
  const tokens = new Map<string, number>();
  const accepted: string[] = [];
  const counts = { unauthorized: 0, foreign: 0 };
  const id = await respondingServer((response, _request, earlier) => {
    if (!state.isUp) {
      json(response, 503, { error: "temporarily_unavailable" });
      return;
    }
    const token = `tok.${"0123456789abcdef".repeat(8)}.${String(earlier).padStart(6, "0")}`;
    tokens.set(token, 0);
    json(response, 200, { access_token: token, token_type: "Bearer", expires_in: LIFE_S });
  });
  const receiver = await respondingServer((response, { headers, body }) => {
    const token = headers.authorization?.replace("Bearer ", "") ?? "";
    const used = tokens.get(token);
    if (used === undefined) counts.foreign += 1;
    tokens.set(token, (used ?? 0) + 1);
    if ((used ?? 0) >= REVOKED_AFTER) {
      counts.unauthorized += 1;
      response.writeHead(401).end(`${headers.authorization} was revoked`);
      return;
    }
    if (body.includes('"reject"')) {
      response.writeHead(403).end(JSON.stringify(headers));
      return;
    }
    accepted.push(String(headers["x-switchyard-message-id"]));
    response.end("ok");
  });
  onTestFinished(async () => {
    await id[Symbol.asyncDispose]();
    await receiver[Symbol.asyncDispose]();
  });
  return { state, tokens, accepted, counts, id, receiver };
}

async function startWorld(context: TestContext) {
  const { onTestFinished } = context;
  const { prefix, brokers, kafka, recordsIn } = ownTopics("auth", onTestFinished);
  const own = await servers(context);
  const admin = await freePort();
  const world = programWorld(`
kafka: { brokers: [${brokers.join(", ")}], topicPrefix: "${prefix}", partitions: 2, replicationFactor: 1 }
sources: [{ id: web, destinations: [crm] }]
defaultSource: web
destinations:
  - id: crm
    type: webhook
    endpoints: [{ url: "${own.receiver.url}/hook" }]
    messageIdHeader: true
    auth: { type: oauth2, tokenUrl: "${own.id.url}/token", clientId: switchyard, clientSecret: ${CLIENT_SECRET} }
delivery: { retryDelays: [1s], allowNetworks: [127.0.0.0/8, "::1/128"] }
attempts: { enabled: true, responseBytes: 4KiB }
operatorEvents: { enabled: true }
admin: { host: 127.0.0.1, port: ${admin} }
console: { host: 127.0.0.1, port: 0, showPayloads: true }
`);
  onTestFinished(() => world[Symbol.asyncDispose]());
  const producer = kafka.producer();
  const publish = async (from: number, count: number, event = "e") => {
    const ids = Array.from({ length: count }, (_, index) => `m${from + index}`);
    const records = ids.map((messageId, index) => ({
      topic: `${prefix}calls`,
      key: Buffer.from(`u${index}`),
      value: Buffer.from(JSON.stringify({ type: "track", event, userId: `u${index}`, messageId })),
      headers: [],
    }));
    await producer.send(records);
    return ids;
  };
  return { ...own, world, admin, publish, recordsIn };
}

async function page(url: string): Promise<string> {
  const response = await fetch(url, { signal: AbortSignal.timeout(5_000) });
  return await response.text();
}

/** Reads the events of a view until one of them names the destination. */
async function eventOf(url: string): Promise<string> {
  const response = await fetch(url, { signal: AbortSignal.timeout(10_000) });
  let text = "";
  for await (const piece of response.body ?? []) {
    text += Buffer.from(piece).toString();
    if (text.includes("crm")) break;
  }
  return text;
}

/** Returns everything that can be read from the program. */
async function everything(
  { world, admin, recordsIn }: Awaited<ReturnType<typeof startWorld>>,
  program: RunningProgram,
  call: string,
): Promise<string> {
  const { url } = await program.logged("console.listening");
  const topics = ["attempts", "dead-letters", "retries.crm", "deliveries.crm", "delays.1s"];
  const records = await Promise.all(
    [...topics, "operator-events", "operator-actions"].map(recordsIn),
  );
  const ofAdmin = ["/status", "/metrics", "/readyz", "/livez"].map((path) =>
    page(`http://127.0.0.1:${admin}${path}`),
  );
  const api = ["attempts?destination=crm", "dead-letters", "configuration", `call?id=${call}`];
  const views = ["overview", "destinations", "destination&id=crm"];
  const commands = await Promise.all(commandsOf(world, admin, call));
  return [
    JSON.stringify(program.lines),
    ...records
      .flat()
      .map(({ value, headers }) => `${value} ${JSON.stringify(headers.map(String))}`),
    ...(await Promise.all(ofAdmin)),
    ...(await Promise.all(api.map((path) => page(`${url}api/${path}`)))),
    ...(await Promise.all(views.map((view) => eventOf(`${url}api/events?of=${view}`)))),
    ...commands.map(({ out, err }) => out + err),
  ].join("\n");
}

function commandsOf(world: ProgramWorld, admin: number, call: string) {
  const file = join(world.directory, "call.json");
  writeFileSync(file, '{"type":"track","event":"e","userId":"u","messageId":"m"}');
  return [
    ["config", "print"],
    ["explain", file],
    ["explain", "--json", file],
    ["status", "--json", "--admin", `127.0.0.1:${admin}`],
    ["timeline", call],
    ["dead-letters", "list"],
  ].map((args) => world.command(args));
}

test(
  "without a token deliveries wait, then tokens are replaced while calls flow, and none of them is to be found",
  async (context) => {
    const { expect } = context;
    const started = await startWorld(context);
    const { state, tokens, accepted, counts, world, admin, publish, recordsIn } = started;
    const program = world.start(["--stages", "route,deliver,delay,console"]);
    await program.logged("ready");
    const ids = [...(await publish(0, QUEUED))];
    const status = async () =>
      (await world.command(["status", "--admin", `127.0.0.1:${admin}`])).out;
    await expect
      .poll(status, UNTIL)
      .toMatch(
        /on hold since \S+: no token from http:\/\/localhost:\d+: status 503, temporarily_unavailable/,
      );
    expect(await page(`http://127.0.0.1:${admin}/metrics`)).toContain(
      'switchyard_destination_on_hold{destination="crm",reason="token"} 1\n',
    );
    expect(await page(`http://127.0.0.1:${admin}/readyz`)).toContain("on hold without a token");
    const events = async () => (await recordsIn("operator-events")).map(({ key }) => `${key}`);
    await expect.poll(events, UNTIL).toEqual(["destination.token_missing/crm"]);
    expect([accepted, counts.unauthorized]).toEqual([[], 0]);

    state.isUp = true;
    await expect.poll(() => accepted.length, UNTIL).toBe(QUEUED);
    await program.logged("destination.token-obtained");
    for (let from = QUEUED; from < QUEUED + FLOWING; from += 20) {
      ids.push(...(await publish(from, 20)));
      await expect.poll(() => accepted.length, UNTIL).toBeGreaterThan(from - 60);
    }
    await expect.poll(() => accepted.length, UNTIL).toBeGreaterThanOrEqual(ids.length);
    expect(accepted.toSorted()).toEqual(ids.toSorted());
    expect(tokens.size).toBeGreaterThan(3);
    expect(counts).toEqual({ unauthorized: expect.any(Number), foreign: 0 });
    expect(counts.unauthorized).toBeGreaterThan(0);

    const [rejected = ""] = await publish(10_000, 1, "reject");
    await expect.poll(async () => (await recordsIn("dead-letters")).length, UNTIL).toBe(1);
    const attempts = async () =>
      (await recordsIn("attempts")).map(({ value }) => JSON.parse(`${value}`) as AttemptRecord);
    await expect.poll(async () => (await attempts()).at(-1)?.decision, UNTIL).toBe("rejected");
    const kept = (await attempts()).flatMap(({ requests }) =>
      requests.flatMap((one) => one.response ?? []),
    );
    expect(kept.join()).toContain('"authorization":"Bearer ****');
    const all = await everything(started, program, rejected);
    expect(all.length).toBeGreaterThan(20_000);
    for (const secret of [CLIENT_SECRET, ...tokens.keys()])
      expect(all).not.toContain(secret.slice(0, 16));
    expect(all).not.toContain("0123456789abcdef0123456789abcdef");
    expect(all).not.toContain(Buffer.from(`switchyard:${CLIENT_SECRET}`).toString("base64"));
  },
  TEST_LIMIT_MS,
);
