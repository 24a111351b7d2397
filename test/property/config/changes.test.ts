// Laws of changes, and of the changes that a process applies, for any two configurations.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";

import { applied, changesOf, isUnchanged } from "../../../src/config/changes.ts";
import type { Config } from "../../../src/config/config.ts";
import { configHash } from "../../../src/config/hash.ts";
import { config as configWith } from "../../support/build/config-source.ts";
import { costlyInputs } from "../../support/build/generated-inputs.ts";

const TLS = join(import.meta.dirname, "../../golden/tls");
const FILES = Object.fromEntries(
  ["cert.pem", "key.pem"].map((name) => [name, readFileSync(join(TLS, name), "utf8")]),
);
const PAIRS = "cert: cert.pem, key: key.pem";

const destination = fc.record({
  id: fc.constantFrom("a", "b", "c"),
  rest: fc.constantFrom(
    "type: topic, name: T",
    "type: topic, name: U",
    'type: webhook, endpoints: [{ url: "https://a.example.com/" }]',
    'type: webhook, endpoints: [{ url: "https://b.example.com/", headers: { A: "1", B: "2" } }]',
    'type: webhook, sharedSecret: s1, endpoints: [{ url: "https://b.example.com/" }, { url: "https://a.example.com/" }]',
    `type: webhook, tls: { ${PAIRS} }, paused: true, endpoints: [{ url: "https://a.example.com/" }]`,
  ),
});

const list = (ids: readonly string[], rests: readonly string[]) =>
  fc.uniqueArray(fc.record({ id: fc.constantFrom(...ids), rest: fc.constantFrom(...rests) }), {
    selector: ({ id }) => id,
    maxLength: 3,
  });

const someConfig = fc
  .record({
    destinations: fc.uniqueArray(destination, { selector: ({ id }) => id, maxLength: 3 }),
    sources: list(["web", "ios"], ["callsPerSecond: 5", "correctClock: false", "writeKeys: [KEY]"]),
    audiences: list(["x", "y"], ["approvalShare: 0.5", "source: null", "approvalMinimum: 7"]),
    tls: fc.constantFrom("", ", tls: true", ", tls: { ca: cert.pem }", `, tls: { ${PAIRS} }`),
    sasl: fc.constantFrom(
      "",
      ", sasl: { mechanism: plain, username: u, password: p }",
      ", sasl: { mechanism: plain, username: u, password: q }",
      ", sasl: { mechanism: scram-sha-256, username: u, password: p }",
      ', sasl: { mechanism: oauthbearer, tokenUrl: "https://t.example.com/", clientId: c, clientSecret: s }',
    ),
    ingestTls: fc.constantFrom("", `tls: { ${PAIRS} }`),
    partitions: fc.constantFrom(6, 7),
    registry: fc.constantFrom(
      "",
      'registry: { url: "https://r.example.com/" }',
      'registry: { url: "https://r.example.com/", username: u, password: p }',
      'registry: { url: ["https://r.example.com/", "https://s.example.com/"], token: t }',
      'registry: { url: "https://r.example.com/", oauth: { tokenUrl: "https://t.example.com/", clientId: c, clientSecret: s } }',
    ),
    delivery: fc.constantFrom("", "ca: cert.pem", "timeout: 1s", "ca: cert.pem, retryWindow: 1h"),
    level: fc.constantFrom("info", "debug"),
  })
  .map((given): Config => {
    const { destinations, sources, audiences, tls, sasl, ingestTls, delivery, level } = given;
    const entries = (of: readonly { readonly id: string; readonly rest: string }[]) =>
      of.map(({ id, rest }) => `{ id: ${id}, ${rest.replace("KEY", `key-${id}`)} }`).join(", ");
    return config(`
kafka: { brokers: [k:1], partitions: ${given.partitions}${tls}${sasl} }
destinations: [${entries(destinations)}]
sources: [${entries(sources)}]
audiences: [${entries(audiences)}]
ingest: { ${ingestTls} }
delivery: { ${delivery} }
log: { level: ${level} }
${given.registry}
`);
  });

const config = (yaml: string): Config => configWith(yaml, {}, FILES);

const numRuns = costlyInputs(10, 5_000);

test("after a change is taken over, exactly what needs a restart is left", () => {
  fc.assert(
    fc.property(someConfig, someConfig, (before, after) => {
      const { needsRestart, ...atOnce } = changesOf(before, after);
      const taken = applied(before, after);
      const lists = { added: [], removed: [], changed: [] };
      const none = { destinations: lists, sources: lists, audiences: lists, atOnce: [] };
      expect(changesOf(taken, after)).toEqual({ ...none, needsRestart });
      expect(changesOf(before, taken)).toEqual({ ...atOnce, needsRestart: [] });
      expect(applied(taken, after)).toEqual(taken);
    }),
    { numRuns },
  );
});

const OF_ONE_PROCESS =
  /^(?:ingest|admin|log|metrics|tracing|console|audience\.stateDir|kafka\.(?:sasl|tls)|registry\.(?:username|password|token|oauth|tls))(?:[.[]|$)/;

test("two configurations have the same hash exactly when nothing changes that all processes share", () => {
  fc.assert(
    fc.property(someConfig, someConfig, (before, after) => {
      const changes = changesOf(before, after);
      const isShared = (path: string) => !OF_ONE_PROCESS.test(path);
      const shared = {
        ...changes,
        atOnce: changes.atOnce.filter(isShared),
        needsRestart: changes.needsRestart.filter(isShared),
      };
      expect(configHash(before) === configHash(after)).toBe(isUnchanged(shared));
      expect(isUnchanged(changesOf(after, before))).toBe(isUnchanged(changes));
    }),
    { numRuns: costlyInputs(200, 300) },
  );
});
