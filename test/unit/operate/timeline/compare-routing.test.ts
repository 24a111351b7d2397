// What another configuration would change for calls. The property test compares this with what the route stage writes.

import { expect, test } from "vitest";

import type { Config } from "../../../../src/config/config.ts";
import type { IncomingRecord } from "../../../../src/domain/record.ts";
import { topicNames } from "../../../../src/domain/topics.ts";
import { RoutingComparison } from "../../../../src/operate/timeline/compare-routing.ts";
import { createRouting } from "../../../../src/route/routing.ts";
import { config } from "../../../support/build/config-source.ts";
import { rulesYaml } from "../../../support/build/ruled-call.ts";

const NOW = 1_800_000_000_000;

function routedBy({ sources, defaultSource, destinations }: Config) {
  return {
    routing: createRouting(sources, defaultSource, destinations, topicNames("")),
    destinations,
  };
}

function record(call: object, source = "web"): IncomingRecord {
  return {
    ...{ topic: "calls", partition: 0, offset: 7, timestampMs: NOW, key: null },
    value: Buffer.from(JSON.stringify(call)),
    headers: [["source-id", Buffer.from(source)]],
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
