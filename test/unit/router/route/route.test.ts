// Every row of docs/how-it-works.md#routing, tested in both ways: with `explain`, and with the stage.

import { expect, test } from "vitest";

import type { Destination } from "../../../../src/domain/destination.ts";
import { parseCall } from "../../../../src/domain/parse-call.ts";
import {
  Candidates,
  candidates,
  decide,
  receivers,
  skipped,
} from "../../../../src/router/route/route.ts";
import { aSource, aTopicDestination } from "../../../support/build/calls.ts";
import { webhookDestination } from "../../../support/build/webhook-destination.ts";

const destinations: readonly Destination[] = [
  webhookDestination({ id: "hook" }), // named Webhooks
  aTopicDestination("crm", { name: "Salesforce" }),
  aTopicDestination("mail", { name: "Email Tool" }),
  aTopicDestination("off", { name: "Disabled", enabled: false }),
  aTopicDestination("other", { name: "Elsewhere" }),
];
const source = aSource("web", ["hook", "crm", "mail", "off"]);

/** Returns the destinations that get a call with these fields. */
function routed(fields: object): readonly string[] {
  const parsed = parseCall({ type: "track", userId: "u1", event: "e", ...fields });
  if (parsed.kind !== "call") throw new Error(parsed.error);
  const { integrations } = parsed.call;
  const explained = decide(integrations, source, destinations)
    .filter(({ gets }) => gets)
    .map(({ destination }) => destination.id);
  const byStage = receivers(integrations, candidates(source, destinations)).map(({ id }) => id);
  expect(byStage).toEqual(explained);
  const ofMany = new Candidates(candidates(source, destinations)).receivers(integrations);
  expect(ofMany.map(({ id }) => id)).toEqual(explained);
  return explained;
}

const ALL = ["hook", "crm", "mail"];

test.each([
  ["no integrations", {}, ALL],
  ["none that is an object", { integrations: ["Webhooks"] }, ALL],
  ["an empty map", { integrations: {} }, ALL],
  // All
  ["All true", { integrations: { All: true } }, ALL],
  ["All false", { integrations: { All: false } }, []],
  ["All false and a name", { integrations: { All: false, Webhooks: true } }, ["hook"]],
  ["All true and a name false", { integrations: { All: true, Webhooks: false } }, ["crm", "mail"]],
  ["All with options is true", { integrations: { All: {} } }, ALL],
  ["All null is absent", { integrations: { All: null } }, ALL],
  ["All as a number is absent", { integrations: { All: 0 } }, ALL],
  ["All as text is absent", { integrations: { All: "false" } }, ALL],
  ["All as a list is absent", { integrations: { All: [] } }, ALL],
  // all
  ["all false", { integrations: { all: false } }, []],
  ["all false and a name", { integrations: { all: false, Salesforce: true } }, ["crm"]],
  ["All before all", { integrations: { All: true, all: false } }, ALL],
  ["All false before all", { integrations: { All: false, all: true } }, []],
  ["all where All counts as absent", { integrations: { All: null, all: false } }, []],
  ["no other spelling of All", { integrations: { ALL: false } }, ALL],
  // names
  ["a name false", { integrations: { Salesforce: false } }, ["hook", "mail"]],
  ["a name true", { integrations: { Salesforce: true } }, ALL],
  ["two names false", { integrations: { Salesforce: false, Webhooks: false } }, ["mail"]],
  ["a name with a blank", { integrations: { All: false, "Email Tool": true } }, ["mail"]],
  ["a name in another case", { integrations: { webhooks: false, SALESFORCE: false } }, ALL],
  ["an id is no name", { integrations: { crm: false } }, ALL],
  ["a name that fits nothing", { integrations: { Nothing: true, Nobody: false } }, ALL],
  ["All false and a name that fits nothing", { integrations: { All: false, Nothing: true } }, []],
  // values of a name
  ["options", { integrations: { All: false, Webhooks: { sessionId: 1 } } }, ["hook"]],
  ["empty options", { integrations: { All: false, Webhooks: {} } }, ["hook"]],
  ["null", { integrations: { All: false, Webhooks: null } }, []],
  ["a number", { integrations: { All: false, Webhooks: 1 } }, []],
  ["text", { integrations: { All: false, Webhooks: "true" } }, []],
  ["a list", { integrations: { All: false, Webhooks: [true] } }, []],
  ["null, and All absent", { integrations: { Webhooks: null } }, ALL],
  ["zero, and All absent", { integrations: { Webhooks: 0 } }, ALL],
  // Integrations
  ["the Go struct's spelling", { Integrations: { All: false, Webhooks: true } }, ["hook"]],
  ["integrations before Integrations", { integrations: {}, Integrations: { All: false } }, ALL],
  ["Integrations for null", { integrations: null, Integrations: { All: false } }, []],
  // never
  ["a disabled destination, named", { integrations: { Disabled: true } }, ALL],
  ["a destination not connected, named", { integrations: { All: false, Elsewhere: true } }, []],
])("%s", (_name, fields, expected) => {
  expect(routed(fields)).toEqual(expected);
});

test("each destination is listed with the reason", () => {
  const reasons = (integrations: Record<string, unknown> | null) =>
    decide(integrations, source, destinations).map(({ reason }) => reason);
  expect(reasons({ All: false, Webhooks: true, "Email Tool": false })).toEqual([
    "named-true",
    "all-false",
    "named-false",
    "disabled",
    "not-connected",
  ]);
  expect(reasons(null).slice(0, 3)).toEqual(["by-default", "by-default", "by-default"]);
});

test.each(["constructor", "toString", "__proto__", "hasOwnProperty"])(
  "a destination called %s goes by the call's own flags",
  (name) => {
    const odd = [aTopicDestination("odd", { name })];
    const from = aSource("web", ["odd"]);
    const gets = (json: string) => decide(JSON.parse(json), from, odd)[0]?.reason;
    expect(gets(`{"All":false}`)).toBe("all-false");
    expect(gets(`{"All":false,"${name}":true}`)).toBe("named-true");
    expect(gets(`{"${name}":false}`)).toBe("named-false");
  },
);

test("the list of a source's destinations is not searched for each destination", () => {
  const ids = [...source.destinations];
  let searches = 0;
  ids.includes = () => {
    searches += 1;
    return true;
  };
  const searched = { ...source, destinations: ids };
  // With 10,000 destinations, each reload would make 400 million comparisons.
  expect(candidates(searched, destinations)).toEqual(candidates(source, destinations));
  expect(skipped(searched, destinations)).toEqual(skipped(source, destinations));
  expect(searches).toBe(0);
});

test("the destinations that get none of a source's calls are those that explain says so of", () => {
  const { notConnected, disabled } = skipped(source, destinations);
  expect(disabled.map(({ id }) => id)).toEqual(["off"]);
  expect(notConnected.map(({ id }) => id)).toEqual(["other"]);
  const explained = decide(null, source, destinations).filter(({ gets }) => !gets);
  expect([...disabled, ...notConnected]).toEqual(explained.map(({ destination }) => destination));
});

test.each([
  ["no flags", null, ["off"]],
  ["flags that say nothing of it", { Webhooks: false }, ["off"]],
  ["flags that name it", { All: false, Disabled: true }, ["off"]],
  ["flags that exclude it", { Disabled: false }, []],
  ["flags that exclude all", { All: false }, []],
])(
  "a disabled destination misses a call with %s, if it would get it enabled",
  (_name, flags, missed) => {
    const { disabled } = skipped(source, destinations);
    expect(receivers(flags, disabled).map(({ id }) => id)).toEqual(missed);
    const enabled = destinations.map((each) => ({ ...each, enabled: true }));
    const gets = decide(flags, source, enabled).find(({ destination }) => destination.id === "off");
    expect(gets?.gets).toBe(missed.length > 0);
  },
);
