import { runInNewContext } from "node:vm";
import { describe, expect, test } from "vitest";
import rootPackage from "../../../../package.json" with { type: "json" };
import { parseCall } from "../../../../src/domain/parse-call.ts";
import type { CallType } from "../../../../src/sdk/client/call-input.ts";
import { ValidationError } from "../../../../src/sdk/client/client-error.ts";
import { LIBRARY, validate } from "../../../../src/sdk/client/validate.ts";

const U = { userId: "u" };

function refusedField(type: CallType, call: unknown): string {
  try {
    validate(type, call, () => "m");
  } catch (error) {
    if (!(error instanceof ValidationError)) throw error;
    expect(error.message).toContain(type);
    return error.field;
  }
  return "nothing was refused";
}

describe("what each method needs", () => {
  test.each<[CallType, object, string]>([
    ["identify", {}, "userId"],
    ["identify", { userId: "", anonymousId: null }, "userId"],
    ["track", { event: "e" }, "userId"],
    ["track", U, "event"],
    ["track", { ...U, event: "" }, "event"],
    ["page", { name: "n" }, "userId"],
    ["screen", {}, "userId"],
    ["group", { groupId: "g" }, "userId"],
    ["group", U, "groupId"],
    ["alias", { previousId: "p" }, "userId"],
    ["alias", U, "previousId"],
  ])("%s %j is rejected for %s", (type, call, field) => {
    expect(refusedField(type, call)).toBe(field);
  });

  test.each<[CallType, object]>([
    ["identify", { anonymousId: "a" }],
    ["identify", { ...U, traits: { plan: "pro" } }],
    ["track", { ...U, event: "e", properties: {} }],
    ["track", { userId: 0, event: "e" }],
    ["page", { anonymousId: "a", name: "n", category: "c", properties: { url: "/" } }],
    ["screen", { ...U, name: "n" }],
    ["group", { ...U, groupId: 7, traits: {} }],
    ["alias", { ...U, previousId: "p" }],
  ])("%s %j is taken, and the server reads it", (type, call) => {
    const sent = JSON.parse(JSON.stringify(validate(type, call, () => "m")));
    expect(parseCall(sent).kind).toBe("call");
    expect(sent).toMatchObject({ type, messageId: "m", context: { library: LIBRARY } });
    expect(sent).not.toHaveProperty("timestamp");
  });
});

// Values of another realm, as in test runners and native drivers. `instanceof` is false for them.
const foreign = (code: string): unknown => runInNewContext(code);

test.each([
  ...["new Map([[1, 2]])", "new Set([1])", "new Uint8Array(2)", "new ArrayBuffer(2)", "[1]"],
  ...["new Error('e')", "Promise.resolve(1)", "new Date(0)", "/x/", "new WeakMap()"],
])("properties must not be %s, of whichever realm", (code) => {
  for (const properties of [foreign(code), foreign(`(0, eval)("${code}")`)]) {
    expect(refusedField("track", { ...U, event: "e", properties })).toBe("properties");
  }
});

test("an object of another realm is an object, and its dates are written", () => {
  const properties = foreign("({ at: new Date(1800000000123), list: [1] })");
  const { properties: sent } = validate("track", { ...U, event: "e", properties }, () => "m");
  expect(JSON.stringify(sent)).toBe('{"at":"2027-01-15T08:00:00.123Z","list":[1]}');
});

describe("values", () => {
  class Money {
    toJSON() {
      return { amount: 1 };
    }
  }
  test.each<[string, unknown]>([
    ["userId", Number.NaN],
    ["userId", 2 ** 60],
    ["userId", -(2 ** 53)],
    ["userId", 1e21],
    ["userId", Number.POSITIVE_INFINITY],
    ["anonymousId", 2 ** 53],
    ["messageId", 2 ** 53],
    ["userId", {}],
    ["userId", true],
    ["anonymousId", []],
    ["event", 5],
    ["properties", "text"],
    ["properties", []],
    ["properties", new Map([["a", 1]])],
    ["properties", new Date()],
    ["context", 1],
    ["integrations", []],
    ["integrations", "All"],
    ["messageId", "x".repeat(101)],
    ["messageId", {}],
    ["timestamp", "yesterday"],
    ["timestamp", "2026-02-29"],
    ["timestamp", 700_000_000],
    ["timestamp", new Date(Number.NaN)],
    ["traits", {}],
    ["propertys", {}],
  ])("track rejects %s: %j", (field, value) => {
    expect(refusedField("track", { userId: "u", event: "e", [field]: value })).toBe(field);
  });

  test.each([1, "true", []])("an integration must not be %j", (value) => {
    const call = { ...U, event: "e", integrations: { All: false, Crm: value } };
    expect(refusedField("track", call)).toBe("integrations.Crm");
  });

  test.each([null, 1, "call", [U]])("a call must not be %j", (call) => {
    expect(refusedField("track", call)).toBe("call");
  });

  test("a refusal does not show the value", () => {
    expect(() => validate("track", { ...U, event: ["secret"] }, () => "m")).toThrow(
      expect.objectContaining({ message: expect.not.stringContaining("secret") }),
    );
  });

  test.each([
    [foreign("new Date(1800000000123)"), "2027-01-15T08:00:00.123Z"],
    [foreign("new (class extends Date {})(1800000000123)"), "2027-01-15T08:00:00.123Z"],
    [new Date(1_800_000_000_123), "2027-01-15T08:00:00.123Z"],
    [1_800_000_000_123.9, "2027-01-15T08:00:00.123Z"],
    ["2026-11-20T10:00:00+0000", "2026-11-20T10:00:00+0000"],
  ])("the timestamp %s is sent as %s", (timestamp, sent) => {
    expect(validate("identify", { ...U, timestamp }, () => "m").timestamp).toBe(sent);
  });

  test("numbers become text, null and empty text are omitted, toJSON counts", () => {
    const call = { userId: 12, anonymousId: "", traits: new Money(), context: null };
    expect(JSON.parse(JSON.stringify(validate("identify", call, () => "m")))).toEqual({
      type: "identify",
      messageId: "m",
      userId: "12",
      traits: { amount: 1 },
      context: { library: LIBRARY },
    });
  });

  test("a page's traits are its properties, which win key by key", () => {
    const call = { ...U, traits: { url: "/a", title: "A" }, properties: { url: "/b" } };
    const sent = JSON.parse(JSON.stringify(validate("page", call, () => "m")));
    expect(sent.properties).toEqual({ url: "/b", title: "A" });
    expect(sent).not.toHaveProperty("traits");
  });

  test("a message id and a library that the caller names stay", () => {
    const call = { ...U, messageId: "mine", context: { library: { name: "wrapper" }, ip: "::1" } };
    expect(validate("identify", call, () => "m")).toMatchObject({
      messageId: "mine",
      context: { library: { name: "wrapper" }, ip: "::1" },
    });
  });
});

describe("ids", () => {
  test.each<[CallType, string]>([
    ["identify", "userId"],
    ["track", "anonymousId"],
    ["group", "groupId"],
    ["alias", "previousId"],
  ])("%s rejects a rounded %s, and says to pass text", (type, field) => {
    const needed = type === "track" ? { event: "e" } : {};
    const call = { ...U, ...needed, [field]: 2 ** 60 };
    expect(() => validate(type, call, () => "m")).toThrow(/must be a string, .* as a string/);
  });

  test("the largest number and bigints are sent with all their digits", () => {
    const call = { userId: Number.MAX_SAFE_INTEGER, anonymousId: -157963456373623802n };
    expect(validate("identify", { ...call, messageId: 2n ** 64n }, () => "m")).toMatchObject({
      userId: "9007199254740991",
      anonymousId: "-157963456373623802",
      messageId: "18446744073709551616",
    });
  });
});

test("the library names the version of the package", () => {
  expect(LIBRARY.version).toBe(rootPackage.version);
});
