// OAuth 2 of the real program on a real Kafka: the destination is on hold while there is no token, tokens are replaced
// and revoked while calls are delivered, and everything that the program writes and serves is searched for the bytes of
// tokens and secrets.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "vitest";

import type { AttemptRecord } from "../../src/domain/attempt-record.ts";
import { useKafka } from "../support/kit/kafka.ts";
import { type UsedProcess, type UsedProgram, useProgram } from "../support/kit/program.ts";
import { useReceiver } from "../support/kit/receiver.ts";

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
  const json = (status: number, body: object) => ({
    ...{ status, body: JSON.stringify(body) },
    headers: { "content-type": "application/json" },
  });
  const id = await useReceiver(({ earlier }) => {
    if (!state.isUp) return json(503, { error: "temporarily_unavailable" });
    const token = `tok.${"0123456789abcdef".repeat(8)}.${String(earlier).padStart(6, "0")}`;
    tokens.set(token, 0);
    return json(200, { access_token: token, token_type: "Bearer", expires_in: LIFE_S });
  }, onTestFinished);
  const receiver = await useReceiver(({ headers, body, id: messageId }) => {
    const token = headers.authorization?.replace("Bearer ", "") ?? "";
    const used = tokens.get(token);
    if (used === undefined) counts.foreign += 1;
    tokens.set(token, (used ?? 0) + 1);
    if ((used ?? 0) >= REVOKED_AFTER) {
      counts.unauthorized += 1;
      return { status: 401, body: `${headers.authorization} was revoked` };
    }
    if (body.includes('"reject"')) return { status: 403, body: JSON.stringify(headers) };
    accepted.push(messageId);
    return { body: "ok" };
  }, onTestFinished);
  return { state, tokens, accepted, counts, id, receiver };
}

async function startWorld(context: TestContext) {
  const { onTestFinished } = context;
  const kafka = useKafka("auth", { lifetime: onTestFinished });
  const { prefix, brokers, publish, recordsIn } = kafka;
  const own = await servers(context);
  const tokenUrl = `${own.id.url}/token`.replace("127.0.0.1", "localhost");
  const auth = { type: "oauth2", tokenUrl, clientId: "switchyard", clientSecret: CLIENT_SECRET };
  const world = useProgram(
    {
      kafka: { brokers, topicPrefix: prefix, partitions: 2 },
      destinations: { crm: { endpoints: [{ url: `${own.receiver.url}/hook` }], auth } },
      delivery: { retryDelays: ["1s"], allowNetworks: ["127.0.0.0/8", "::1/128"] },
      attempts: { enabled: true, responseBytes: "4KiB" },
      operatorEvents: { enabled: true },
      console: { host: "127.0.0.1", port: 0, showPayloads: true },
    },
    onTestFinished,
  );
  return { ...own, world, publish, recordsIn };
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
  { world, recordsIn }: Awaited<ReturnType<typeof startWorld>>,
  program: UsedProcess,
  call: string,
): Promise<string> {
  const { url } = await program.logged("console.listening");
  const topics = ["attempts", "dead-letters", "retries.crm", "deliveries.crm", "delays.1s"];
  const records = await Promise.all(
    [...topics, "operator-events", "operator-actions"].map(recordsIn),
  );
  const ofAdmin = ["/status", "/metrics", "/readyz", "/livez"].map(program.get);
  const api = ["attempts?destination=crm", "dead-letters", "configuration", `call?id=${call}`];
  const views = ["overview", "destinations", "destination&id=crm"];
  const commands = await Promise.all(commandsOf(world, await program.admin(), call));
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

function commandsOf(world: UsedProgram, admin: string, call: string) {
  const file = join(world.directory, "call.json");
  writeFileSync(file, '{"type":"track","event":"e","userId":"u","messageId":"m"}');
  return [
    ["config", "print"],
    ["explain", file],
    ["explain", "--json", file],
    ["status", "--json", "--admin", admin],
    ["timeline", call],
    ["dead-letters", "list"],
  ].map((args) => world.inProcess(args));
}

test("without a token deliveries wait, then tokens are replaced while calls flow, and none of them is to be found", async (context) => {
  const { expect } = context;
  const started = await startWorld(context);
  const { state, tokens, accepted, counts, world, publish, recordsIn } = started;
  const program = await world.ready("route,deliver,delay,console");
  const admin = await program.admin();
  const ids = [...(await publish(QUEUED))];
  const status = async () => (await world.inProcess(["status", "--admin", admin])).out;
  await expect
    .poll(status)
    .toMatch(
      /on hold since \S+: no token from http:\/\/localhost:\d+: status 503, temporarily_unavailable/,
    );
  expect(await program.get("/metrics")).toContain(
    'switchyard_destination_on_hold{destination="crm",reason="token"} 1\n',
  );
  expect(await program.get("/readyz")).toContain("on hold without a token");
  const events = async () => (await recordsIn("operator-events")).map(({ key }) => `${key}`);
  await expect.poll(events).toEqual(["destination.token_missing/crm"]);
  expect([accepted, counts.unauthorized]).toEqual([[], 0]);

  state.isUp = true;
  await expect.poll(() => accepted.length).toBe(QUEUED);
  await program.logged("destination.token-obtained");
  for (let from = QUEUED; from < QUEUED + FLOWING; from += 20) {
    ids.push(...(await publish(20)));
    await expect.poll(() => accepted.length).toBeGreaterThan(from - 60);
  }
  await expect.poll(() => accepted.length).toBeGreaterThanOrEqual(ids.length);
  expect(accepted.toSorted()).toEqual(ids.toSorted());
  expect(tokens.size).toBeGreaterThan(3);
  expect(counts).toEqual({ unauthorized: expect.any(Number), foreign: 0 });
  expect(counts.unauthorized).toBeGreaterThan(0);

  const [rejected = ""] = await publish(1, { event: "reject" });
  await expect.poll(async () => (await recordsIn("dead-letters")).length).toBe(1);
  const attempts = async () =>
    (await recordsIn("attempts")).map(({ value }) => JSON.parse(`${value}`) as AttemptRecord);
  await expect.poll(async () => (await attempts()).at(-1)?.decision).toBe("rejected");
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
});
