// The differences between two configurations: the table of changes.ts.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { applied, type Changes, changesOf, isUnchanged } from "../../../src/config/changes.ts";
import type { Config } from "../../../src/config/config.ts";
import { configHash } from "../../../src/config/hash.ts";
import { config as configWith } from "../../support/build/config-source.ts";

const TLS = join(import.meta.dirname, "../../golden/tls");

const BASE = `
kafka:
  brokers: [kafka-1:9092]
  tls: true
  sasl: { mechanism: plain, username: u, password: hunter2-a }
sources:
  - { id: web, writeKey: hunter2-b, destinations: [hook, left] }
  - { id: ios, destinations: [hook] }
defaultSource: web
destinations:
  - id: hook
    type: webhook
    sharedSecret: hunter2-hunter2-c
    endpoints:
      - { url: "https://a.example.com/hunter2-d", headers: { X-Key: hunter2-e } }
  - { id: left, type: topic, name: Left }
audiences: [{ id: vip, key: vip }]
registry: { url: "https://registry.example.com/hunter2-f", username: u, password: hunter2-g }
delivery: { retryWindow: 4h }
ingest: { tls: { cert: cert.pem, key: key.pem } }
`;

const NOTHING: Changes = {
  destinations: { added: [], removed: [], changed: [] },
  sources: { added: [], removed: [], changed: [] },
  audiences: { added: [], removed: [], changed: [] },
  atOnce: [],
  needsRestart: [],
};

/** The certificates' files, one of which has been renewed. */
const FILES = Object.fromEntries(
  ["cert.pem", "renewed.pem", "key.pem"].map((name) => {
    const text = readFileSync(join(TLS, name.replace("renewed", "cert")), "utf8");
    return [name, `${text}# ${name}`];
  }),
);

const config = (yaml: string): Config => configWith(yaml, {}, FILES);

function changed(from: string, to: string): Config {
  expect(BASE).toContain(from);
  return config(BASE.replace(from, to));
}

const hook = (...settings: readonly string[]): Partial<Changes> => ({
  destinations: { added: [], removed: [], changed: [{ id: "hook", settings }] },
});

/** Rows of the table: the change in the file, and the result. */
const ROWS: readonly (readonly [string, string, Partial<Changes>])[] = [
  ["delivery: { retryWindow: 4h }", "delivery: {}", {}],
  ["[{ id: vip, key: vip }]", "[{ key: vip, id: vip }]", {}],
  [
    "  - { id: left, type: topic, name: Left }",
    "  - { id: left, type: topic, name: Left }\n  - { id: new, type: topic, name: New }",
    { destinations: { added: ["new"], removed: [], changed: [] } },
  ],
  ["hunter2-hunter2-c", "hunter2-hunter2-z", hook("sharedSecret")],
  ["hunter2-d", "hunter2-z", hook("endpoints[0].url")],
  [
    "X-Key: hunter2-e }",
    "X-Key: hunter2-z, X.Y: hunter2-y }",
    hook("endpoints[0].headers.X-Key", 'endpoints[0].headers["X.Y"]'),
  ],
  [
    "headers: { X-Key: hunter2-e } }",
    'headers: { X-Key: hunter2-e } }\n      - { url: "https://b.example.com/" }',
    hook("endpoints[1]"),
  ],
  [
    "    type: webhook",
    "    type: webhook\n    concurrency: 8\n    tls: { cert: cert.pem, key: key.pem }",
    hook("concurrency", "tls"),
  ],
  [
    "writeKey: hunter2-b",
    "writeKeys: [hunter2-b, hunter2-z]",
    { sources: { added: [], removed: [], changed: [{ id: "web", settings: ["writeKeys"] }] } },
  ],
  [
    "[{ id: vip, key: vip }]",
    "[{ id: gold, key: vip }]",
    { audiences: { added: ["gold"], removed: ["vip"], changed: [] } },
  ],
  ["retryWindow: 4h }", "retryWindow: 4h, ca: cert.pem }", { atOnce: ["delivery.ca"] }],
  [
    "retryWindow: 4h }",
    'retryWindow: 4h, proxy: "https://u:hunter2-z@proxy.example.com:1", proxyCa: cert.pem }',
    { atOnce: ["delivery.proxy", "delivery.proxyCa"] },
  ],
  ["    type: webhook", "    type: webhook\n    proxy: none", hook("proxy")],
  [
    "    type: webhook",
    "    type: webhook\n    order: strict\n    onDeadLetter: hold",
    hook("order", "onDeadLetter"),
  ],
  [
    "cert: cert.pem, key: key.pem",
    "cert: renewed.pem, key: key.pem",
    { atOnce: ["ingest.tls.cert"] },
  ],
  ["\ningest: { tls: { cert: cert.pem, key: key.pem } }", "", { needsRestart: ["ingest.tls"] }],
  ["tls: true", "tls: { ca: cert.pem }", { atOnce: ["kafka.tls.ca"] }],
  ["tls: true", "tls: false", { needsRestart: ["kafka.tls"] }],
  ["hunter2-a", "hunter2-z", { atOnce: ["kafka.sasl.password"] }],
  ["hunter2-f", "hunter2-z", { atOnce: ["registry.url"] }],
  ["hunter2-g", "hunter2-z", { atOnce: ["registry.password"] }],
  [
    "username: u, password: hunter2-g",
    "token: hunter2-z, tls: { ca: cert.pem }",
    { atOnce: ["registry.password", "registry.tls", "registry.token", "registry.username"] },
  ],
  [
    'registry: { url: "https://registry.example.com/hunter2-f", username: u, password: hunter2-g }\n',
    "",
    { needsRestart: ["registry"] },
  ],
  ["mechanism: plain", "mechanism: scram-sha-512", { needsRestart: ["kafka.sasl.mechanism"] }],
  [
    "  sasl: { mechanism: plain, username: u, password: hunter2-a }\n",
    "",
    { needsRestart: ["kafka.sasl"] },
  ],
  [
    "retryWindow: 4h",
    "retryWindow: 3h, timeout: 4s",
    { needsRestart: ["delivery.retryWindow", "delivery.timeout"] },
  ],
  ["defaultSource: web", "defaultSource: ios", { needsRestart: ["defaultSource"] }],
  [
    "defaultSource: web",
    "audienceDefaults: { approvalShare: 0.5 }",
    { needsRestart: ["audienceDefaults.approvalShare", "defaultSource"] },
  ],
  ["brokers: [kafka-1:9092]", "brokers: [kafka-2:9092]", { needsRestart: ["kafka.brokers"] }],
];

const OF_ONE_PROCESS =
  /^(?:ingest|kafka\.(?:sasl|tls)|registry\.(?:username|password|token|tls))(?:\.|$)/;

function areOfOneProcess({ atOnce, needsRestart, ...lists }: Changes): boolean {
  const isOfLists = !isUnchanged({ ...NOTHING, ...lists });
  return !isOfLists && [...atOnce, ...needsRestart].every((path) => OF_ONE_PROCESS.test(path));
}

test.each(ROWS)("%s changed to %s", (from, to, expected) => {
  const before = config(BASE);
  const after = changed(from, to);
  const changes = changesOf(before, after);
  expect(changes).toEqual({ ...NOTHING, ...expected });
  expect(isUnchanged(changes)).toBe(Object.keys(expected).length === 0);
  // Two hashes differ exactly if a setting changes that all processes share.
  expect(configHash(before) === configHash(after)).toBe(areOfOneProcess(changes));
  expect(JSON.stringify(changes)).not.toContain("hunter2");
});

test("the order of a list is no change, and what is removed is named", () => {
  const before = config(BASE);
  const after: Config = { ...before, destinations: before.destinations.toReversed() };
  expect(isUnchanged(changesOf(before, after))).toBe(true);
  const none = changesOf(before, { ...before, destinations: [] });
  expect(none.destinations).toEqual({ added: [], removed: ["hook", "left"], changed: [] });
});

test("of a destination that becomes another type only that is reported", () => {
  const topic = "  - { id: hook, type: topic, name: Hook }";
  const after = config(BASE.replace(/ {2}- id: hook.*?\n(?= {2}- )/s, `${topic}\n`));
  expect(changesOf(config(BASE), after).destinations.changed).toEqual([
    { id: "hook", settings: ["type"] },
  ]);
});

test("a process takes over what applies at once, and keeps the rest", () => {
  const before = config(BASE);
  const after = config(
    BASE.replace("retryWindow: 4h", "retryWindow: 1h, ca: cert.pem")
      .replace("hunter2-a", "hunter2-z")
      .replace("id: ios", "id: tv")
      .replace("kafka-1", "kafka-2"),
  );
  const taken = applied(before, after);
  expect(taken.sources.map(({ id }) => id)).toEqual(["web", "tv"]);
  expect(taken.delivery).toEqual({ ...before.delivery, ca: after.delivery.ca });
  expect(taken.kafka).toEqual({ ...before.kafka, sasl: after.kafka.sasl });
  expect(changesOf(taken, after)).toEqual({
    ...NOTHING,
    needsRestart: ["delivery.retryWindow", "kafka.brokers"],
  });
});

test.each(ROWS)("after taking it over only what needs a restart is left: %s to %s", (from, to) => {
  const before = config(BASE);
  const after = changed(from, to);
  const { needsRestart } = changesOf(before, after);
  expect(changesOf(applied(before, after), after)).toEqual({ ...NOTHING, needsRestart });
});
