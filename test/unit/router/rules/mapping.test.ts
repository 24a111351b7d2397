// A test per row of the file's tables and per sentence of docs/rules.md#mapping.

import { createHash, createHmac } from "node:crypto";
import { expect, test } from "vitest";

import { ruledCall, sentFor } from "../../../support/build/ruled-call.ts";

const CALL = {
  ...{ type: "track", messageId: "m", userId: "u-1", event: "Order Completed" },
  properties: { revenue: 10, id: 7, list: [{ id: 1 }, { id: true }, 3] },
  traits: { email: " E@X.test " },
};
const sha = (text: string) => createHash("sha256").update(text).digest("hex");
const SECRET = "0123456789abcdef";
const hmac = (text: string) => createHmac("sha256", SECRET).update(text).digest("hex");

const properties = (map: string, given: object = CALL) =>
  (sentFor(`map: [${map}]`, given) as typeof CALL).properties;

test("an event gets another name, and no other event does", () => {
  const rules = `map: [{ event: "Order Completed", to: purchase }, { event: Visit, to: visit }]`;
  expect(ruledCall(rules, CALL)).toMatchObject({
    value: JSON.stringify({ ...CALL, event: "purchase" }),
    changed: ["event"],
  });
  expect(ruledCall(rules, { ...CALL, event: "order completed" }).changed).toEqual([]);
});

test("a value is moved, copied, set and removed; new keys come last, in the order of their paths", () => {
  const rules = `map:
  - { set: properties.z, value: [1, { a: null }] }
  - { copy: properties.revenue, to: properties.total }
  - { move: traits.email, to: traits.mail }
  - { set: context.page.url, value: null }
  - { remove: properties.list }
  - { set: properties.id, value: new }`;
  expect(ruledCall(rules, CALL)).toMatchObject({
    value:
      '{"type":"track","messageId":"m","userId":"u-1","event":"Order Completed",' +
      '"properties":{"revenue":10,"id":"new","total":10,"z":[1,{"a":null}]},' +
      '"traits":{"mail":" E@X.test "},"context":{"page":{"url":null}}}',
    changed: [
      ...["context.page.url", "properties.id", "properties.list", "properties.total"],
      ...["properties.z", "traits.email", "traits.mail"],
    ],
  });
});

test("everything is read before anything is changed, so two values can change places", () => {
  const swap = "{ copy: properties.a, to: properties.c }, { move: properties.b, to: properties.a }";
  expect(properties(swap, { ...CALL, properties: { a: 1, b: 2 } })).toEqual({ a: 2, c: 1 });
});

test.each([
  ["an absent source", "{ move: properties.none, to: properties.x }"],
  ["an absent source of a copy", "{ copy: properties.none, to: event }"],
  ["a source behind a list", "{ copy: properties.list.id, to: properties.x }"],
  ["a parent that is a number", "{ set: properties.id.x, value: 1 }"],
  ["a parent that is a list", "{ copy: properties.id, to: properties.list.x }"],
  ["a parent that is null", "{ set: properties.nothing.x, value: 1 }"],
  [
    "a move to a parent that is a text: the value stays",
    "{ move: properties.id, to: properties.text.x }",
  ],
  ["nothing to hash", "{ hash: properties.none }"],
  ["null to hash", "{ hash: properties.nothing }"],
  ["text that is to become text", "{ string: traits.email }"],
  ["nothing to remove", "{ remove: properties.none.x }"],
  ["a value that is there already", "{ set: properties.id, value: 7 }"],
])("%s changes nothing", (_, entry) => {
  const call = { ...CALL, properties: { ...CALL.properties, nothing: null, text: "t" } };
  expect(ruledCall(`map: [${entry}]`, call)).toMatchObject({
    value: JSON.stringify(call),
    changed: [],
  });
});

test("null is a value: it is moved", () => {
  const map = "{ move: properties.a, to: properties.b }";
  expect(properties(map, { ...CALL, properties: { a: null } })).toEqual({ b: null });
});

test("string turns numbers and booleans into their JSON text, in each object of a list, and leaves the rest", () => {
  const map = "{ string: properties.id }, { string: properties.list.id }, { string: properties.o }";
  const text = `{"type":"track","userId":"u","event":"E","properties":{"id":1.50,"list":[{"id":12345678901234567890},{"id":true},{"id":null},3],"o":{}}}`;
  const { value } = ruledCall(`map: [${map}]`, text);
  expect(value).toBe(
    `{"type":"track","userId":"u","event":"E","properties":{"id":"1.50","list":[{"id":"12345678901234567890"},{"id":"true"},{"id":null},3],"o":{}}}`,
  );
});

test.each([
  ["text", `"a"`, "", `"${sha("a")}"`],
  ["text as UTF-8", `"\\u00e9"`, "", `"${sha("é")}"`],
  ["a number with its digits", "12345678901234567890", "", `"${sha("12345678901234567890")}"`],
  ["a boolean", "true", "", `"${sha("true")}"`],
  ["an object without spaces", `{ "a" : 1 }`, "", `"${sha('{"a":1}')}"`],
  [
    "a list, entry by entry",
    `["a", 1, null, ["b"]]`,
    "",
    `["${sha("a")}","${sha("1")}",null,["${sha("b")}"]]`,
  ],
  ["null", "null", "", "null"],
  ["trimmed text", `" A "`, ", normalize: trim", `"${sha("A")}"`],
  ["an email address", `" A@B.C "`, ", normalize: email", `"${sha("a@b.c")}"`],
  ["text as it is", `" A "`, ", normalize: none, algorithm: sha256", `"${sha(" A ")}"`],
  ["with a secret", `"a"`, `, algorithm: hmac-sha256, secret: "${SECRET}"`, `"${hmac("a")}"`],
])("%s is hashed", (_, json, options, expected) => {
  const text = `{"type":"track","userId":"u","event":"E","properties":{"x":${json}}}`;
  const { value } = ruledCall(`map: [{ hash: properties.x${options} }]`, text);
  expect(JSON.parse(value ?? "").properties.x).toEqual(JSON.parse(expected));
});

test("hash and remove reach each object of a list on the path", () => {
  const map = "{ hash: properties.list.id }";
  expect(properties(map).list).toEqual([{ id: sha("1") }, { id: sha("true") }, 3]);
  expect(properties("{ remove: properties.list.id }").list).toEqual([{}, {}, 3]);
});

test("the mapping runs after the filters: it does not read what they took away", () => {
  const rules = `filters: [{ name: a, dropProperties: { properties: [id] } }]
map: [{ copy: properties.id, to: context.id }, { hash: properties.revenue }]`;
  expect(sentFor(rules, CALL)).toEqual({
    ...CALL,
    properties: { revenue: sha("10"), list: CALL.properties.list },
  });
});

test("entries have conditions and sources", () => {
  const rules = `map:
  - { remove: properties.id, if: "type = 'track'" }
  - { remove: properties.list, if: "type = 'page'" }
  - { remove: properties.revenue, sources: [app] }`;
  const { id: _, ...rest } = CALL.properties;
  expect(sentFor(rules, CALL)).toEqual({ ...CALL, properties: rest });
});

test("traits that an identify has only in its context, and those of a page, are mapped where they are", () => {
  const identify = { type: "identify", userId: "u", context: { traits: { email: "e" } } };
  const rules = "map: [{ hash: traits.email }, { set: traits.plan, value: 1 }]";
  expect(sentFor(rules, identify)).toEqual({
    ...identify,
    context: { traits: { email: sha("e"), plan: 1 } },
  });
  const both = "map: [{ hash: traits.email }, { hash: context.traits.email }]";
  expect(sentFor(both, identify)).toMatchObject({ context: { traits: { email: sha("e") } } });
  const page = { type: "page", userId: "u", traits: { email: "e" }, properties: { email: "f" } };
  expect(sentFor("map: [{ hash: properties.email }]", page)).toMatchObject({
    ...{ traits: { email: sha("e") }, properties: { email: sha("f") } },
  });
  expect(sentFor("map: [{ move: properties.email, to: properties.mail }]", page)).toEqual({
    ...page,
    ...{ traits: {}, properties: { mail: "f" } },
  });
});

test.each([
  ["hashed", `{ hash: userId, algorithm: hmac-sha256, secret: "${SECRET}" }`, hmac("u-1")],
  ["set", "{ set: userId, value: other }", "other"],
  ["replaced by a long number", "{ copy: properties.id, to: userId }", "7"],
])("a user ID that is %s is the key of the record", (_, entry, key) => {
  expect(ruledCall(`map: [${entry}]`, CALL).key).toBe(key);
  expect(ruledCall(`map: [${entry}]`, CALL).plain).toBe(JSON.stringify(CALL));
});

test("if two entries write the same place of a call, the one that names it wins", () => {
  const identify = { type: "identify", userId: "u", context: { traits: { email: "e" } } };
  const entries = ["{ set: traits.plan, value: 1 }", "{ set: context.traits.plan, value: 2 }"];
  for (const map of [entries, entries.toReversed()]) {
    expect(sentFor(`map: [${map.join(", ")}]`, identify)).toMatchObject({
      context: { traits: { plan: 2 } },
    });
  }
});

test("a name that is removed and written again comes last, and a copy reads what the filters left", () => {
  const rules = `filters: [{ name: a, dropProperties: { properties: [revenue], traits: [email] } }]
map: [{ set: properties.revenue, value: 1 }, { copy: traits, to: properties.who }]`;
  expect(ruledCall(rules, CALL).value).toBe(
    '{"type":"track","messageId":"m","userId":"u-1","event":"Order Completed",' +
      '"properties":{"id":7,"list":[{"id":1},{"id":true},3],"revenue":1,"who":{}},"traits":{}}',
  );
});

test("repeated names that an entry reads, writes or removes leave none of their earlier values", () => {
  const call = (properties: string) =>
    `{"type":"track","userId":"u","event":"E","properties":{${properties}}}`;
  const given = call(`"a":"canary","a":1,"p":{"b":"canary"},"p":{"b":"canary","b":2}`);
  const rest = `"p":{"b":"canary","b":2}`;
  expect(ruledCall("map: [{ set: properties.a, value: 1 }]", given).value).toBe(
    call(`"a":1,${rest}`),
  );
  expect(ruledCall("map: [{ move: properties.a, to: properties.z }]", given).value).toBe(
    call(`${rest},"z":1`),
  );
  for (const entry of ["set: properties.p.b, value: 2", "string: properties.p.b"]) {
    expect(ruledCall(`map: [{ ${entry} }]`, given).value).not.toContain("canary");
  }
});

const IN_CONTEXT = { type: "identify", userId: "u", context: { traits: { phone: 123 } } };
const PAGE = { type: "page", userId: "u", traits: { phone: 123 }, properties: { name: "n" } };
const KEYED = `algorithm: hmac-sha256, secret: "${SECRET}"`;

test.each([
  ["remove and string", IN_CONTEXT, ["remove: context.traits.phone", "string: traits.phone"], {}],
  ["remove and hash", IN_CONTEXT, ["remove: traits.phone", "hash: context.traits.phone"], {}],
  ["a removed parent", IN_CONTEXT, ["remove: context.traits", "hash: traits.phone"], undefined],
  [
    ...["hash and string", IN_CONTEXT],
    ...[["string: traits.phone", "hash: context.traits.phone"], { phone: sha("123") }],
  ],
  [
    ...["a plain and a keyed hash", IN_CONTEXT],
    ...[["hash: context.traits.phone", `hash: traits.phone, ${KEYED}`], { phone: hmac("123") }],
  ],
  [
    ...["hash and move", IN_CONTEXT],
    ...[["hash: context.traits.phone", "move: traits.phone, to: traits.tel"], { tel: sha("123") }],
  ],
  [
    ...["hash and copy to its place", { ...IN_CONTEXT, anonymousId: "a" }],
    ...[["hash: context.traits.phone", "copy: anonymousId, to: traits.phone"], { phone: sha("a") }],
  ],
  ["a page's remove and string", PAGE, ["remove: traits.phone", "string: properties.phone"], {}],
  [
    ...["a page's plain and keyed hash", PAGE],
    ...[[`hash: properties.phone, ${KEYED}`, "hash: traits.phone"], { phone: hmac("123") }],
  ],
] as const)("at one place, in each order: %s", (_, call, [one, other], traits) => {
  for (const rules of [`map: [{ ${one} }, { ${other} }]`, `map: [{ ${other} }, { ${one} }]`]) {
    const sent = sentFor(rules, call) as typeof PAGE & typeof IN_CONTEXT;
    expect(call === PAGE ? sent.traits : sent.context.traits).toEqual(traits);
  }
});
