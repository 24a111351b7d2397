// What another configuration would change for calls. The property test compares this with what the route stage writes.

import { expect, test } from "vitest";

import type { Config } from "../../../../src/config/config.ts";
import type { IncomingRecord } from "../../../../src/domain/record.ts";
import { topicNames } from "../../../../src/domain/topics.ts";
import { CommandSchemas } from "../../../../src/operator/connect/command-schemas.ts";
import { configuredTopics } from "../../../../src/operator/connect/connection.ts";
import { RoutingComparison } from "../../../../src/operator/timeline/compare-routing.ts";
import { readComparison } from "../../../../src/operator/timeline/read-comparison.ts";
import { createRouting } from "../../../../src/router/route/routing.ts";
import { framed } from "../../../support/build/avro.ts";
import { config } from "../../../support/build/config-source.ts";
import { rulesYaml } from "../../../support/build/ruled-call.ts";
import { clockDriver } from "../../../support/clock/clock-driver.ts";
import { ManualClock } from "../../../support/clock/manual-clock.ts";
import { createPrng } from "../../../support/clock/prng.ts";
import { MemoryCluster } from "../../../support/memory-kafka/memory-kafka.ts";
import { scriptedSchemas } from "../../../support/worlds/scripted-schemas.ts";

const NOW = 1_800_000_000_000;

function routedBy({ sources, defaultSource, destinations }: Config) {
  return {
    routing: createRouting(sources, defaultSource, destinations, topicNames("")),
    destinations,
  };
}

/** A record of the default source. */
function record(call: object): IncomingRecord {
  return {
    ...{ topic: "calls", partition: 0, offset: 7, timestampMs: NOW, key: null },
    value: Buffer.from(JSON.stringify(call)),
    headers: [],
  };
}

const CALL = {
  type: "track",
  userId: "u-1",
  event: "Ordered",
  messageId: "m-1",
  properties: { email: "ada@example.com", total: 12 },
};

function compared(before: string, after: string, calls: readonly object[] = [CALL]) {
  const comparison = new RoutingComparison(routedBy(config(before)), routedBy(config(after)));
  for (const call of calls) comparison.add(record(call), NOW);
  return comparison.result();
}

const PLAIN = rulesYaml("");
const NONE = { count: 0, examples: [] };
const ONE = { count: 1, examples: ["m-1"] };
const NO_CHANGE = { ...NONE, properties: {} };

test("the same configuration has no differences", () => {
  expect(compared(PLAIN, PLAIN)).toEqual([]);
});

test.each([
  ["dropped by a filter", "filters: [{ name: f, drop: true }]", "filtered"],
  ["without consent", "consent: { categories: [Ads], required: true }", "no-consent"],
  ["not in the sample", "filters: [{ name: f, sample: { share: 0 } }]", "sampled-out"],
  ["disabled", "enabled: false", "disabled"],
])("a call that would be %s is lost, and gained the other way", (_, rules, reason) => {
  expect(compared(PLAIN, rulesYaml(rules))).toEqual([
    { destination: "crm", gained: NONE, lost: [{ reason, ...ONE }], changed: NO_CHANGE },
  ]);
  expect(compared(rulesYaml(rules), PLAIN)).toEqual([
    { destination: "crm", gained: ONE, lost: [], changed: NO_CHANGE },
  ]);
});

test("a destination that is removed loses all calls, and so does one that is not connected", () => {
  const [removed] = compared(
    PLAIN,
    PLAIN.replace("destinations: [crm, plain] }", "destinations: [crm] }").replace(
      "  - { id: plain, type: topic, name: Plain }",
      "",
    ),
  );
  expect(removed).toMatchObject({ destination: "plain", lost: [{ reason: "not-configured" }] });
  const [unconnected] = compared(PLAIN, PLAIN.replace("[crm, plain]", "[crm]"));
  expect(unconnected).toMatchObject({ destination: "plain", lost: [{ reason: "not-connected" }] });
});

test("a source that is removed makes its calls dead letters", () => {
  const removed = PLAIN.replace(/^ {2}- { id: web.*\n/m, "").replace("defaultSource: web\n", "");
  expect(compared(PLAIN, removed)[0]).toMatchObject({ lost: [{ reason: "unknown-source" }] });
});

test.each([
  ["map: [{ hash: userId }]", ["(key)", "userId"]],
  ["filters: [{ name: f, dropProperties: { properties: [email] } }]", ["properties.email"]],
  ["map: [{ move: properties.email, to: traits.email }]", ["properties.email", "traits.email"]],
  ["historical: false", []],
])("%s changes %j", (rules, paths) => {
  const late = { ...CALL, timestamp: "2020-01-01T00:00:00Z" };
  const [found] = compared(PLAIN, rulesYaml(rules), [late]);
  const properties = Object.keys(found?.changed.properties ?? {}).toSorted();
  expect(properties).toEqual(rules.startsWith("historical") ? ["(headers)"] : paths);
});

test("at most five message IDs are examples", () => {
  const calls = Array.from({ length: 9 }, (_, index) => ({ ...CALL, messageId: `m-${index}` }));
  const [found] = compared(PLAIN, rulesYaml("filters: [{ name: f, drop: true }]"), calls);
  expect(found?.lost).toEqual([
    { reason: "filtered", count: 9, examples: ["m-0", "m-1", "m-2", "m-3", "m-4"] },
  ]);
});

test("a thousand paths are counted one by one, and all others together", () => {
  const names = Array.from({ length: 1_002 }, (_, at) => `p${at}`);
  const properties = Object.fromEntries(names.map((name) => [name, 1]));
  const allow = rulesYaml("filters: [{ name: f, allowProperties: { properties: [none] } }]");
  const [crm] = compared(PLAIN, allow, [{ ...CALL, properties }]);
  const counted = crm?.changed.properties ?? {};
  expect(Object.keys(counted)).toHaveLength(1_001);
  expect([counted["properties.p0"], counted["(others)"]]).toEqual([1, 2]);
});

test("a call that cannot be read has no differences", () => {
  expect(compared(PLAIN, rulesYaml("enabled: false"), [{ type: "nothing" }])).toEqual([]);
});

test("a call that is nested deeply is compared like any other", () => {
  const [open, close] = [`{"a":`.repeat(100_000), "}".repeat(100_000)];
  const set = (value: string) => rulesYaml(`map: [{ set: properties.plan, value: ${value} }]`);
  const comparison = new RoutingComparison(
    routedBy(config(set("one"))),
    routedBy(config(set("two"))),
  );
  const deep = `{"odd":[${"[".repeat(100_000)}${"]".repeat(100_000)},${open}1${close}],${JSON.stringify(CALL).slice(1)}`;
  comparison.add({ ...record(CALL), value: Buffer.from(deep) }, NOW);
  expect(comparison.result()).toMatchObject([
    { changed: { ...ONE, properties: { "properties.plan": 1 } } },
  ]);
});

// Records are compared in the way in which the route stage reads them, with and without a registry.

const ODD_HEADER = ["__value_schema_id", Buffer.of(9)] as const;

/** Compares three records: one with a schema, one whose schema ID is cut, and JSON with a header that is not an ID. */
async function comparedRecords(schemas: CommandSchemas) {
  const clock = new ManualClock();
  const cluster = new MemoryCluster({ clock, random: createPrng(1) });
  const topic = configuredTopics(config(PLAIN)).calls;
  cluster.createTopic(topic, 1);
  const source = ["source-id", Buffer.from("web")] as const;
  const place = { topic, partition: 0, key: null };
  for (const value of [framed(7, Buffer.from("x")), Buffer.of(0, 1)]) {
    cluster.append({ ...place, value, headers: [source] });
  }
  const value = Buffer.from(JSON.stringify(CALL));
  cluster.append({ ...place, value, headers: [source, ODD_HEADER] });
  const ports = {
    ...{ kafka: cluster.connect(), schemas, nowMs: () => NOW, onRead: () => undefined },
    signal: new AbortController().signal,
  };
  const given = config(PLAIN);
  const after = config(rulesYaml("enabled: false"));
  const query = { current: given, before: given, after, sinceMs: 0, share: 1 };
  return await clockDriver(clock).during(readComparison(ports, query));
}

test("no registry: values with a schema are unknown-schema under both, and nothing is unread", async () => {
  const schemas = new CommandSchemas(null, new AbortController().signal);
  const found = await comparedRecords(schemas);
  // The stage does not look at the header if no registry is configured.
  const lost = [{ reason: "disabled", ...ONE }];
  expect(found).toMatchObject({ calls: 3, withoutSchema: 0, unread: [] });
  expect(found?.destinations).toMatchObject([{ destination: "crm", lost }]);
});

test("a registry that does not return only this schema: it is unknown-schema under both", async () => {
  const found = await comparedRecords(
    scriptedSchemas(() => ({ kind: "unavailable", error: "403" })),
  );
  expect(found).toEqual({ calls: 3, withoutSchema: 0, unread: [], destinations: [] });
});

test("a registry that is unreachable: the call is reported as not compared", async () => {
  const found = await comparedRecords(scriptedSchemas(() => ({ kind: "outage", error: "down" })));
  expect(found).toMatchObject({ calls: 2, withoutSchema: 1, destinations: [] });
});
