// TLS, client certificates and every SASL mechanism, with a broker that requires them. A command that cannot connect
// names the setting, immediately if waiting would not help.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createKafka } from "../../src/kafka/kafka.ts";
import type { KafkaConnection } from "../../src/kafka/port.ts";
import { PASSWORD } from "../../tools/kafka/security.ts";
import { record } from "../support/contract/bench.ts";
import { Taker } from "../support/contract/taker.ts";
import { JAVA } from "../support/kit/java.ts";
import { untilFileEnds } from "../support/kit/lifetime.ts";
import { runCommand, useRun } from "../support/kit/program.ts";
import { useReceiver } from "../support/kit/receiver.ts";
import { LogLines } from "../support/log/log-lines.ts";
import {
  CA,
  CERTIFICATE,
  connection,
  NO_CERTIFICATE,
  type SecuredBroker,
  startSecuredBroker,
} from "../support/servers/secured-broker.ts";
import { consumeWith, createTopics } from "../support/worlds/test-kafka.ts";

const folder = mkdtempSync(join(tmpdir(), "switchyard-secured-"));
afterAll(() => rmSync(folder, { recursive: true }));
const file = (name: string, text: string) => {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
};
const TLS = `tls: { ca: ${JSON.stringify(file("ca.pem", CA))} }`;
const CERT = file("client.pem", CERTIFICATE.cert);
const KEY = file("client.key", CERTIFICATE.key);
const MTLS = TLS.replace(" }", `, cert: ${JSON.stringify(CERT)}, key: ${JSON.stringify(KEY)} }`);
const OTHER_NAME = TLS.replace(" }", ", serverName: kafka.example.com }");
const saslOf = (mechanism: string, password = PASSWORD) =>
  `sasl: { mechanism: ${mechanism}, username: alice, password: ${JSON.stringify(password)} }`;

const lifetime = untilFileEnds();
let broker: SecuredBroker;
let [saslPort, mtlsPort, tokenUrl] = [0, 0, ""];

beforeAll(async () => {
  if (JAVA === null) return;
  broker = await startSecuredBroker(JAVA);
  lifetime(broker.stop);
  ({ saslPort, mtlsPort } = broker);
  // The broker accepts tokens without a signature by default.
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const { url } = await useReceiver(() => {
    const nowS = Math.floor(Date.now() / 1_000);
    const claims = { sub: "alice", iat: nowS, exp: nowS + 600 };
    const access_token = `${part({ alg: "none" })}.${part(claims)}.`;
    return { body: JSON.stringify({ access_token, expires_in: 600 }) };
  }, lifetime);
  tokenUrl = `${url}/token`;
});

/** Creates a topic, writes to it, and reads from it. */
async function roundTrip(options: KafkaConnection): Promise<void> {
  const lines = new LogLines();
  const kafka = createKafka(options, lines.log);
  const topic = `t${Math.random()}`;
  await createTopics(kafka, [topic]);
  expect(await kafka.producer().send([record(topic, "value")])).toEqual([]);
  const taker = new Taker({ finishesAtOnce: true });
  const consumer = consumeWith(kafka, taker, { groupId: topic, topics: [topic] });
  await taker.untilTaken(1);
  await consumer.stop();
  await kafka.close();
  // The first group of a broker may have to wait for its coordinator, which is not a rejection.
  expect(lines.seen.filter((msg) => msg !== "kafka.consumer.restarting")).toEqual([]);
}

describe.skipIf(JAVA === null)("a secured broker (needs Java)", () => {
  test.each(["plain", "scram-sha-256", "scram-sha-512"] as const)("SASL %s", async (mechanism) => {
    const sasl = { mechanism, username: "alice", password: PASSWORD };
    await roundTrip(connection(saslPort, NO_CERTIFICATE, sasl));
  });

  test("SASL oauthbearer by client credentials", async () => {
    const credentials = { tokenUrl, clientId: "c", clientSecret: "s", scope: null };
    const sasl = { mechanism: "oauthbearer", ...credentials } as const;
    await roundTrip(connection(saslPort, NO_CERTIFICATE, sasl));
  });

  test("a client certificate", async () => {
    await roundTrip(connection(mtlsPort, CERTIFICATE, null));
  });

  test.each([
    ["localhost", /^$/],
    ["kafka.example.com", /not in the cert's altnames/],
  ])("the brokers' certificates are checked for the name %s", async (serverName, problem) => {
    const tls = { ...CERTIFICATE, serverName };
    const kafka = createKafka(connection(mtlsPort, tls, null), new LogLines().log);
    const error = await kafka.admin.topics().then(
      () => "",
      (cause: unknown) => `${cause}`,
    );
    await kafka.close();
    expect(error).toMatch(problem);
  });

  test.each([
    ["no client certificate", () => connection(mtlsPort, NO_CERTIFICATE, null)],
    [
      "an authority that we do not trust",
      () => connection(mtlsPort, { ...CERTIFICATE, ca: null }, null),
    ],
    [
      "a wrong password",
      () =>
        connection(saslPort, NO_CERTIFICATE, {
          mechanism: "plain",
          username: "alice",
          password: "wrong",
        }),
    ],
  ])("%s: rejected", async (_name, options) => {
    const lines = new LogLines();
    const kafka = createKafka(options(), lines.log);
    await expect(kafka.admin.topics()).rejects.toThrow("admin.topics");
    await kafka.close();
  });

  test("a wrong password crashes a consumer instead of being tried without end", async () => {
    const sasl = { mechanism: "scram-sha-512", username: "alice", password: "wrong" } as const;
    const kafka = createKafka(connection(saslPort, NO_CERTIFICATE, sasl), new LogLines().log);
    const crashed = Promise.withResolvers<Error>();
    kafka.consume({
      groupId: "g",
      topics: ["t"],
      partitionRecordsMax: 1,
      maxBytes: 1,
      whenFull: "hold",
      drainLimitMs: 1_000,
      onAssigned: new Taker().onAssigned,
      onCrash: crashed.resolve,
    });
    expect(`${await crashed.promise}`).toMatch(/SASL SCRAM-SHA-512 authentication failed/);
    await kafka.close();
  });
});

async function connect(port: number, settings: readonly string[], wait: string) {
  const kafka = [`brokers: ["127.0.0.1:${port}"]`, ...settings].join(", ");
  const config = file("switchyard.yaml", `kafka: { ${kafka} }\nsources: []\ndestinations: []\n`);
  return await runCommand(config, ["topics", "--kafka-timeout", wait]);
}

/** Returns what `run` logs as `kafka.waiting`, and how it ends. */
async function runOn(port: number, settings: readonly string[]) {
  const kafka = [`brokers: ["127.0.0.1:${port}"]`, "startTimeout: 1h", ...settings].join(", ");
  const at = file(
    "run.yaml",
    `kafka: { ${kafka} }\nsources: []\ndestinations: []\nadmin: { host: 127.0.0.1, port: 0 }\n`,
  );
  const { status: ended, lines } = useRun(at, ["route"]);
  const [status, error] = await ended.then(
    (value) => [value, ""],
    (reason: unknown) => [null, `${reason}`],
  );
  const waiting = lines.lines.filter(({ msg }) => msg === "kafka.waiting");
  return { status, error, lines: waiting.map(({ level, fields }) => ({ level, ...fields })) };
}

describe.skipIf(JAVA === null)("commands and `run` on a secured broker (need Java)", () => {
  // The time limit of a test is much shorter than the time that the command may wait.
  test.each([
    [
      "a wrong password",
      "saslPort",
      [TLS, saslOf("plain", "x")],
      "kafka.sasl.username and kafka.sasl.password",
    ],
    [
      "a wrong password",
      "saslPort",
      [TLS, saslOf("scram-sha-512", "x")],
      "kafka.sasl.username and kafka.sasl.password",
    ],
    ["a mechanism not offered", "scramPort", [TLS, saslOf("plain")], "kafka.sasl.mechanism"],
    ["no log-in", "saslPort", [TLS], "kafka.sasl, which is not set"],
    ["a log-in where there is none", "plainPort", [saslOf("plain")], "kafka.sasl and the port"],
    ["an unknown authority", "saslPort", ["tls: true", saslOf("plain")], "kafka.tls.ca"],
    ["another name", "saslPort", [OTHER_NAME, saslOf("plain")], "kafka.tls.serverName"],
    ["no client certificate", "mtlsPort", [TLS], "kafka.tls.cert"],
    ["plain against TLS", "mtlsPort", [], "kafka.tls and the port"],
    ["plain and a log-in against TLS", "saslPort", [saslOf("plain")], "kafka.tls and the port"],
    ["TLS against plain", "plainPort", [TLS], "kafka.tls and the port"],
  ] as const)("%s (%s)", async (_name, port, settings, check) => {
    const said = await connect(broker[port], settings, "1h");
    expect(said.err).toContain(`Check ${check}`);
    expect(said.err).toMatch(/^error: Kafka at 127\.0\.0\.1:\d+: .*\.\n$/m);
    expect(said).toMatchObject({ status: 1, out: "" });
  });

  test.each([
    ["it rejected the authentication with plain", "saslPort", [TLS, saslOf("plain", "x")]],
    [
      "its certificate is from an authority that is not trusted",
      "saslPort",
      ["tls: true", saslOf("plain")],
    ],
    ["it closes connections without TLS on this port", "mtlsPort", []],
    ["it does not respond without authentication", "saslPort", [TLS]],
  ] as const)("run logs kafka.waiting: %s", async (says, port, settings) => {
    const { status, lines, error } = await runOn(broker[port], settings);
    expect(lines).toContainEqual(
      expect.objectContaining({ level: "warn", cause: expect.stringContaining(says) }),
    );
    // Waiting does not help: the start ends with the same error.
    expect([status, error]).toEqual([null, expect.stringContaining(says)]);
  });

  test.each([
    ["saslPort", [TLS, saslOf("scram-sha-256")]],
    ["scramPort", [TLS, saslOf("scram-sha-512")]],
    ["mtlsPort", [MTLS]],
    ["plainPort", []],
  ] as const)("what fits connects (%s)", async (port, settings) => {
    const said = await connect(broker[port], settings, "1m");
    expect(said.err).toBe("");
    expect(said.out).toContain("to create");
  });
});

test("without a response, the wait ends, and the cause is reported meanwhile", async () => {
  const said = await connect(1, [], "3s");
  expect(said.status).toBe(1);
  expect(said.err).toContain(
    "Waiting for 3 s (--kafka-timeout). Kafka at 127.0.0.1:1: connect ECONNREFUSED",
  );
  expect(said.err).toMatch(
    /error: No Kafka broker responded within 3 s at 127\.0\.0\.1:1: .*refused/i,
  );
  expect(said.err).toContain("Check kafka.brokers");
});

test.each(["soon", "25h"])("--kafka-timeout %s is wrong usage", async (wait) => {
  expect((await connect(1, [], wait)).status).toBe(2);
});
