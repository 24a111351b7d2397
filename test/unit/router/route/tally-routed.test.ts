import { expect, test } from "vitest";
import type { SourceId } from "../../../../src/domain/ids.ts";
import type { OutgoingRecord } from "../../../../src/domain/record.ts";
import { topicNames } from "../../../../src/domain/topics.ts";
import { identityOf, type Outcome, Tallies } from "../../../../src/router/ledger/tallies.ts";
import { type Routed, routeRecord } from "../../../../src/router/route/route-record.ts";
import { createRouting } from "../../../../src/router/route/routing.ts";
import { tallyRouted } from "../../../../src/router/route/tally-routed.ts";
import { aRecord, aSource, aTopicDestination } from "../../../support/build/calls.ts";
import { config } from "../../../support/build/config-source.ts";
import { rulesYaml } from "../../../support/build/ruled-call.ts";
import { suppressing } from "../../../support/build/suppressions.ts";

const NOW_MS = 1_780_000_000_000;
const routing = createRouting(
  [aSource("web", ["crm", "off"])],
  "web" as SourceId,
  [
    aTopicDestination("crm"),
    aTopicDestination("off", { enabled: false }),
    aTopicDestination("far"),
  ],
  topicNames(""),
);
const call = { type: "track", userId: "u1", event: "e", messageId: "m1" };

/** The outcomes by destination. Each has the hash of the message ID. */
function talliedOf(routed: Routed, instead = new Map<OutgoingRecord, Outcome>()): string[] {
  const book = new Tallies();
  tallyRouted(book, routed, { instead });
  const found: string[] = [];
  const { high, low } = identityOf("m1", 0);
  book.each((bin, destination, outcome, sum) => {
    if (routed.kind === "routed") {
      expect({ ...sum }).toEqual({ count: 1, high, low });
      expect(bin).toBe(routed.identity.bin);
    }
    found.push(`${destination || "-"} ${outcome}`);
  });
  return found;
}

function routedWith(record: OutgoingRecord["value"] | object): Routed {
  return routeRecord(aRecord(record as object), routing, NOW_MS);
}

test("a call is counted once, and for each of its destinations, but not for others", () => {
  expect(talliedOf(routedWith(call))).toEqual(["- in", "crm queued"]);
});

test.each<Outcome>(["retry", "dead:unknown-destination", "dead:too-large"])(
  "a delivery that was not written to its topic counts as %s",
  (outcome) => {
    const routed = routedWith(call);
    const [record] = routed.kind === "routed" ? routed.records : [];
    if (record === undefined) throw new Error("nothing was routed");
    const tallied = talliedOf(routed, new Map([[record, outcome]]));
    expect(tallied).toEqual(["- in", `crm ${outcome}`]);
  },
);

test("a record that is not a call counts as a dead letter", () => {
  expect(talliedOf(routedWith({ type: "other" }))).toEqual(["- in", "- dead:invalid-call"]);
});

test("a call of a suppressed user is skipped for each destination that would get it", () => {
  const suppressions = suppressing("u1");
  const routed = routeRecord(aRecord(call), routing, NOW_MS, null, suppressions);
  expect(talliedOf(routed)).toEqual(["- in", "crm skipped:suppressed"]);
});

test.each([
  ["filters: [{ name: all, drop: true }]", "skipped:filtered"],
  ["consent: { categories: [ads], required: true }", "skipped:no-consent"],
])("a call that rules skip has their reason: %s", (rules, outcome) => {
  const { sources, defaultSource, destinations } = config(rulesYaml(rules));
  const ruled = createRouting(sources, defaultSource, destinations, topicNames(""));
  const tallied = talliedOf(routeRecord(aRecord(call), ruled, NOW_MS));
  expect(tallied).toEqual(["- in", "plain queued", `crm ${outcome}`]);
});
