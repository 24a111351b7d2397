// The settings that the hash of a configuration covers.

import { expect, test } from "vitest";

import { configHash } from "../../../src/config/hash.ts";
import { config } from "../../support/build/config-source.ts";

const TWO = `
kafka: { brokers: [kafka-1:9092] }
sources:
  - { id: web, writeKey: k1, destinations: [a, b] }
  - { id: ios, writeKey: k2, destinations: [a] }
destinations:
  - { id: a, type: webhook, sharedSecret: one-of-the-secrets, endpoints: [{ url: "https://a.example.com/", headers: { X-A: a } }] }
  - { id: b, type: topic, name: B }
audiences: [{ id: x, key: k, integrations: { All: true, B: false } }, { id: y }]
`;

function hash(from = "", to = "", env: Record<string, string> = {}): string {
  expect(TWO).toContain(from);
  return configHash(config(TWO.replace(from, to), env));
}

test("it has 12 hex digits", () => {
  expect(hash()).toMatch(/^[\da-f]{12}$/);
});

test.each([
  ["one-of-the-secrets", "another-secret-of-it"],
  ["X-A: a", "X-A: b"],
  ["https://a.example.com/", "https://a.example.com/b"],
  ["writeKey: k1", "writeKey: k3"],
  ["destinations: [a, b]", "destinations: [a]"],
  ["name: B", "name: C"],
  ["B: false", "B: true"],
  ["kafka-1", "kafka-2"],
])("%s changed to %s changes it", (from, to) => {
  expect(hash(from, to)).not.toBe(hash());
});

test("the environment counts", () => {
  expect(hash("", "", { SWITCHYARD_KAFKA_PARTITIONS: "9" })).not.toBe(hash());
});

test.each([
  ["{ All: true, B: false }", "{ B: false, All: true }"],
  ["{ id: x,", "{ id: y }, { id: x, "],
  ["kafka: {", "log: { level: info }\nkafka: { partitions: 6, "],
])("an order or a stated default does not count: %s as %s", (from, to) => {
  const again = to.includes("id: y") ? TWO.replace(", { id: y }]", "]").replace(from, to) : null;
  expect(again === null ? hash(from, to) : configHash(config(again))).toBe(hash());
});

test.each(["ADMIN_HOST", "ADMIN_PORT", "INGEST_HOST", "INGEST_PORT", "AUDIENCE_STATE_DIR"])(
  "SWITCHYARD_%s is of one process and does not count",
  (name) => {
    expect(hash("", "", { [`SWITCHYARD_${name}`]: "1234" })).toBe(hash());
  },
);

const OF_ONE_PROCESS: readonly (readonly [string, string])[] = [
  ["kafka.sasl", "kafka: { sasl: { mechanism: plain, username: deliver, password: p },"],
  ["kafka.tls", "kafka: { tls: true,"],
  ["registry's log-in", 'registry: { url: "https://r:8081", username: u, password: p }'],
  ["registry's token", 'registry: { url: "https://r:8081", token: t }'],
  [
    "ingest",
    "ingest: { host: localhost, port: 81, maxConnections: 9, maxInFlightBytes: 1MiB, handover: 1s }",
  ],
  ["admin", "admin: { reload: true }"],
  ["console", "console: { port: 9000, token: 0123456789abcdef }"],
  ["log", "log: { level: debug, attempts: failures }"],
  ["metrics", "metrics: { destinations: counts }"],
  ["tracing", 'tracing: { url: "http://10.0.0.7:4318/v1/traces", headers: { X-Key: k } }'],
];

test.each(OF_ONE_PROCESS)("%s is of one process and does not count", (name, line) => {
  const isOfKafka = name.startsWith("kafka");
  const others = name.startsWith("registry") ? `${TWO}registry: { url: "https://r:8081" }` : TWO;
  const changed = isOfKafka
    ? TWO.replace("kafka: {", line)
    : others.replace('registry: { url: "https://r:8081" }', "") + line;
  expect(configHash(config(changed))).toBe(configHash(config(others)));
});

test("which pages may send calls counts, and so does the registry", () => {
  const [one, two] = ["https://a.example.com", "https://b.example.com"].map((origin) =>
    configHash(config(`${TWO}ingest: { corsOrigins: ["${origin}"] }`)),
  );
  expect(one).not.toBe(two);
  expect(configHash(config(`${TWO}registry: { url: "https://r:8081" }`))).not.toBe(hash());
});
