// The metric of skipped calls agrees with `explain` for each call: one reason for each destination that does not get
// the call, however the counts of a batch are added up.

import fc from "fast-check";
import { expect, test } from "vitest";
import { createMetrics } from "../../../../src/base/telemetry/instruments.ts";
import type { IncomingRecord } from "../../../../src/domain/record.ts";
import { topicNames } from "../../../../src/domain/topics.ts";
import { countRouted } from "../../../../src/router/route/count-routed.ts";
import { explained, readCall, routeCall } from "../../../../src/router/route/route-record.ts";
import { createRouting } from "../../../../src/router/route/routing.ts";
import { config } from "../../../support/build/config-source.ts";

const NOW = 1_800_000_000_000;

/** Names are repeated, and `app` has no destination with rules. */
const { sources, defaultSource, destinations } = config(`
kafka: { brokers: ["kafka-1:9092"] }
sources:
  - { id: web, writeKey: web-key, destinations: [plain, twin, consenting, filtering, both] }
  - { id: app, writeKey: app-key, destinations: [plain, twin] }
destinations:
  - { id: plain, type: topic, name: Plain }
  - { id: twin, type: topic, name: Plain }
  - { id: consenting, type: topic, name: Ads, consent: { categories: [Ads], required: true } }
  - { id: filtering, type: topic, name: Events, filters: [{ name: f, if: "event = 'B'", drop: true }] }
  - id: both
    type: topic
    name: Both
    consent: [Ads]
    filters: [{ name: f, sample: { share: 0.5, by: userId } }]
`);
const routing = createRouting(sources, defaultSource, destinations, topicNames(""));

const flag = fc.constantFrom(true, false, null, {});
const call = fc.record(
  {
    type: fc.constant("track"),
    event: fc.constantFrom("A", "B"),
    userId: fc.constantFrom("u-1", "u-2", "u-3", "u-4"),
    integrations: fc.record(
      { All: flag, Plain: flag, Ads: flag, Events: flag, Both: flag, constructor: flag },
      { requiredKeys: [] },
    ),
    context: fc.constantFrom(
      {},
      { consent: { categoryPreferences: { Ads: true } } },
      { consent: { categoryPreferences: {} } },
    ),
  },
  { requiredKeys: ["type", "event", "userId"] },
);

function routedCall(json: object, source: string) {
  const record: IncomingRecord = {
    ...{ topic: "calls", partition: 0, offset: 7, timestampMs: NOW, key: null },
    value: Buffer.from(JSON.stringify(json)),
    headers: [["source-id", Buffer.from(source)]],
  };
  const read = readCall(record, routing.lookup, NOW);
  if (read.kind === "refused") throw new Error(read.error);
  const routed = routeCall(record, read, routing);
  return { routed, decisions: explained(read.call, routed, destinations) };
}

/** Returns the counts by destination and reason, without counts of 0. */
async function counted(metrics: ReturnType<typeof createMetrics>) {
  const found = new Map<string, number>();
  const pattern = /^switchyard_route_calls_skipped_total\{(.*)\} (\d+)$/gm;
  for (const [, labels = "", number] of (await metrics.text()).matchAll(pattern)) {
    const label = (name: string) => new RegExp(`${name}="([^"]*)"`).exec(labels)?.[1];
    if (number !== "0") found.set(`${label("destination")} ${label("reason")}`, Number(number));
  }
  return found;
}

test("each call has one reason for each destination that does not get it", async () => {
  const calls = fc.array(fc.tuple(call, fc.constantFrom("web", "app")), { maxLength: 12 });
  await fc.assert(
    fc.asyncProperty(calls, async (all) => {
      const batch = all.map(([json, source]) => routedCall(json, source));
      const metrics = createMetrics();
      countRouted(metrics)(
        batch.map(({ routed }) => routed),
        new Map(),
      );
      const expected = new Map<string, number>();
      for (const { decisions } of batch) {
        for (const { destination, gets, reason } of decisions) {
          const key = `${destination.id} ${reason}`;
          if (!gets) expected.set(key, (expected.get(key) ?? 0) + 1);
        }
      }
      expect(await counted(metrics)).toEqual(expected);
    }),
    { numRuns: 300 },
  );
});
