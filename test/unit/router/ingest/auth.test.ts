// The source of the calls in a request: each row of the table in src/router/ingest/auth.ts.

import { expect, test, vi } from "vitest";

import { authenticate, basicUser, writeKeys } from "../../../../src/router/ingest/auth.ts";
import { aSource } from "../../../support/build/calls.ts";

const web = aSource("web", [], { writeKeys: ["web-new", "web-old"] });
const app = aSource("app", [], { writeKeys: ["clé-app"] });
const none = aSource("none", []);
const keys = writeKeys([web, app, none]);

const basic = (text: string) => `Basic ${Buffer.from(text).toString("base64")}`;

test.each([
  ["web-new", "web"],
  ["web-old", "web"],
  ["clé-app", "app"],
])("the key %s is that of %s", (key, id) => {
  expect(keys.find(key)?.id).toBe(id);
});

const { comparisons } = vi.hoisted(() => ({
  comparisons: vi.fn((one: Buffer, other: Buffer) => one.equals(other)),
}));
vi.mock("node:crypto", async (original) => ({
  ...(await original<typeof import("node:crypto")>()),
  timingSafeEqual: comparisons,
}));

test("a key is looked up by its digest, and not compared with every key", () => {
  const many = Array.from({ length: 1_000 }, (_, at) =>
    aSource(`s${at}`, [], { writeKeys: [`key-${at}`] }),
  );
  expect(writeKeys(many).find("key-7")?.id).toBe("s7");
  expect(writeKeys(many).find("wrong")).toBeNull();
  expect(comparisons).not.toHaveBeenCalled();
});

test.each(["", "web-ne", "web-neww", "WEB-NEW", "web-new ", "cle-app", "x".repeat(100_000)])(
  "the key %j is nobody's",
  (key) => {
    expect(keys.find(key)).toBeNull();
  },
);

test.each([
  [basic("key:"), "key"],
  [basic("key"), "key"],
  [basic("key:password"), "key"],
  [basic("clé:"), "clé"],
  [basic("key:").replace("Basic", "bAsIc"), "key"],
  [basic("key:").replace("Basic ", "Basic   "), "key"],
  [basic(":password"), null],
  [basic(""), null],
  ["Basic", null],
  ["Basic !!!", null],
  ["Bearer abc", null],
  ["", null],
  [undefined, null],
])("the user of %j is %j", (header, user) => {
  expect(basicUser(header)).toBe(user);
});

test.each([
  ["Basic wins over the body", "web-new", "clé-app", { kind: "source", source: web }],
  ["also when it is wrong", "nope", "clé-app", { kind: "unknown-write-key" }],
  ["the body's", null, "clé-app", { kind: "source", source: app }],
  ["the body's, wrong", null, "nope", { kind: "unknown-write-key" }],
  ["none", null, undefined, { kind: "missing-write-key" }],
  ["empty", null, "", { kind: "missing-write-key" }],
  ["no text", null, 7, { kind: "missing-write-key" }],
] as const)("%s", (_, user, inBody, expected) => {
  expect(authenticate(user, inBody, keys)).toEqual(expected);
});
