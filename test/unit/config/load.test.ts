// The files of the configuration: YAML with line numbers, PEM files, and how secrets are printed.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { pathText, problemText } from "../../../src/base/settings/problem.ts";
import { type Loaded, loadConfig } from "../../../src/config/load.ts";
import { printConfig } from "../../../src/config/print.ts";
import { readYaml } from "../../../src/config/yaml.ts";
import { isAttempted } from "../../../src/domain/destination.ts";
import { endpointNames } from "../../../src/domain/endpoint-name.ts";
import { SMALL } from "../../support/build/config-source.ts";

const TLS = join(import.meta.dirname, "../../golden/tls");
const folder = mkdtempSync(join(tmpdir(), "switchyard-config-"));
const CERT = readFileSync(join(TLS, "cert.pem"), "utf8");
const KEY = readFileSync(join(TLS, "key.pem"), "utf8");
afterAll(() => rmSync(folder, { recursive: true }));

function load(yaml: string | Buffer, env: Record<string, string> = {}): Loaded {
  const file = join(folder, "switchyard.yaml");
  writeFileSync(file, yaml);
  return loadConfig({ file, env });
}

function everything(loaded: Loaded): string {
  if (loaded.kind === "config") return printConfig(loaded.given);
  return loaded.problems.map((problem) => problemText(problem)).join("\n");
}

test.each([
  ["a: 1\na: 2", 'the key "a" twice in a map, in lines 1 and 2'],
  ["s:\n  - { a: 1,\n      b: 2,\n      a: 3 }", 'the key "a" twice in a map, in lines 2 and 4'],
  ['{\n"a": 1,\n"b": { "c": "\\"d: " },\n"a": 2 }', 'the key "a" twice in a map, in lines 2 and 4'],
  ['{ "b": { "a": 1, "a": [{ "c": ":" }] } }', 'the key "a" twice in a map, in lines 1 and 1'],
  ['{ "a": 1,', "(line 1"],
  ["a: [1, 2", "(line 1, column 9)"],
  ["a: 1\n\tb: 2", "(line 2"],
  ["a: *nowhere", "an alias without its anchor"],
  ["a: !secret x", "(line 1, column 4)"],
  ["a: !!set { b }", "Unresolved tag: (hidden) (line 1, column 4)"],
  ["a: !!omap [{ b: 3 }]", "Unresolved tag"],
  ["a: !!timestamp 2001-12-14", "Unresolved tag"],
  ["a: !!binary aGk=", "Unresolved tag"],
  ["%YAML 1.1\n---\na: !!set { b }", "Unresolved tag"],
  ["a: 1\n---\nb: 2", "documents"],
  ["a: &a [*a]", "an alias inside its own anchor"],
])("%s is no YAML that can be read", (text, found) => {
  const read = readYaml(text);
  expect(read.kind).toBe("invalid");
  expect(read.kind === "invalid" && read.problems[0]?.found).toContain(found);
});

test("at most 100 problems are reported, and the number of the others", () => {
  const keys = Array.from({ length: 350 }, (_, at) => `k${at}: 1`);
  const loaded = load(`kafka: { brokers: [a:1] }\n${keys.join("\n")}`);
  const problems = loaded.kind === "invalid" ? loaded.problems : [];
  expect(problems.length).toBe(101);
  expect(problems[100]?.found).toMatch(/^25\d other problems$/);
  const twice = load(keys.map(() => "k: 1").join("\n"));
  expect(twice.kind === "invalid" && twice.problems[100]?.found).toBe("249 other problems");
});

test("20,000 brackets are no YAML that can be read", () => {
  const read = readYaml("[".repeat(20_000));
  expect(read.kind === "invalid" && read.problems[0]?.found).toContain("line 1");
});

test("20,000 brackets in JSON are no YAML that can be read", () => {
  const text = `{ "a": ${"[".repeat(20_000)}${"]".repeat(20_000)} }`;
  expect(readYaml(text)).toMatchObject({ kind: "invalid" });
});

test("JSON is read as the same YAML, and its problems have lines", () => {
  const text =
    '{\n  "a": ["x: \\"y\\"", 1.5, true, null, { "b-c": {} }],\n  "é: \\u00e9": "#"\n}\n';
  const [json, yaml] = [readYaml(text), readYaml(`# YAML\n${text}`)];
  expect(json).toMatchObject({ kind: "yaml", tree: JSON.parse(text) });
  expect(yaml).toMatchObject({ kind: "yaml", tree: JSON.parse(text) });
  const problems = [{ path: ["kafka", "partitions"], line: 3 }];
  const invalid = '{\n"kafka": { "brokers": ["a:1"],\n"partitions": 0 } }';
  expect(load(invalid)).toMatchObject({ problems });
});

test("a date is a text, in YAML 1.1 too", () => {
  const read = readYaml("%YAML 1.1\n---\na: 2001-12-14\nb: !!str 5");
  expect(read).toMatchObject({ tree: { a: "2001-12-14", b: "5" } });
});

test("anchors and aliases work", () => {
  const loaded = load(`
kafka: { brokers: [a:1] }
destinations:
  - { id: a, type: webhook, endpoints: &same [{ url: "https://a.example.com/" }] }
  - { id: b, type: webhook, endpoints: *same }
`);
  expect(loaded).toMatchObject({ config: { destinations: [{ id: "a" }, { id: "b" }] } });
});

test("problems have the line of the value, in the order of the file", () => {
  const loaded = load("log:\n  level: loud\nkafka:\n  brokers: [a:1]\n  partitions: 0\nx: 1");
  expect(loaded).toMatchObject({
    problems: [
      { path: ["log", "level"], line: 2 },
      { path: ["kafka", "partitions"], line: 5 },
      { path: ["x"], line: 6 },
    ],
  });
});

test.each([
  [`# é\n${SMALL}`, "latin1", 1],
  [SMALL.replace("k1", "clé"), "latin1", 4],
  [`${SMALL}# é`, "utf8", null],
  [SMALL, "utf8", null],
  [`\ufeff${SMALL}`, "utf8", null],
  [`\ufeff${SMALL}`, "utf16le", 1],
] as const)("%j in %s has its first problem in line %j", (text, encoding, line) => {
  const loaded = load(Buffer.from(text, encoding));
  if (line === null) expect(loaded.kind).toBe("config");
  else expect(loaded).toMatchObject({ problems: [{ path: [], line, expected: "text in UTF-8" }] });
});

test("a file of certificates may have comments in another encoding", () => {
  writeFileSync(join(folder, "latin1.pem"), Buffer.from(`# é\n${CERT}`, "latin1"));
  const loaded = load("kafka: { brokers: [a:1] }\ndelivery: { ca: latin1.pem }");
  expect(everything(loaded)).toContain("ca: latin1.pem");
});

test("a file that is not there is a problem", () => {
  const loaded = loadConfig({ file: join(folder, "none.yaml"), env: {} });
  expect(everything(loaded)).toContain("none.yaml, which cannot be read: there is no such file");
});

test("PEM files are read relative to the configuration's folder", () => {
  writeFileSync(join(folder, "cert.pem"), CERT);
  const tls = `{ ca: cert.pem, cert: cert.pem, key: ${join(TLS, "key.pem")} }`;
  const loaded = load(`kafka: { brokers: [a:1], tls: ${tls} }\ndelivery: { ca: cert.pem }`);
  expect(loaded).toMatchObject({
    config: { kafka: { tls: { ca: CERT, cert: CERT, key: KEY } }, delivery: { ca: CERT } },
  });
});

test.each([
  ["ca: none.pem", "kafka.tls.ca", "there is no such file"],
  ["ca: .", "kafka.tls.ca", "it is a folder"],
  ["ca: 1", "kafka.tls.ca", "1"],
  ["ca: switchyard.yaml", "kafka.tls.ca", "no CERTIFICATE block"],
  ["ca: broken.pem", "kafka.tls.ca", "cannot be used"],
  ["ca: TLS/key.pem", "kafka.tls.ca", "no CERTIFICATE block"],
  ["cert: TLS/cert.pem", "kafka.tls.key", "nothing"],
  ["key: TLS/key.pem", "kafka.tls.cert", "nothing"],
  ["{ cert: TLS/cert.pem, key: TLS/cert.pem }", "kafka.tls.key", "cannot be used"],
  ["{ cert: TLS/cert.pem, key: TLS/encrypted-key.pem }", "kafka.tls.key", "cannot be used"],
  ["{ cert: TLS/cert.pem, key: TLS/other-key.pem }", "kafka.tls.key", "another certificate's key"],
])("tls %s is rejected", (tls, path, found) => {
  writeFileSync(join(folder, "broken.pem"), CERT.replace(/\n..../, "\nAAAA"));
  const map = (tls.startsWith("{") ? tls : `{ ${tls} }`).replaceAll("TLS", TLS);
  const loaded = load(`kafka: { brokers: [a:1], tls: ${map} }`);
  if (loaded.kind === "config") throw new Error("accepted");
  expect(loaded.problems.map((problem) => pathText(problem.path))).toEqual([path]);
  expect(loaded.problems[0]?.found).toContain(found);
});

const SECRETS = `
kafka:
  brokers: [a:1]
  sasl: { mechanism: plain, username: u, password: hunter2-a }
sources:
  - { id: web, writeKey: hunter2-b, destinations: [hook] }
  - { id: ios, writeKeys: [hunter2-c, "\${KEY:-hunter2-d}"] }
destinations:
  - id: hook
    type: webhook
    sharedSecret: hunter2-e
    previousSharedSecret: hunter2-f
    endpoints:
      - { url: "https://a.example.com/?token=hunter2-g", headers: { X-Key: hunter2-h } }
      - { url: "https://b.example.com/\${PATH_SECRET}" }
      - { url: "https://c.example.com/hunter2-k" }
      - { url: "https://d.example.com/?hunter2-l" }
`;

test("the printed configuration shows no secret, and everything else", () => {
  const env = { SWITCHYARD_KAFKA_PARTITIONS: "12", PATH_SECRET: "hunter2-i", KEY: "hunter2-j" };
  const printed = everything(load(SECRETS, env));
  expect(printed).not.toContain("hunter2");
  expect(printed).toContain("partitions: 12 # SWITCHYARD_KAFKA_PARTITIONS");
  expect(printed).toContain("url: https://a.example.com/(hidden)");
  expect(printed).toContain("X-Key: (hidden)");
  expect(printed).toContain("timeout: 5s");
  expect(printed).toContain("- 60m");
});

// Each line makes a setting with a secret invalid. The problem must not quote the secret.
test.each([
  ["password: hunter2-a", "password: [hunter2-a]"],
  ["mechanism: plain, username: u", "mechanism: oauthbearer"],
  ["writeKey: hunter2-b", "writeKey: { a: hunter2-b }"],
  ["writeKey: hunter2-b", "writekey: hunter2-b"],
  ["hunter2-c,", "hunter2-b,"],
  ["sharedSecret: hunter2-e", "sharedSecret: *hunter2-e"],
  ["sharedSecret: hunter2-e", "sharedSecret: !hunter2-e"],
  ["sharedSecret: hunter2-e", 'sharedSecret: "hunter2-e'],
  ["sharedSecret: hunter2-e", "sharedSecret: @hunter2-e"],
  ["sharedSecret: hunter2-e", "sharedSecret: a: hunter2-e"],
  ["sharedSecret: hunter2-e", 'sharedSecret: "\\hunter2-e"'],
  ["sharedSecret: hunter2-e", "sharedSecret: |hunter2-e"],
  ["sharedSecret: hunter2-e", 'sharedSecret: "${hunter2-e"'],
  ["headers: { X-Key: hunter2-h }", "headers: hunter2-h"],
  ["X-Key: hunter2-h", 'X-Key: "hunter2-hé"'],
  ["https://a.example.com/", "ftp://u:hunter2@a.example.com/"],
  ["https://a.example.com/", "hunter2:hunter2@a.example.com/"],
  ["https://b.example.com/", "https://a.example.com/?token=hunter2-g#"],
  ["brokers: [a:1]", "brokers: []"],
  ["  sasl: {", "  sasl: hunter2\n  x: {"],
  ["sources:", "sources: hunter2\nx:"],
])("with %s changed to %s no problem shows a secret", (from, to) => {
  const loaded = load(SECRETS.replace(from, to), { PATH_SECRET: "hunter2-i" });
  expect(loaded.kind).toBe("invalid");
  expect(everything(loaded)).not.toContain("hunter2");
});

test("the small configuration loads", () => {
  expect(load(SMALL).kind).toBe("config");
});

// What commands on Kafka need: the table of parse.ts.

const WHOLE = `
kafka: { brokers: [kafka-1:9092], topicPrefix: own. }
sources:
  - { id: web, writeKey: "\${WEB_KEY}", destinations: [hook, lake] }
destinations:
  - { id: hook, type: webhook, name: Hook, paused: true, endpoints: [{ url: "https://a.example.com/" }] }
  - { id: lake, type: topic, name: Lake }
defaultSource: web
delivery: { retryDelays: [1m, 2m] }
attempts: { enabled: true }
`;

const SET = { WEB_KEY: "k" };

function forKafka(yaml: string, env: Record<string, string> = SET) {
  const file = join(folder, "needs.yaml");
  writeFileSync(file, yaml);
  return loadConfig({ file, env, needs: "kafka" });
}

const swap = (from: string, to: string) => {
  if (!WHOLE.includes(from)) throw new Error(`${from} is not in the file`);
  return WHOLE.replace(from, to);
};

test.each([
  ["an unset write key", WHOLE, `sources[0].writeKey (line 4): found \${WEB_KEY}`, {}],
  ["an unset URL", swap("https://a.example.com/", `\${URL}`), "endpoints[0].url", SET],
  ["a wrong setting", swap("attempts:", "log: { level: loud }\nattempts:"), "log.level", SET],
  ["an unknown section", `${WHOLE}nonsense: 1\n`, "nonsense", SET],
  ["a wrong type", swap("sources:\n", "sources: 5\nother:\n"), "sources", SET],
  ["an unknown destination", swap("[hook, lake]", "[hook, nobody]"), "destinations[1]", SET],
  ["a wrong filter", swap("paused: true,", "paused: true, filters: 7,"), "filters", SET],
  ["a missing file", `${WHOLE}include: [nobody.yaml]\n`, "nobody.yaml", SET],
  ["a variable", WHOLE, "ingest.port", { ...SET, SWITCHYARD_INGEST_PORT: "many" }],
])(
  "%s is one warning for a command on Kafka, and a problem for others",
  (_what, yaml, found, env) => {
    const loaded = forKafka(yaml, { ...env });
    if (loaded.kind !== "config") throw new Error(JSON.stringify(loaded.problems));
    expect(loaded.warnings).toHaveLength(1);
    expect(loaded.warnings[0]).toContain(found);
    expect(loaded.warnings[0]).toContain("does not need");
    expect(loaded.config.kafka).toMatchObject({ brokers: ["kafka-1:9092"], topicPrefix: "own." });
    expect(loaded.config.destinations).toMatchObject([
      { id: "hook", isAttempted: true, paused: true },
      { id: "lake", isAttempted: false },
    ]);
    expect(loaded.config.delivery.retryDelaysMs).toEqual([60_000, 120_000]);
    expect(loaded.config.attempts.enabled).toBe(true);
    expect(loaded.hash).toBe("");
    expect(load(yaml, { ...env }).kind).toBe("invalid");
  },
);

test.each([
  ["an unset variable in kafka", swap("own.", `\${PREFIX}`)],
  ["no kafka", swap("kafka:", "kafca:")],
  ["a file that is not YAML", `${WHOLE}a: [`],
  ["a key twice", `${WHOLE}log: {}\nlog: {}\n`],
  ["a list instead of a map", "[]"],
])("%s is a problem for a command on Kafka, too", (_what, yaml) => {
  expect(forKafka(yaml)).toMatchObject({ kind: "invalid" });
});

test("endpoints whose URLs are unknown keep their IDs and positions, to which dead letters refer", () => {
  const known = '{ url: "https://a.example.com/" }';
  const loaded = forKafka(swap(known, `{ url: "\${A}" }, { id: eu, url: "\${B}" }`));
  if (loaded.kind !== "config") throw new Error(JSON.stringify(loaded.problems));
  const [hook] = loaded.config.destinations.filter(isAttempted);
  expect(hook && [...endpointNames(hook).values()].map(({ id }) => id)).toEqual(["1", "eu"]);
});

test.each([
  ["type: webhook, name: Hook", "filters: 7"],
  ["type: topic, name: Lake", "filters: 7"],
])("a destination that a command on Kafka does not read completely is kept: %s", (of, wrong) => {
  const loaded = forKafka(swap(of, `${of}, ${wrong}`));
  expect(loaded.kind === "config" && loaded.config.destinations.map(({ id }) => id)).toEqual([
    "hook",
    "lake",
  ]);
});

test("a destination that is not read completely keeps its order", () => {
  const strict = "paused: true, order: strict, onDeadLetter: hold, filters: 7";
  const loaded = forKafka(swap("paused: true", strict));
  expect(loaded.kind === "config" && loaded.config.destinations[0]).toMatchObject({
    order: "strict",
    onDeadLetter: "hold",
  });
});

test("a destination without a valid ID or type is omitted, and the others stay", () => {
  for (const yaml of [
    swap("id: lake", "id: La/ke"),
    swap("type: topic", "type: tropic"),
    swap("id: lake", "id: hook"),
  ]) {
    const loaded = forKafka(yaml);
    expect(loaded.kind === "config" && loaded.config.destinations.map(({ id }) => id)).toEqual([
      "hook",
    ]);
  }
});

test("without problems, a command on Kafka reads what the others read", () => {
  const loaded = forKafka(WHOLE);
  expect(loaded).toEqual({ ...load(WHOLE, SET), files: loaded.files });
});

test("the state directory is relative to the configuration file, as other paths are", () => {
  const dir = (yaml: string, env = {}) => {
    const loaded = load(yaml, env);
    return loaded.kind === "config" ? loaded.config.audience.stateDir : null;
  };
  expect(dir(SMALL)).toBe(join(folder, "state"));
  expect(dir(`${SMALL}audience: { stateDir: ../elsewhere }\n`)).toBe(join(folder, "../elsewhere"));
  expect(dir(`${SMALL}audience: { stateDir: /var/lib/state }\n`)).toBe("/var/lib/state");
  expect(dir(SMALL, { SWITCHYARD_AUDIENCE_STATE_DIR: "own" })).toBe(join(folder, "own"));
});
