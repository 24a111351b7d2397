import { expect, test } from "vitest";

import { callKey } from "../../../src/domain/call.ts";
import { JSON_DEPTH_MAX } from "../../../src/domain/json.ts";
import { parseCall, parseDelete } from "../../../src/domain/parse-call.ts";

const track = { type: "track", userId: "u1", event: "Signed Up" };

function callOf(json: unknown) {
  const parsed = parseCall(json);
  if (parsed.kind !== "call") throw new Error(parsed.error);
  return parsed.call;
}

function errorOf(json: unknown): string {
  const parsed = parseCall(json);
  if (parsed.kind === "call") throw new Error("it was taken for a call");
  expect(parsed.reason).toBe("invalid-call");
  return parsed.error;
}

test.each([
  [{ type: "identify", userId: "u1" }],
  [{ type: "identify", anonymousId: "a1" }],
  [track],
  [{ type: "track", anonymousId: "a1", event: "e" }],
  [{ type: "page", userId: "u1" }],
  [{ type: "page", anonymousId: "a1" }],
  [{ type: "screen", userId: "u1", anonymousId: "a1" }],
  [{ type: "screen", anonymousId: "a1" }],
  [{ type: "group", userId: "u1", groupId: "g1" }],
  [{ type: "group", anonymousId: "a1", groupId: "g1" }],
  [{ type: "alias", userId: "new", previousId: "old" }],
])("is a call: %j", (json) => {
  expect(callOf(json)).toMatchObject(json);
});

const NOBODY = "userId and anonymousId are both missing";
const HUGE = JSON.parse("1e999") as number;
const PAGE = { type: "page", userId: "u" };

test.each([
  ["a null", null, "a call must be a JSON object, but this is null"],
  ["a list", [track], "this is a list"],
  ["a text", "track", "this is a string"],
  ["no type", { userId: "u1" }, "type is missing"],
  ["an empty type", { type: "", userId: "u1" }, "type is missing"],
  ["a type in upper case", { ...track, type: "Track" }, 'is "Track", expected one of identify'],
  ["an unknown type", { ...track, type: "delete" }, 'type is "delete"'],
  ["a type that is no text", { ...track, type: ["track"] }, "type is a list"],
  ["a type of Object's own", { ...track, type: "__proto__" }, 'type is "__proto__"'],
  ["identify of nobody", { type: "identify" }, NOBODY],
  ["page of nobody", { type: "page", userId: "" }, NOBODY],
  ["screen of nobody", { type: "screen", anonymousId: null }, NOBODY],
  ["track of nobody", { type: "track", event: "e" }, NOBODY],
  ["track without event", { type: "track", userId: "u1" }, "event is missing"],
  ["track with an empty event", { ...track, event: "" }, "event is missing"],
  ["an event that is a number", { ...track, event: 5 }, "event is a number, expected a string"],
  ["group without groupId", { type: "group", userId: "u1" }, "groupId is missing"],
  ["group of nobody", { type: "group", groupId: "g1" }, NOBODY],
  ["alias without userId", { type: "alias", previousId: "old" }, "userId is missing"],
  [
    "alias with anonymousId for userId",
    { type: "alias", anonymousId: "a", previousId: "old" },
    "but an alias requires it",
  ],
  ["alias without previousId", { type: "alias", userId: "new" }, "previousId is missing"],
  ["a userId that is an object", { ...track, userId: {} }, "userId is an object"],
  ["a userId beyond numbers", { ...track, userId: HUGE }, "userId is a number too large"],
  ["an anonymousId that is true", { ...track, anonymousId: true }, "anonymousId is true"],
  ["properties that are a list", { ...track, properties: [1] }, "properties is a list"],
  ["a context that is a list", { ...track, context: [[]] }, "context is a list"],
  ["traits that are text", { type: "identify", userId: "u", traits: "x" }, "traits is a string"],
  ["context that is a number", { ...track, context: 0 }, "context is a number"],
  ["a page's name that is a number", { ...PAGE, name: 1 }, "name is a number"],
  ["a screen's name that is true", { type: "screen", userId: "u", name: true }, "name is true"],
  ["a category beyond numbers", { ...PAGE, category: -HUGE }, "category is a number too large"],
  ["a category that is an object", { ...PAGE, category: {} }, "category is an object"],
  ["a field of another type of call", { ...track, groupId: [] }, "groupId is a list"],
])("is no call, and the sentence says why: %s", (_name, json, error) => {
  expect(errorOf(json)).toContain(error);
});

test.each([
  ["screen", { name: 404 }, { name: "404" }],
  ["screen", { name: 0, category: 1.5 }, { name: "0", category: "1.5" }],
  ["page", { category: -0 }, { category: "0" }],
  ["track", { event: "e", category: 7 }, { category: "7" }],
])("a %s with %j is read with %j", (type, given, expected) => {
  expect(callOf({ type, userId: "u", ...given })).toMatchObject(expected);
});

test.each([
  ["its own", { traits: { a: 1 }, context: { traits: { b: 2 } } }, { a: 1 }],
  ["its own, though empty", { traits: {}, context: { traits: { b: 2 } } }, {}],
  ["its context's", { context: { traits: { b: 2 } } }, { b: 2 }],
  ["its context's for null", { traits: null, context: { traits: { b: 2 } } }, { b: 2 }],
  ["none: the context's are a list", { context: { traits: [1] } }, null],
  ["none: there is no context", {}, null],
])("the traits of an identify are %s", (_name, given, traits) => {
  const call = callOf({ type: "identify", userId: "u", ...given });
  expect(call.traits).toEqual(traits);
  expect(call.context).toEqual("context" in given ? given.context : null);
});

test.each(["group", "page", "track"])("a %s takes no traits from its context", (type) => {
  const call = callOf({ ...track, type, groupId: "g", context: { traits: { b: 2 } } });
  expect(call).toMatchObject({ traits: null, properties: null });
});

test("the sentence names all wrong fields at once", () => {
  expect(errorOf({ ...track, userId: [], traits: 1 })).toBe(
    "traits is a number, expected an object; userId is a list, expected a string or a number",
  );
});

test.each([
  [0, "0"],
  [-0, "0"],
  [42, "42"],
  [1.5, "1.5"],
  [9_007_199_254_740_991, "9007199254740991"],
  [" ", " "],
])("the id %j is read as %j", (given, id) => {
  const call = callOf({
    type: "group",
    userId: given,
    anonymousId: given,
    groupId: given,
    previousId: given,
  });
  expect(call).toMatchObject({ userId: id, anonymousId: id, groupId: id, previousId: id });
});

test.each([
  ["m-1", "m-1"],
  [12, "12"],
  [0, "0"],
  ["x".repeat(100), "x".repeat(100)],
  ["😀".repeat(100), "😀".repeat(100)],
  ["x".repeat(101), null],
  ["😀".repeat(101), null],
  ["a\ud83d", null],
  ["\ude00", null],
  ["", null],
  [null, null],
  [true, null],
  [["m-1"], null],
  [{}, null],
  [Number.POSITIVE_INFINITY, null],
  [undefined, null],
])("the messageId %j is read as %j", (messageId, expected) => {
  expect(callOf({ ...track, messageId }).messageId).toBe(expected);
});

test.each(["properties", "traits", "context", "integrations", "Integrations"])(
  "an empty list counts as absent for %s",
  (field) => {
    for (const type of ["track", "identify", "page", "group", "screen"]) {
      const call = { type, userId: "u", event: "e", groupId: "g" };
      expect(parseCall({ ...call, [field]: [] })).toEqual(parseCall(call));
    }
  },
);

test("the traits of an identify's context count where its own are an empty list", () => {
  const call = { type: "identify", userId: "u", traits: [], context: { traits: { plan: "pro" } } };
  expect(parseCall(call)).toMatchObject({ call: { traits: { plan: "pro" } } });
});

test("null and empty text count as absent", () => {
  const absent = { anonymousId: "", traits: null, properties: "", context: null, name: null };
  expect(callOf({ ...track, ...absent, category: "", timestamp: "" })).toEqual({
    ...callOf(track),
    timestamp: "",
  });
});

test.each([
  ["integrations", { integrations: { A: true } }, { A: true }],
  ["Integrations", { Integrations: { B: true } }, { B: true }],
  ["the first of both", { integrations: { A: true }, Integrations: { B: true } }, { A: true }],
  ["the first, although it is empty", { integrations: {}, Integrations: { B: true } }, {}],
  ["the second where the first is null", { integrations: null, Integrations: { B: 1 } }, { B: 1 }],
  ["the second where the first is a list", { integrations: [], Integrations: {} }, {}],
  ["the second where the first is text", { integrations: "All", Integrations: {} }, {}],
  ["none that is an object", { integrations: true, Integrations: 3 }, null],
])("the integrations read are %s", (_name, given, expected) => {
  expect(callOf({ ...track, ...given }).integrations).toEqual(expected);
});

test.each([
  ["traits for properties", { traits: { a: 1 } }, { a: 1 }],
  ["properties", { properties: { a: 1 } }, { a: 1 }],
  [
    "both, and properties win",
    { traits: { a: 1, b: 1 }, properties: { b: 2, c: 2 } },
    { a: 1, b: 2, c: 2 },
  ],
  ["neither", {}, null],
])("a page's properties are %s", (_name, given, properties) => {
  const call = callOf({ type: "page", userId: "u1", ...given });
  expect(call).toMatchObject({ properties, traits: null });
});

test("the other types keep traits and properties apart", () => {
  const given = { traits: { a: 1 }, properties: { b: 2 } };
  for (const type of ["identify", "track", "screen"]) {
    expect(callOf({ ...track, ...given, type })).toMatchObject(given);
  }
});

test("timestamps are kept as they were given, and never cost the call", () => {
  const given = { timestamp: "soon", originalTimestamp: 5, sentAt: {}, receivedAt: [] };
  expect(callOf({ ...track, ...given })).toMatchObject(given);
});

test("nothing of a call reaches a prototype", () => {
  const call = callOf(
    JSON.parse(
      '{"type":"page","userId":"u1","__proto__":{"name":"evil"},"traits":{"__proto__":{"x":1}},"properties":{"constructor":2}}',
    ),
  );
  expect(call.name).toBeNull();
  expect(Object.getPrototypeOf(call.properties)).toBe(Object.prototype);
  expect(JSON.stringify(call.properties)).toBe('{"__proto__":{"x":1},"constructor":2}');
  expect(({} as Record<string, unknown>).x).toBeUndefined();
});

const nested = (levels: number) => JSON.parse("[".repeat(levels) + "]".repeat(levels)) as unknown;

test.each(["properties", "traits", "context", "integrations"])(
  "%s may nest deeply, within limits",
  (field) => {
    const withLevels = (levels: number) => ({ ...track, [field]: { a: nested(levels - 1) } });
    expect(JSON.stringify(callOf(withLevels(JSON_DEPTH_MAX)))).toContain("[[[");
    expect(errorOf(withLevels(JSON_DEPTH_MAX + 1))).toBe(
      `${field} nests more than ${JSON_DEPTH_MAX} levels deep`,
    );
    expect(errorOf(withLevels(100_000))).toContain(field);
  },
);

test("a small call is not searched for deep nesting, a larger one is", () => {
  const json = { ...track, context: { a: nested(JSON_DEPTH_MAX) } };
  const size = JSON.stringify(json).length;
  expect(parseCall(json, size).kind).toBe("refused");
});

test("what is not passed to anybody may nest as it likes", () => {
  expect(callOf({ ...track, extra: nested(5_000) })).toEqual(callOf(track));
});

test("a call's key is the user's id, else the anonymous one", () => {
  expect(callKey(callOf({ ...track, anonymousId: "a1" }))).toBe("u1");
  expect(callKey(callOf({ ...track, userId: "", anonymousId: "a1" }))).toBe("a1");
});

test.each([
  [{ type: "delete", userId: "u1" }, "u1"],
  [{ type: "delete", userId: 5, timestamp: "x", messageId: "m" }, "5"],
])("is a delete notification: %j", (json, userId) => {
  const notification = { type: "delete", userId };
  expect(parseDelete(json)).toEqual({ kind: "delete", notification });
});

test.each([
  [null, "a delete must be a JSON object, but this is null"],
  [track, 'type is "track", expected delete'],
  [{ type: "delete" }, "userId is nothing"],
  [{ type: "delete", userId: "" }, "userId is an empty string"],
  [{ type: "delete", userId: ["u1"] }, "userId is a list"],
])("is no delete notification: %j", (json, error) => {
  const sentence = expect.stringContaining(error);
  expect(parseDelete(json)).toEqual({ kind: "refused", reason: "invalid-call", error: sentence });
});
