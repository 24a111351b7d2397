// Sessions of SASL that the broker ends after a while (connections.max.reauth.ms): clients log in
// again on their open connections, with traffic on them, and nobody notices.
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: it is the configuration's own syntax.

import { execFile } from "node:child_process";
import diagnostics from "node:diagnostics_channel";
import { once } from "node:events";
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { run } from "../../src/cli/run/run.ts";
import { loadConfig } from "../../src/config/load.ts";
import { createKafka } from "../../src/kafka/kafka.ts";
import type { KafkaConnection, KafkaSasl } from "../../src/kafka/port.ts";
import { chooseJava } from "../../tools/kafka/choose.ts";
import { freePort } from "../../tools/kafka/free-port.ts";
import { type JavaBroker, killBroker, prepareBroker, startBroker } from "../../tools/kafka/java.ts";
import { record } from "../support/contract/bench.ts";
import { Taker } from "../support/contract/taker.ts";
import { LogLines } from "../support/log/log-lines.ts";

const SECURITY = "org.apache.kafka.common.security";
const PASSWORD = "pass word:1";
const SESSION_MS = 3_000;
const PERIODS = 4;
/** Longer than a session, and shorter than a test. */
const TOKEN_S = 8;

const never = new AbortController().signal;
const java = await chooseJava(never, () => undefined).catch(() => null);
const cleanUp = new AsyncDisposableStack();
/** Without a log-in, for tools. */
let openAddress = "";
let port = 0;
let tokenUrl = "";
let clientSecret = "s";
let tokens = 0;

function withSessions(broker: JavaBroker): string {
  const plain = readFileSync(join(broker.directory, "server.properties"), "utf8");
  const extended = (key: string, more: string) =>
    `${key}=${new RegExp(`^${key}=(.*)$`, "m").exec(plain)?.[1]}${more}`;
  const jaas = (mechanism: string, login: string) =>
    `listener.name.sasl.${mechanism}.sasl.jaas.config=${SECURITY}.${login};`;
  return [
    extended("listeners", `,SASL://127.0.0.1:${port}`),
    extended("advertised.listeners", `,SASL://127.0.0.1:${port}`),
    extended("listener.security.protocol.map", ",SASL:SASL_PLAINTEXT"),
    "sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER",
    `connections.max.reauth.ms=${SESSION_MS}`,
    jaas("plain", `plain.PlainLoginModule required user_alice="${PASSWORD}"`),
    jaas("scram-sha-256", "scram.ScramLoginModule required"),
    jaas("scram-sha-512", "scram.ScramLoginModule required"),
    jaas(
      "oauthbearer",
      'oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="b"',
    ),
    "",
  ].join("\n");
}

beforeAll(async () => {
  if (java === null) return;
  const directory = mkdtempSync(join(tmpdir(), "switchyard-kafka-"));
  cleanUp.defer(() => rmSync(directory, { recursive: true, force: true }));
  const broker = await prepareBroker(java.java, java.jars, directory, 0, never);
  port = await freePort();
  appendFileSync(join(directory, "server.properties"), `\n${withSessions(broker)}`);
  const running = await startBroker(broker, "guarded", never);
  cleanUp.defer(() => killBroker(running));
  openAddress = broker.address;
  for (const mechanism of ["SCRAM-SHA-256", "SCRAM-SHA-512"]) {
    await setPassword(mechanism, PASSWORD);
  }
  tokenUrl = await serveTokens();
});
afterAll(() => cleanUp.disposeAsync());

/** Tokens for the client secret of the moment, which the broker takes unsigned. */
async function serveTokens(): Promise<string> {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const server = createServer((request, response) => {
    const expected = `Basic ${Buffer.from(`c:${clientSecret}`).toString("base64")}`;
    if (request.headers.authorization !== expected) return response.writeHead(401).end();
    tokens += 1;
    const nowS = Math.floor(Date.now() / 1_000);
    const claims = { sub: "alice", iat: nowS, exp: nowS + TOKEN_S };
    const access_token = `${part({ alg: "none" })}.${part(claims)}.`;
    return response.end(JSON.stringify({ access_token, expires_in: TOKEN_S }));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  cleanUp.defer(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/token`;
}

function saslOf(mechanism: Mechanism): KafkaSasl {
  const credentials = { tokenUrl, clientId: "c", clientSecret: "s", scope: null };
  return mechanism === "oauthbearer"
    ? { mechanism, ...credentials }
    : { mechanism, username: "alice", password: PASSWORD };
}

type Mechanism = Exclude<KafkaSasl["mechanism"], "aws-msk-iam">;

function connection(sasl: () => KafkaSasl): KafkaConnection {
  return {
    brokers: [`127.0.0.1:${port}`],
    clientId: "sessions",
    tls: null,
    get sasl() {
      return sasl();
    },
    sessionTimeoutMs: 10_000,
    recordMaxBytes: () => 900_000,
  };
}

/**
 * A topic with a producer and a consumer, whose connections have all been used once.
 *
 * @param mayFail what a call of the administration may say: it does not wait for the end of an
 *   outage, as producers and consumers do.
 */
async function startTraffic(sasl: () => KafkaSasl, mayFail: RegExp | null = null) {
  const lines = new LogLines();
  const kafka = createKafka(connection(sasl), lines.log);
  const topic = `t${Math.random()}`;
  await kafka.admin.create([{ name: topic, partitions: 2, replicationFactor: 1, config: {} }]);
  const taker = new Taker({ finishesAtOnce: true });
  const consumer = kafka.consume({
    groupId: topic,
    topics: [topic],
    partitionRecordsMax: 100,
    maxBytes: 100_000,
    whenFull: "hold",
    drainLimitMs: 1_000,
    onAssigned: taker.onAssigned,
    onCrash: (error) => {
      throw error;
    },
  });
  const producer = kafka.producer();
  expect(await producer.send([record(topic, "first")])).toEqual([]);
  await taker.untilTaken(1);
  let sent = 1;
  /** Requests of all kinds, several on one connection at a time. */
  const work = async (): Promise<void> => {
    const batch = Array.from({ length: 5 }, (_, index) => record(topic, `${sent + index}`));
    const [refused] = await Promise.all([
      producer.send(batch),
      producer.send([record(topic, "beside")]),
      kafka.admin.topics().catch((error: unknown) => {
        if (mayFail === null || !mayFail.test(String(error))) throw error;
      }),
    ]);
    expect(refused).toEqual([]);
    sent += 6;
  };
  await work();
  // Commits go by a connection of their own.
  const committed = async () => (await kafka.admin.committed(topic, topic)).length;
  await expect.poll(committed, { timeout: 10_000 }).toBeGreaterThan(0);
  /** @param isQuiet whether nothing may have been logged. */
  const end = async (isQuiet = true): Promise<void> => {
    await taker.untilTaken(sent);
    await consumer.stop();
    await kafka.close();
    expect(taker.taken.length).toBe(sent);
    if (!isQuiet) return;
    expect(lines.seen.filter((msg) => msg !== "kafka.consumer.restarting")).toEqual([]);
  };
  return { work, end };
}

/** Connections to the broker, opened from now on. */
function countConnections() {
  let opened = 0;
  const count = (message: unknown) => {
    const { socket } = message as { readonly socket: Socket };
    socket.once("connect", () => {
      if (socket.remotePort === port) opened += 1;
    });
  };
  diagnostics.subscribe("net.client.socket", count);
  return {
    opened: () => opened,
    [Symbol.dispose]: () => void diagnostics.unsubscribe("net.client.socket", count),
  };
}

async function workFor(periods: number, traffic: readonly { work(): Promise<void> }[]) {
  const endMs = Date.now() + periods * SESSION_MS;
  while (Date.now() < endMs) {
    await Promise.all(traffic.map(({ work }) => work()));
    await sleep(20);
  }
}

async function setPassword(mechanism: string, password: string): Promise<void> {
  if (java === null) return;
  await promisify(execFile)(java.java, [
    ...["-cp", join(java.jars, "*"), "kafka.admin.ConfigCommand"],
    ...["--bootstrap-server", openAddress, "--alter", "--entity-type", "users"],
    ...["--entity-name", "alice", "--add-config", `${mechanism}=[password=${password}]`],
  ]);
}

describe.skipIf(java === null)("a broker that ends sessions after 3 s (needs Java)", () => {
  test("traffic goes on over the same connections, with every mechanism, and no line in the log", async () => {
    const mechanisms = ["plain", "scram-sha-256", "scram-sha-512", "oauthbearer"] as const;
    using atStart = countConnections();
    const traffic = await Promise.all(
      mechanisms.map((mechanism) => startTraffic(() => saslOf(mechanism))),
    );
    expect(atStart.opened()).toBeGreaterThan(mechanisms.length * 3);
    {
      using meanwhile = countConnections();
      await workFor(PERIODS, traffic);
      expect(meanwhile.opened()).toBe(0);
    }
    await Promise.all(traffic.map(({ end }) => end()));
  }, 60_000);

  test("a connection that was idle beyond its session is used again", async () => {
    const traffic = await startTraffic(() => saslOf("scram-sha-512"));
    await sleep(SESSION_MS * 2);
    await workFor(1, [traffic]);
    await traffic.end();
  }, 60_000);

  test("a client secret that is rotated is used for the next token, under traffic", async () => {
    let sasl = saslOf("oauthbearer");
    const traffic = await startTraffic(() => sasl);
    clientSecret = "rotated";
    sasl = { ...saslOf("oauthbearer"), clientSecret } as KafkaSasl;
    const before = tokens;
    await workFor(3, [traffic]);
    await traffic.end();
    clientSecret = "s";
    expect(tokens).toBeGreaterThan(before);
  }, 60_000);

  test("without tokens for a while nothing is lost, and it goes on when there are some", async () => {
    const traffic = await startTraffic(() => saslOf("oauthbearer"), /No token from .*status 401/);
    clientSecret = "refused to everybody";
    const work = workFor(2, [traffic]);
    await sleep(TOKEN_S * 1_000 + SESSION_MS);
    clientSecret = "s";
    await work;
    await workFor(1, [traffic]);
    await traffic.end(false);
  }, 90_000);

  test.each(["plain", "scram-sha-256", "scram-sha-512"] as const)(
    "%s: a password that is put right is used by the next connection",
    async (mechanism) => {
      let sasl: KafkaSasl = { mechanism, username: "alice", password: "wrong" };
      const kafka = createKafka(
        connection(() => sasl),
        new LogLines().log,
      );
      await expect(kafka.admin.topics()).rejects.toThrow("authentication failed");
      sasl = { mechanism, username: "alice", password: PASSWORD };
      expect(await kafka.admin.topics()).toEqual(expect.any(Array));
      await kafka.close();
    },
  );
});

describe.skipIf(java === null)("the program on such a broker (needs Java)", () => {
  test("the program takes a client secret from its file, and the next one when that changes", async () => {
    const directory = mkdtempSync(join(tmpdir(), "switchyard-secret-"));
    cleanUp.defer(() => rmSync(directory, { recursive: true }));
    const [file, secret] = [join(directory, "switchyard.yaml"), join(directory, "secret")];
    const sasl = { ...saslOf("oauthbearer"), clientSecret: "${file:secret}" };
    const options = {
      kafka: { brokers: [`127.0.0.1:${port}`], topicPrefix: "rotated.", partitions: 1, sasl },
      sources: [{ id: "web", destinations: ["left"] }],
      defaultSource: "web",
      destinations: [{ id: "left", type: "topic", name: "Left" }],
      admin: { host: "127.0.0.1", port: 0 },
    };
    // JSON is YAML.
    writeFileSync(file, JSON.stringify(options));
    writeFileSync(secret, "s\n");
    const load = () => loadConfig({ file, env: {} });
    const loaded = load();
    if (loaded.kind !== "config") throw new Error(JSON.stringify(loaded.problems));
    const lines = new LogLines();
    const stopping = new AbortController();
    const ended = run(loaded, load, ["route"], stopping.signal, lines.log);

    const open = { ...connection(() => saslOf("plain")), brokers: [openAddress], sasl: null };
    const kafka = createKafka(open, new LogLines().log);
    const topic = "rotated.deliveries.left";
    const routed = async () => (await kafka.admin.offsets(topic).catch(() => []))[0]?.end;
    await expect.poll(routed, { timeout: 30_000 }).toBe(0);
    const producer = kafka.producer();
    const publish = () =>
      producer.send([record("rotated.calls", '{"type":"track","userId":"u","event":"e"}')]);
    await publish();
    await expect.poll(routed, { timeout: 30_000 }).toBe(1);

    clientSecret = "rotated";
    writeFileSync(secret, "rotated\n");
    const before = tokens;
    // Those of the first secret have ended by then.
    await expect.poll(() => tokens, { timeout: TOKEN_S * 3_000 }).toBeGreaterThan(before + 1);
    await publish();
    await expect.poll(routed, { timeout: 30_000 }).toBe(2);
    stopping.abort("enough");
    expect(await ended).toBe(0);
    await kafka.close();
    clientSecret = "s";
    const applied = lines.lines.find(({ msg }) => msg === "config.applied");
    expect(JSON.stringify(applied?.fields)).toContain("kafka.sasl.clientSecret");
    expect(JSON.stringify(lines.lines)).not.toContain('"rotated"');
    expect(lines.lines.filter(({ level }) => level === "warn" || level === "error")).toEqual([]);
  }, 90_000);
});
