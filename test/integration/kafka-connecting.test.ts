// A command that cannot connect names the setting, immediately if waiting would not help. The broker requires
// authentication.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { PASSWORD } from "../../tools/kafka/security.ts";
import { JAVA } from "../support/kit/java.ts";
import { runCommand, useRun } from "../support/kit/program.ts";
import {
  CA,
  CERTIFICATE,
  type SecuredBroker,
  startSecuredBroker,
} from "../support/servers/secured-broker.ts";

const folder = mkdtempSync(join(tmpdir(), "switchyard-connecting-"));
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
const sasl = (mechanism: string, password = PASSWORD) =>
  `sasl: { mechanism: ${mechanism}, username: alice, password: ${JSON.stringify(password)} }`;

let broker: SecuredBroker | null = null;
beforeAll(async () => {
  if (JAVA !== null) broker = await startSecuredBroker(JAVA);
});
afterAll(async () => {
  await broker?.stop();
  rmSync(folder, { recursive: true });
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

describe.skipIf(JAVA === null)("a secured broker (needs Java)", () => {
  // The time limit of a test is much shorter than the time that the command may wait.
  test.each([
    [
      "a wrong password",
      "saslPort",
      [TLS, sasl("plain", "x")],
      "kafka.sasl.username and kafka.sasl.password",
    ],
    [
      "a wrong password",
      "saslPort",
      [TLS, sasl("scram-sha-512", "x")],
      "kafka.sasl.username and kafka.sasl.password",
    ],
    ["a mechanism not offered", "scramPort", [TLS, sasl("plain")], "kafka.sasl.mechanism"],
    ["no log-in", "saslPort", [TLS], "kafka.sasl, which is not set"],
    ["a log-in where there is none", "plainPort", [sasl("plain")], "kafka.sasl and the port"],
    ["an unknown authority", "saslPort", ["tls: true", sasl("plain")], "kafka.tls.ca"],
    ["another name", "saslPort", [OTHER_NAME, sasl("plain")], "kafka.tls.serverName"],
    ["no client certificate", "mtlsPort", [TLS], "kafka.tls.cert"],
    ["plain against TLS", "mtlsPort", [], "kafka.tls and the port"],
    ["plain and a log-in against TLS", "saslPort", [sasl("plain")], "kafka.tls and the port"],
    ["TLS against plain", "plainPort", [TLS], "kafka.tls and the port"],
  ] as const)("%s (%s)", async (_name, port, settings, check) => {
    const said = await connect(broker?.[port] ?? 0, settings, "1h");
    expect(said.err).toContain(`Check ${check}`);
    expect(said.err).toMatch(/^error: Kafka at 127\.0\.0\.1:\d+: .*\.\n$/m);
    expect(said).toMatchObject({ status: 1, out: "" });
  });

  test.each([
    ["it rejected the authentication with plain", "saslPort", [TLS, sasl("plain", "x")]],
    [
      "its certificate is from an authority that is not trusted",
      "saslPort",
      ["tls: true", sasl("plain")],
    ],
    ["it closes connections without TLS on this port", "mtlsPort", []],
    ["it does not respond without authentication", "saslPort", [TLS]],
  ] as const)("run logs kafka.waiting: %s", async (says, port, settings) => {
    const { status, lines, error } = await runOn(broker?.[port] ?? 0, settings);
    expect(lines).toContainEqual(
      expect.objectContaining({ level: "warn", cause: expect.stringContaining(says) }),
    );
    // Waiting does not help: the start ends with the same error.
    expect([status, error]).toEqual([null, expect.stringContaining(says)]);
  });

  test.each([
    ["saslPort", [TLS, sasl("scram-sha-256")]],
    ["scramPort", [TLS, sasl("scram-sha-512")]],
    ["mtlsPort", [MTLS]],
    ["plainPort", []],
  ] as const)("what fits connects (%s)", async (port, settings) => {
    const said = await connect(broker?.[port] ?? 0, settings, "1m");
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
