// A test per row of the file's table and per sentence of docs/rules.md#filters.

import { createHash } from "node:crypto";
import { expect, test } from "vitest";

import { ruledCall, sentFor } from "../../../support/build/ruled-call.ts";

const TRACK = {
  ...{ type: "track", messageId: "m-1", userId: "u", event: "Order" },
  properties: { email: "e@x.test", plan: "pro", total: 5 },
};

const DROP = `filters: [{ name: no orders, if: "event = 'Order'", drop: true }]`;

test("a filter that matches drops the call, and its name is reported", () => {
  expect(ruledCall(DROP, TRACK)).toMatchObject({
    reason: "filtered",
    filter: "no orders",
    value: null,
  });
  expect(ruledCall(DROP, { ...TRACK, event: "Other" })).toMatchObject({ reason: "by-default" });
  expect(ruledCall(DROP, TRACK).plain).toBe(JSON.stringify(TRACK));
});

test("a filter without a condition is for all calls, one that is not enabled for none", () => {
  expect(ruledCall("filters: [{ name: all, drop: true }]", TRACK).reason).toBe("filtered");
  const off = "filters: [{ name: all, drop: true, enabled: false }]";
  expect(ruledCall(off, TRACK).reason).toBe("by-default");
});

test("a filter with sources is for their calls alone", () => {
  const app = "filters: [{ name: app, sources: [app], drop: true }]";
  expect(ruledCall(app, TRACK).reason).toBe("by-default");
  expect(ruledCall(app, TRACK, "", "app").reason).toBe("filtered");
});

test("integrations come before filters, and sampling before dropping", () => {
  expect(ruledCall(DROP, { ...TRACK, integrations: { CRM: false } }).reason).toBe("named-false");
  const both = "filters: [{ name: b, drop: true }, { name: a, sample: { share: 0 } }]";
  expect(ruledCall(both, TRACK)).toMatchObject({ reason: "sampled-out", filter: "a" });
});

test("two filters that each send only something else send nothing", () => {
  const two = `filters:
  - { name: only orders, if: "!(event = 'Order')", drop: true }
  - { name: only visits, if: "!(event = 'Visit')", drop: true }`;
  for (const event of ["Order", "Visit"]) {
    expect(ruledCall(two, { ...TRACK, event }).reason).toBe("filtered");
  }
});

test("properties are dropped one level deep, and of all matching filters", () => {
  const rules = `filters:
  - { name: a, dropProperties: { properties: [email], context.traits: [phone] } }
  - { name: b, dropProperties: { properties: [total, none] } }`;
  const call = { ...TRACK, context: { traits: { phone: 1, name: { phone: 2 } }, phone: 3 } };
  expect(ruledCall(rules, call)).toMatchObject({
    value: JSON.stringify({
      ...TRACK,
      properties: { plan: "pro" },
      context: { traits: { name: { phone: 2 } }, phone: 3 },
    }),
    key: "u",
    changed: ["context.traits.phone", "properties.email", "properties.total"],
    plain: JSON.stringify(call),
  });
});

test("of a list, each object loses its properties", () => {
  const rules = "filters: [{ name: a, dropProperties: { properties.items: [sku] } }]";
  const items = [{ sku: 1, n: 1 }, "sku", [{ sku: 2 }], { sku: 3 }, null];
  expect(sentFor(rules, { ...TRACK, properties: { items } })).toMatchObject({
    properties: { items: [{ n: 1 }, "sku", [{ sku: 2 }], {}, null] },
  });
});

test("an allow list keeps only what it names, and touches no other object", () => {
  const rules = "filters: [{ name: a, allowProperties: { properties: [plan, none] } }]";
  const call = { ...TRACK, context: { ip: "1" } };
  expect(ruledCall(rules, call)).toMatchObject({
    value: JSON.stringify({ ...call, properties: { plan: "pro" } }),
    changed: ["properties.email", "properties.total"],
  });
});

test("an allow list applies to each object of a list, and to the traits of a page", () => {
  const rules =
    "filters: [{ name: a, allowProperties: { properties.items: [sku], properties: [items] } }]";
  const items = [{ sku: 1, email: "e" }, "email", { email: "f" }];
  const call = { ...TRACK, properties: { items, email: "g" } };
  expect(sentFor(rules, call)).toMatchObject({ properties: { items: [{ sku: 1 }, "email", {}] } });
  const page = { type: "page", userId: "u", traits: { email: 1, items: [{ email: 2 }] } };
  expect(sentFor(rules, page)).toEqual({ ...page, traits: { items: [{}] } });
});

test("two allow lists of one object keep what both name, and drop lists come first", () => {
  const rules = `filters:
  - { name: a, allowProperties: { properties: [plan, email] } }
  - { name: b, allowProperties: { properties: [plan, total] } }`;
  expect(sentFor(rules, TRACK)).toMatchObject({ properties: { plan: "pro" } });
  const more = `${rules}\n  - { name: c, dropProperties: { properties: [plan] } }`;
  expect(sentFor(more, TRACK)).toMatchObject({ properties: {} });
});

test("names of the top level can be dropped", () => {
  const rules = `filters: [{ name: a, dropProperties: { "": [context, anonymousId] } }]`;
  const call = { ...TRACK, anonymousId: "a", context: { ip: "1" } };
  expect(ruledCall(rules, call).value).toBe(JSON.stringify(TRACK));
});

test("rules for traits apply to context.traits of an identify that has its traits only there", () => {
  const rules = "filters: [{ name: a, dropProperties: { traits: [email] } }]";
  const there = { type: "identify", userId: "u", context: { traits: { email: "e", plan: 1 } } };
  const without = { ...there, context: { traits: { plan: 1 } } };
  expect(sentFor(rules, there)).toEqual(without);
  expect(sentFor(rules, { ...there, traits: [] })).toEqual({ ...without, traits: [] });
  const both = { ...there, traits: { email: "e" } };
  expect(sentFor(rules, both)).toEqual({ ...there, traits: {} });
  expect(sentFor(rules, { ...there, type: "track", event: "E" })).toMatchObject({
    context: there.context,
  });
});

test("traits that are dropped from an identify as a whole are not left in its context", () => {
  const rules = `filters: [{ name: a, dropProperties: { "": [traits] } }]`;
  const traits = { email: "e" };
  const identify = { type: "identify", userId: "u", traits, context: { traits, ip: "1" } };
  const { traits: _, ...rest } = identify;
  expect(sentFor(rules, identify)).toEqual({ ...rest, context: { ip: "1" } });
  expect(sentFor("map: [{ remove: traits }]", identify)).toEqual({ ...rest, context: { ip: "1" } });
  const group = { ...identify, type: "group", groupId: "g" };
  expect(sentFor(rules, group)).toMatchObject({ context: { traits } });
});

test("rules for properties of a page apply to its traits, which are properties, too", () => {
  const rules = "filters: [{ name: a, dropProperties: { properties: [email] } }]";
  const page = { type: "page", userId: "u", properties: { email: 1, a: 1 }, traits: { email: 2 } };
  expect(sentFor(rules, page)).toEqual({ ...page, properties: { a: 1 }, traits: {} });
  const group = { ...page, type: "group", groupId: "g" };
  expect(sentFor(rules, group)).toMatchObject({ traits: { email: 2 } });
  const top = `filters: [{ name: a, dropProperties: { "": [properties] } }]`;
  expect(sentFor(top, page)).toEqual({ type: "page", userId: "u" });
});

test("conditions see the call as it came in, whatever filters and mapping take away", () => {
  const rules = `filters:
  - { name: a, dropProperties: { properties: [plan] } }
  - { name: b, if: "properties.plan = 'pro'", dropProperties: { properties: [email] } }
map:
  - { remove: properties.total, if: "properties.email = 'e@x.test'" }`;
  expect(sentFor(rules, TRACK)).toMatchObject({ properties: {} });
});

test("nothing to change: the same buffer for both destinations", () => {
  const rules = `filters:
  - { name: a, dropProperties: { properties: [none], traits: [email] } }
  - { name: b, allowProperties: { properties: [email, plan, total] } }`;
  const text = ` { "type":"track","type" : "track", "userId":"u","event":"E","big":12345678901234567890 } `;
  expect(ruledCall(rules, text)).toMatchObject({ value: text, plain: text, changed: [] });
});

function first8(json: string): number {
  return Number(createHash("md5").update(json).digest().readBigUInt64BE(0)) / 2 ** 64;
}

function isKept(by: string, share: number, call: object | string): boolean {
  return ruledCall(`filters: [{ name: a, sample: { share: ${share}${by} } }]`, call).value !== null;
}

test.each([
  ["the message ID by default", "", TRACK, '"m-1"'],
  ["a text", ", by: userId", TRACK, '"u"'],
  ["a number with its digits", ", by: properties.n", `{"properties":{"n":1.50}}`, "1.50"],
  ["a long number", ", by: userId", `{"userId":12345678901234567890}`, "12345678901234567890"],
  [
    "an object without spaces",
    ", by: properties.o",
    `{"properties":{"o":{ "a" : [1, "\\u0062"] }}}`,
    '{"a":[1,"b"]}',
  ],
  ["the message ID, if it is null", ", by: properties.n", `{"properties":{"n":null}}`, '"m-1"'],
  ["the message ID, if it is absent", ", by: properties.none", TRACK, '"m-1"'],
  ["a path with escapes", ", by: 'properties.a\\.b'", `{"properties":{"a.b":true}}`, "true"],
] as const)("a sample goes by %s", (_, by, given, json) => {
  const call =
    typeof given === "string"
      ? `{"type":"track","event":"E",${given.includes("userId") ? "" : '"userId":"u",'}"messageId":"m-1",${given.slice(1)}`
      : given;
  const at = first8(json);
  expect(isKept(by, at + 1e-9, call)).toBe(true);
  expect(isKept(by, at - 1e-9, call)).toBe(false);
});

test("a share of 1 keeps all, a share of 0 nothing; a call without an ID goes by its place", () => {
  const { messageId: _, ...call } = TRACK;
  expect(isKept("", 1, call)).toBe(true);
  expect(isKept("", 0, call)).toBe(false);
  expect(isKept("", first8('"calls/0/7"') + 1e-9, call)).toBe(true);
  expect(isKept("", first8('"calls/0/7"') - 1e-9, call)).toBe(false);
});
