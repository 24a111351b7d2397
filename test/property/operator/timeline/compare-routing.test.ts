// `config diff --since` predicts what the route stage writes: a destination has a difference exactly if the records
// that the stage writes for it differ in a byte.

import fc from "fast-check";
import { expect, test } from "vitest";

import type { Config } from "../../../../src/config/config.ts";
import type { IncomingRecord, OutgoingRecord } from "../../../../src/domain/record.ts";
import { topicNames } from "../../../../src/domain/topics.ts";
import { RoutingComparison } from "../../../../src/operator/timeline/compare-routing.ts";
import { routeRecord } from "../../../../src/router/route/route-record.ts";
import { createRouting } from "../../../../src/router/route/routing.ts";
import { config } from "../../../support/build/config-source.ts";
import { rulesYaml } from "../../../support/build/ruled-call.ts";

const NOW = 1_800_000_000_000;

const RULES = [
  "",
  "enabled: false",
  "historical: false",
  "consent: { categories: [Ads], required: true }",
  "filters: [{ name: f, if: \"event = 'A'\", drop: true }]",
  "filters: [{ name: f, sample: { share: 0.5, by: userId } }]",
  "filters: [{ name: f, dropProperties: { properties: [email] } }]",
  "filters: [{ name: f, allowProperties: { properties: [total] } }]",
  "map: [{ hash: userId }]",
  "map: [{ copy: properties.total, to: properties.sum }]",
  "map: [{ remove: properties.email }, { set: properties.channel, value: web }]",
].map((rules) => config(rulesYaml(rules)));

const call = fc.record(
  {
    type: fc.constant("track"),
    event: fc.constantFrom("A", "B"),
    userId: fc.constantFrom("u-1", "u-2", "u-3"),
    messageId: fc.constantFrom("m-1", "m-2"),
    timestamp: fc.constant("2020-01-01T00:00:00Z"),
    properties: fc.record(
      { email: fc.string(), total: fc.double({ noNaN: true, noDefaultInfinity: true }) },
      { requiredKeys: [] },
    ),
    context: fc.constantFrom({}, { consent: { categoryPreferences: { Ads: true } } }),
    integrations: fc.constantFrom({}, { All: false }, { CRM: false }),
  },
  { requiredKeys: ["type", "event", "userId"] },
);

function routedBy({ sources, defaultSource, destinations }: Config) {
  const routing = createRouting(sources, defaultSource, destinations, topicNames(""));
  return { routing, destinations };
}

function written(record: IncomingRecord, by: Config): ReadonlyMap<string, string> {
  const routed = routeRecord(record, routedBy(by).routing, NOW);
  if (routed.kind === "unusable") return new Map();
  const textOf = ({ key, value, headers, sharedHeaders = [] }: OutgoingRecord) =>
    JSON.stringify([key, value, [...sharedHeaders, ...headers]].map((part) => `${part}`));
  return new Map(
    routed.records.map((each, index) => [routed.routes[index]?.destination ?? "", textOf(each)]),
  );
}

test("a difference is predicted exactly if route writes other bytes", () => {
  const configs = fc.constantFrom(...RULES);
  fc.assert(
    fc.property(configs, configs, call, (before, after, json) => {
      const value = Buffer.from(JSON.stringify(json));
      const record: IncomingRecord = {
        ...{ topic: "calls", partition: 0, offset: 7, timestampMs: NOW, key: null, value },
        headers: [["source-id", Buffer.from("web")]],
      };
      const comparison = new RoutingComparison(routedBy(before), routedBy(after));
      comparison.add(record, NOW);
      const [old, next] = [written(record, before), written(record, after)];
      const expected = ["crm", "plain"].filter((id) => old.get(id) !== next.get(id));
      const found = comparison.result();
      expect(found.map(({ destination }) => destination).toSorted()).toEqual(expected);
      for (const { destination, gained, lost, changed } of found) {
        expect(gained.count).toBe(Number(!old.has(destination)));
        expect(lost.length).toBe(Number(!next.has(destination)));
        expect(changed.count).toBe(Number(old.has(destination) && next.has(destination)));
      }
    }),
  );
});
