// SASL sessions that the broker ends after a while (connections.max.reauth.ms): clients authenticate again on their
// open connections, during traffic, without any error or log line.
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: it is the configuration's own syntax.

import diagnostics from "node:diagnostics_channel";
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, type ExpectStatic, test } from "vitest";
import { createKafka } from "../../src/kafka/kafka.ts";
import type { Kafka, KafkaConnection, KafkaSasl } from "../../src/kafka/port.ts";
import { freePort } from "../../tools/kafka/free-port.ts";
import { type JavaBroker, killBroker, prepareBroker, startBroker } from "../../tools/kafka/java.ts";
import { PASSWORD } from "../../tools/kafka/security.ts";
import { record } from "../support/contract/bench.ts";
import { keyOf, Taker } from "../support/contract/taker.ts";
import { JAVA } from "../support/kit/java.ts";
import { useRun } from "../support/kit/program.ts";
import { startReceiver } from "../support/kit/receiver.ts";
import { LogLines } from "../support/log/log-lines.ts";
import { consumeWith, createTopics, testConnection } from "../support/worlds/test-kafka.ts";

const SECURITY = "org.apache.kafka.common.security";
const SESSION_MS = 4_000;
const PERIODS = 2;
/** This is longer than a session, and shorter than a test. */
const TOKEN_S = 8;

const never = new AbortController().signal;
const cleanUp = new AsyncDisposableStack();
/** An address without authentication, for tools. */
let openAddress = "";
let port = 0;
let tokenUrl = "";
/** The secrets of the clients that request tokens, by ID. `tokens` has the number of tokens that each client got. */
const secrets = new Map<string, string>();
const tokens = new Map<string, number>();

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
  if (JAVA === null) return;
  const directory = mkdtempSync(join(tmpdir(), "switchyard-kafka-"));
  cleanUp.defer(() => rmSync(directory, { recursive: true, force: true }));
  const broker = await prepareBroker(JAVA.java, JAVA.jars, directory, never, true);
  port = await freePort();
  appendFileSync(join(directory, "server.properties"), `\n${withSessions(broker)}`);
  const running = await startBroker(broker, "guarded", never);
  cleanUp.defer(() => killBroker(running));
  openAddress = broker.address;
  tokenUrl = await serveTokens();
});
afterAll(() => cleanUp.disposeAsync());

/** Serves tokens to a client that sends its current secret. The broker accepts unsigned tokens. */
async function serveTokens(): Promise<string> {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const receiver = await startReceiver(({ headers }) => {
    const given = Buffer.from(`${headers.authorization}`.slice("Basic ".length), "base64");
    const [client = "", secret] = `${given}`.split(":");
    if (secret === undefined || secrets.get(client) !== secret) return 401;
    tokens.set(client, tokensOf(client) + 1);
    const nowS = Math.floor(Date.now() / 1_000);
    const claims = { sub: "alice", iat: nowS, exp: nowS + TOKEN_S };
    const access_token = `${part({ alg: "none" })}.${part(claims)}.`;
    return { body: JSON.stringify({ access_token, expires_in: TOKEN_S }) };
  });
  cleanUp.use(receiver);
  return `${receiver.url}/token`;
}

const tokensOf = (client: string) => tokens.get(client) ?? 0;

/** Returns the settings for authentication with tokens. The client's secret is "s" until a test changes it. */
function tokenSasl(clientId: string, clientSecret = "s") {
  if (!secrets.has(clientId)) secrets.set(clientId, clientSecret);
  return { mechanism: "oauthbearer", tokenUrl, clientId, clientSecret, scope: null } as const;
}

const passwordSasl = (mechanism: "plain" | "scram-sha-256" | "scram-sha-512"): KafkaSasl => ({
  mechanism,
  username: "alice",
  password: PASSWORD,
});

function connection(sasl: () => KafkaSasl): KafkaConnection {
  const own = { brokers: [`127.0.0.1:${port}`], clientId: "sessions" };
  return {
    ...testConnection(own),
    get sasl() {
      return sasl();
    },
  };
}

function openKafka(): Kafka {
  const open = { ...connection(() => passwordSasl("plain")), brokers: [openAddress], sasl: null };
  return createKafka(open, new LogLines().log);
}

/**
 * Creates a topic with a producer and a consumer, all of whose connections have been used once.
 *
 * @param expect that of the test, because several tests run at the same time.
 */
async function startTraffic(expect: ExpectStatic, sasl: () => KafkaSasl) {
  const lines = new LogLines();
  const kafka = createKafka(connection(sasl), lines.log);
  const topic = `t${Math.random()}`;
  // A broker that has just started may take longer than a session to create a topic.
  const open = openKafka();
  await createTopics(open, [topic], 2);
  await open.close();
  const taker = new Taker({ finishesAtOnce: true });
  const consumer = consumeWith(kafka, taker, { groupId: topic, topics: [topic] });
  const producer = kafka.producer();
  expect(await producer.send([record(topic, "first")])).toEqual([]);
  await taker.untilTaken(1);
  let sent = 1;
  /** Failures of admin calls, which do not wait for the end of an outage, unlike the other calls. */
  const failures: string[] = [];
  const produce = async (): Promise<void> => {
    const batch = Array.from({ length: 5 }, (_, index) => record(topic, `${sent + index}`));
    sent += 6;
    const sending = [producer.send(batch), producer.send([record(topic, "beside")])];
    expect(await Promise.all(sending)).toEqual([[], []]);
  };
  /** Makes requests of all kinds, several at a time on one connection. */
  const work = async (): Promise<void> => {
    const asking = kafka.admin.topics().catch((error: unknown) => failures.push(String(error)));
    await Promise.all([produce(), asking]);
  };
  await work();
  // Commits use a separate connection.
  const committed = async () => (await kafka.admin.committed(topic, topic)).length;
  await expect.poll(committed).toBeGreaterThan(0);
  const end = async (): Promise<void> => {
    const taken = () => new Set(taker.taken.map(keyOf)).size;
    await taker.until(() => taken() >= sent);
    await consumer.stop();
    await kafka.close();
    expect(taken()).toBe(sent);
  };
  /** Returns the log lines so far, and the calls that failed. */
  const reported = () => [
    ...lines.seen.filter((msg) => msg !== "kafka.consumer.restarting"),
    ...failures,
  ];
  return { work, produce, end, reported, failures };
}

type Traffic = Awaited<ReturnType<typeof startTraffic>>;

/** Counts the connections to the broker that are opened from now on. */
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

async function workFor(periods: number, traffic: readonly Traffic[]) {
  const endMs = Date.now() + periods * SESSION_MS;
  while (Date.now() < endMs) {
    await Promise.all(traffic.map(({ work }) => work()));
    await sleep(20);
  }
}

/**
 * Expects that no connection is opened and nothing is logged during `act`. A process that gets no CPU for a tenth of a
 * session authenticates too late, and the broker disconnects it. In this case, the work is repeated once.
 */
async function unnoticed(
  expect: ExpectStatic,
  done: () => Promise<void>,
  traffic: readonly Traffic[],
): Promise<void> {
  const noticed = async () => {
    const before = traffic.map(({ reported }) => reported().length);
    using connections = countConnections();
    await done();
    const reported = traffic.flatMap((each, index) => each.reported().slice(before[index]));
    return { opened: connections.opened(), reported };
  };
  await expect.poll(noticed, { timeout: 150_000 }).toEqual({ opened: 0, reported: [] });
}

describe.skipIf(JAVA === null)("a broker that ends sessions after 4 s (needs Java)", () => {
  test("traffic continues over the same connections, busy or idle, with every mechanism, and without a line in the log", async ({
    expect,
  }) => {
    using atStart = countConnections();
    const passwords = (["plain", "scram-sha-256", "scram-sha-512"] as const).map(passwordSasl);
    const sasls = [...passwords, tokenSasl("steady")];
    const traffic = await Promise.all(
      sasls.map((authenticateToBroker) => startTraffic(expect, () => authenticateToBroker)),
    );
    expect(atStart.opened()).toBeGreaterThan(sasls.length * 3);
    await unnoticed(expect, () => workFor(PERIODS, traffic), traffic);
    const restAndWork = async () => {
      await sleep(SESSION_MS * 2);
      // The admin client closes its connections when it is idle.
      await Promise.all(traffic.map(({ produce }) => produce()));
    };
    await unnoticed(expect, restAndWork, traffic);
    await Promise.all(traffic.map(({ end }) => end()));
  });

  test.concurrent("a client secret that is rotated is used for the next token, under traffic", async ({
    expect,
  }) => {
    let sasl = tokenSasl("rotates");
    const traffic = await startTraffic(expect, () => sasl);
    secrets.set("rotates", "rotated");
    sasl = tokenSasl("rotates", "rotated");
    const before = tokensOf("rotates");
    const isGiven = async () => {
      await workFor(1, [traffic]);
      return tokensOf("rotates");
    };
    await expect.poll(isGiven).toBeGreaterThan(before);
    await traffic.end();
  });

  test.concurrent("without tokens for a while nothing is lost, and it continues when there are some", async ({
    expect,
  }) => {
    const authenticateToBroker = tokenSasl("without");
    const traffic = await startTraffic(expect, () => authenticateToBroker);
    secrets.set("without", "refused to everybody");
    const work = workFor(2, [traffic]);
    await sleep(TOKEN_S * 1_000 + SESSION_MS);
    secrets.set("without", "s");
    await work;
    await workFor(1, [traffic]);
    await traffic.end();
    const known = /No token from .*status 401|Closed connection/;
    expect(traffic.failures.filter((each) => !known.test(each))).toEqual([]);
  });

  test.concurrent.for(["plain", "scram-sha-256", "scram-sha-512"] as const)(
    "%s: a password that is fixes is used by the next connection",
    async (mechanism, { expect }) => {
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

  test.concurrent(
    "the program takes a client secret from its file, and the next one when that changes",
    runWithSecretFile,
  );
});

async function runWithSecretFile({ expect }: { readonly expect: ExpectStatic }): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), "switchyard-secret-"));
  cleanUp.defer(() => rmSync(directory, { recursive: true }));
  const [file, secret] = [join(directory, "switchyard.yaml"), join(directory, "secret")];
  const sasl = { ...tokenSasl("program"), clientSecret: "${file:secret}" };
  const options = {
    kafka: { brokers: [`127.0.0.1:${port}`], topicPrefix: "rotated.", partitions: 1, sasl },
    sources: [{ id: "web", destinations: ["left"] }],
    defaultSource: "web",
    destinations: [{ id: "left", type: "topic", name: "Left" }],
    admin: { host: "127.0.0.1", port: 0 },
  };
  // JSON is valid YAML.
  writeFileSync(file, JSON.stringify(options));
  writeFileSync(secret, "s\n");
  const { lines, stop } = useRun(file, ["route"], (end) => void cleanUp.defer(end));

  const kafka = openKafka();
  const topic = "rotated.deliveries.left";
  const routed = async () => (await kafka.admin.offsets(topic).catch(() => []))[0]?.end;
  await expect.poll(routed).toBe(0);
  const producer = kafka.producer();
  const publish = () =>
    producer.send([record("rotated.calls", '{"type":"track","userId":"u","event":"e"}')]);
  await publish();
  await expect.poll(routed).toBe(1);

  secrets.set("program", "rotated");
  writeFileSync(secret, "rotated\n");
  const before = tokensOf("program");
  // By then, the sessions with the first secret have ended.
  await expect.poll(() => tokensOf("program")).toBeGreaterThan(before + 1);
  await publish();
  await expect.poll(routed).toBe(2);
  expect(await stop()).toBe(0);
  await kafka.close();
  const applied = lines.lines.find(({ msg }) => msg === "config.applied");
  expect(JSON.stringify(applied?.fields)).toContain("kafka.sasl.clientSecret");
  expect(JSON.stringify(lines.lines)).not.toContain('"rotated"');
  // A busy machine authenticates too late, and the broker disconnects it.
  const bad = lines.lines.filter(({ level }) => level === "warn" || level === "error");
  expect(bad.filter(({ fields }) => fields.error !== "Closed connection")).toEqual([]);
}
