// The effect of a destination's rules on a call as a whole: order, keys, failures and delete notifications.

import { createHash } from "node:crypto";
import { expect, test } from "vitest";

import type { SourceId } from "../../../../src/domain/ids.ts";
import { hasRules } from "../../../../src/domain/rules.ts";
import { topicNames } from "../../../../src/domain/topics.ts";
import { routeRecord } from "../../../../src/router/route/route-record.ts";
import { createRouting } from "../../../../src/router/route/routing.ts";
import { compileRules } from "../../../../src/router/rules/plan.ts";
import { aRecord, aSource, aTopicDestination } from "../../../support/build/calls.ts";
import { ruledCall, rulesOf, sentFor } from "../../../support/build/ruled-call.ts";

const CALL = { type: "track", userId: "user-1", anonymousId: "anon-1", event: "E" };
const web = "web" as SourceId;

const NO_USER = `filters: [{ name: a, sources: [web], dropProperties: { "": [userId] } }]`;
const NOBODY = `filters: [{ name: a, sources: [web], dropProperties: { "": [userId, anonymousId] } }]`;

test("a dropped user ID leaves neither in its place, and its key is the same for all of its calls", () => {
  const { key, value } = ruledCall(NOBODY, CALL);
  expect(value).toBe('{"type":"track","event":"E"}');
  expect(key).toMatch(/^[\da-f]{64}$/);
  expect(ruledCall(NOBODY, { ...CALL, anonymousId: "anon-2", event: "F" }).key).toBe(key);
  expect(ruledCall(NO_USER, { ...CALL, anonymousId: "anon-2" }).key).toBe(key);
  expect(ruledCall(NOBODY, { ...CALL, userId: "user-2" }).key).not.toBe(key);
  expect(key).not.toBe(createHash("sha256").update("user-1").digest("hex"));
  expect(ruledCall(NO_USER, CALL).value).toBe(
    '{"type":"track","anonymousId":"anon-1","event":"E"}',
  );
});

test("without a user ID, the key is the anonymous ID as the rules leave it", () => {
  const { userId: _, ...call } = CALL;
  expect(ruledCall(NO_USER, call)).toMatchObject({ key: "anon-1", changed: [] });
  expect(ruledCall("map: [{ set: anonymousId, value: x }]", call).key).toBe("x");
  expect(ruledCall(NOBODY, call).key).toMatch(/^[\da-f]{64}$/);
});

test("the keys of dropped IDs differ by destination and by the configuration's secrets", () => {
  const keyOf = (id: string, secrets: readonly string[]) => {
    const plan = compileRules(id, rulesOf(NOBODY), secrets).forSource(web);
    return plan?.keySecret.toString("hex");
  };
  expect(keyOf("crm", ["k"])).toBe(keyOf("crm", ["k"]));
  expect(keyOf("crm", ["k", "l"])).toBe(keyOf("crm", ["l", "k"]));
  expect(keyOf("crm", ["k"])).not.toBe(keyOf("crm", ["l"]));
  expect(keyOf("crm", ["k"])).not.toBe(keyOf("other", ["k"]));
});

test("destinations with equal rules share the bytes and not the key, and every record is what its destination alone would get", () => {
  const ruled = (id: string, text: string) => {
    const { filters = [], map = [] } = rulesOf(text);
    return aTopicDestination(id, { filters, map });
  };
  const destinations = [
    ...[ruled("a", NOBODY), ruled("b", NO_USER), ruled("c", NOBODY), aTopicDestination("d")],
    ...[ruled("e", "map: [{ set: x, value: 1 }]"), ruled("f", NOBODY.replace("web", "app"))],
  ];
  const recordsOf = (some: typeof destinations) => {
    const ids = some.map(({ id }) => id);
    const routed = createRouting([aSource("web", ids)], web, some, topicNames(""));
    const result = routeRecord(aRecord(CALL), routed, 0);
    return result.kind === "routed" ? result.records : [];
  };
  const records = recordsOf(destinations);
  expect(records).toEqual(destinations.flatMap((each) => recordsOf([each])));
  const [a, b, c, , , f] = records;
  expect(c?.value).toBe(a?.value);
  expect(c?.key).not.toEqual(a?.key);
  expect(b?.value).not.toEqual(a?.value);
  expect(f?.value?.toString()).toBe(JSON.stringify(CALL));
});

test("a call that a rule cannot be evaluated for goes nowhere, and says nothing of it", () => {
  const deep = `${"[".repeat(200_000)}${"]".repeat(200_000)}`;
  const call = `{"type":"track","userId":"u","event":"E","odd":${deep}}`;
  expect(ruledCall("map: [{ hash: odd }]", call)).toMatchObject({
    ...{ reason: "rule-failed", value: null, key: null },
    plain: call,
  });
});

test("removed names are gone in every spelling, and of a repeated one no value stays", () => {
  const call = String.raw`{"type":"identify","userId":"u","tra\u0069ts":{"email":"a@x","em\u0061il":"b@x","n":1.0},"traits":{"emai\u006c":"c@x","n":9007199254740993,"2":0,"1":0}}`;
  expect(ruledCall("filters: [{ name: a, dropProperties: { traits: [email] } }]", call).value).toBe(
    `{"type":"identify","userId":"u","traits":{"n":9007199254740993,"2":0,"1":0}}`,
  );
  const hashed = ruledCall(
    "map: [{ hash: userId }]",
    `{"type":"identify","userId":"raw","userId":null,"anonymousId":"a"}`,
  );
  expect(hashed.value).toBe(`{"type":"identify","userId":null,"anonymousId":"a"}`);
});

test("own properties alone count", () => {
  const call = `{"type":"identify","userId":"u","traits":{"__proto__":{"a":1},"constructor":2,"b":3}}`;
  const rules = `filters:
  - { name: a, dropProperties: { traits: [__proto__, constructor, toString], traits.__proto__: [a] } }`;
  expect(ruledCall(rules, call)).toMatchObject({
    value: `{"type":"identify","userId":"u","traits":{"b":3}}`,
    changed: ["traits.__proto__", "traits.constructor"],
  });
  expect(ruledCall("map: [{ copy: traits.toString, to: traits.c }]", call).changed).toEqual([]);
});

test("a byte-order mark before the call is not in the way", () => {
  const call = `\ufeff${JSON.stringify(CALL)}`;
  expect(sentFor("map: [{ remove: context.x }, { set: a, value: 1 }]", call)).toEqual({
    ...CALL,
    a: 1,
  });
});

const HASHED = createHash("sha256").update("u").digest("hex");

test.each([
  ["nothing", "", "u"],
  ["a hash", "map: [{ hash: userId }]", HASHED],
  ["a hash with a condition", `map: [{ hash: userId, if: "type = 'track'" }]`, "u"],
  ["a hash that spares one type", `map: [{ hash: userId, if: "type != 'alias'" }]`, HASHED],
  ["a hash that spares types", `map: [{ hash: userId, if: "!(type in ['alias'])" }]`, HASHED],
  ["a hash by a function of the type", `map: [{ hash: userId, if: "!match(type, 'a*')" }]`, HASHED],
  ["taken away from all but one type", `map: [{ remove: userId, if: "type != 'alias'" }]`, null],
  [
    "a filter that takes it away from all but one type",
    `filters: [{ name: a, if: "type != 'alias'", dropProperties: { "": [userId] } }]`,
    null,
  ],
  ["a hash with half a condition", `map: [{ hash: userId, if: "type != 'page' and a = 1" }]`, "u"],
  ["a hash for another source", "map: [{ hash: userId, sources: [app] }]", "u"],
  ["a value", "map: [{ set: userId, value: x }]", "x"],
  ["a value that is not in notifications", "map: [{ copy: anonymousId, to: userId }]", "u"],
  ["nothing left", NO_USER, null],
  ["moved away", "map: [{ move: userId, to: traits.id, sources: [web] }]", null],
  ["taken away with a condition", `map: [{ remove: userId, if: "type = 'track'" }]`, "u"],
  ["a filter that drops", "filters: [{ name: a, drop: true }]", "u"],
  ["consent", "consent: { categories: [Ads], required: true }", "u"],
] as const)(
  "a notification after %s has the user ID that rules without a condition on calls make",
  (_, rules, userId) => {
    const given = rulesOf(rules);
    expect(compileRules("crm", given, []).deletedUserId(web, "u")).toBe(userId);
    expect(hasRules(given)).toBe(rules !== "");
  },
);
