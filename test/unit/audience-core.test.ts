// The decision tables of audiences, row by row.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";

import type { Audience, OpenSync } from "../../src/audience/audience.ts";
import { settingsOf } from "../../src/audience/audience-settings.ts";
import { matchOf, newCheckpoint, readCheckpoint } from "../../src/audience/checkpoint.ts";
import { Claims, conflictOf } from "../../src/audience/claims.ts";
import { callMaker } from "../../src/audience/identify-call.ts";
import { digestOf, firstOf, memberPrefix, traitsRange, userOf } from "../../src/audience/keys.ts";
import { arrive, readMembership, writeMembership } from "../../src/audience/membership.ts";
import { membershipMessageId, traitMessageId } from "../../src/audience/message-id.ts";
import { type AudienceRecord, parseSync } from "../../src/audience/parse-sync.ts";
import { snakeCase } from "../../src/audience/snake-case.ts";
import { isTooOld, replayStepOf, stepOf } from "../../src/audience/sync-state.ts";
import { keptValue } from "../../src/audience/trait-value.ts";
import { verdictOf } from "../../src/audience/verdict.ts";
import type { SourceId } from "../../src/domain/ids.ts";

describe("names", () => {
  const page = readFileSync(join(import.meta.dirname, "../../docs/audiences.md"), "utf8");
  const [, table = ""] = page.split("<!-- names -->");
  const rows = [...table.matchAll(/^\| `(.+)` \| (?:`(.+)`|refused) \|$/gm)].map(
    ([, name = "", key = ""]) => [name, key] as const,
  );

  test("there are at least 60 in docs/audiences.md", () => {
    expect(rows.length).toBeGreaterThanOrEqual(60);
  });

  test.each(rows)("%s is %s, as docs/audiences.md says", (name, key) => {
    expect(snakeCase(name)).toBe(key);
  });

  test("a very long name is taken whole, and quickly enough to be taken at all", () => {
    expect(snakeCase("Abc".repeat(50_000))).toBe(Array(50_000).fill("abc").join("_"));
  });
});

describe("records", () => {
  const sync = { audienceId: "a", syncId: "s" };
  const long = "x".repeat(1_025);
  test.each([
    [[], "a sync record is a JSON object, this is a list"],
    [{ type: "Begin" }, 'type is "Begin", expected one of begin'],
    [{ type: "begin", audienceName: "A", syncId: "s" }, "audienceId is nothing"],
    [{ type: "begin", audienceName: "A", audienceId: "a" }, "syncId is nothing"],
    [{ type: "begin", ...sync }, "audienceName is nothing"],
    [{ type: "begin", ...sync, audienceName: "" }, "audienceName is empty text"],
    [{ type: "begin", ...sync, audienceName: "!?" }, "audienceName has no letter and no digit"],
    [{ type: "begin", ...sync, audienceName: 5 }, "audienceName is a number"],
    [{ type: "begin", ...sync, audienceName: long }, "audienceName has more than 1024 bytes"],
    [{ type: "begin", audienceId: long, syncId: "s", audienceName: "A" }, "audienceId has more"],
    [{ type: "members", ...sync }, "userIds is nothing"],
    [{ type: "members", ...sync, userIds: "u" }, "userIds is text"],
    [{ type: "members", ...sync, userIds: ["u", null] }, "userIds[1] is null"],
    [{ type: "members", ...sync, userIds: [true] }, "userIds[0] is true"],
    [{ type: "members", ...sync, userIds: [""] }, "userIds[0] is empty text"],
    [{ type: "members", ...sync, userIds: [long] }, "userIds[0] has more than 1024 bytes"],
    [{ type: "members", ...sync, userIds: ["\ud800"] }, "userIds[0] has half of a surrogate pair"],
    [{ type: "end", ...sync }, "count is nothing"],
    [{ type: "end", ...sync, count: "3" }, "count is text"],
    [{ type: "end", ...sync, count: -1 }, "count is a number, expected a whole number"],
    [{ type: "end", ...sync, count: 1.5 }, "count is a number, expected a whole number"],
    [{ type: "delete" }, "audienceId is nothing"],
    [{ type: "release", audienceId: "a" }, "syncId is nothing"],
    [{ type: "trait", traitName: "Plan", userId: "u" }, "value is nothing"],
    [{ type: "trait", traitName: "-", userId: "u", value: 1 }, "traitName has no letter"],
    [{ type: "forget" }, "userId is nothing"],
  ])("%j is refused: %s", (json, error) => {
    expect(parseSync(json)).toMatchObject({
      kind: "refused",
      reason: "invalid-sync",
      error: expect.stringContaining(error) as string,
    });
  });

  test.each([
    [
      { type: "members", audienceId: 7, syncId: 0, userIds: [1, "2", 1.5] },
      { type: "members", audienceId: "7", syncId: "0", userIds: ["1", "2", "1.5"] },
    ],
    [
      { type: "end", ...sync, count: 0, force: "yes" },
      { type: "end", ...sync, count: 0, force: false },
    ],
    [
      { type: "trait", traitName: "Life Time", userId: 9, value: null },
      { type: "trait", key: "life_time", userId: "9", value: null },
    ],
  ])("%j is read as %j", (json, record) => {
    expect(parseSync(json)).toEqual({ kind: "sync", record });
  });
});

const open: OpenSync = {
  syncId: "now",
  begin: 10,
  beganAtMs: 1_000,
  membersBefore: 0,
  verdict: null,
};
const audience: Audience = {
  id: "a",
  name: "A",
  key: "a",
  first: 0,
  open,
  held: { syncId: "held", begin: 5, removals: 3, heldAtMs: 0 },
  last: null,
  closed: 1,
};

describe("steps", () => {
  const record = (type: string, syncId: string, more: object = {}) => {
    const all = { audienceName: "A", userIds: [], count: 0, force: false };
    return { type, audienceId: "a", syncId, ...all, ...more } as unknown as AudienceRecord;
  };
  const step = (given: AudienceRecord, known: Audience | null, isOver = false, offset = 20) =>
    stepOf({ record: given, offset, audience: known, isOver }).kind;

  test.each([
    ["begin", "new", "create"],
    ["snapshot", "new", "create"],
    ["members", "new", "invalid"],
    ["end", "new", "invalid"],
    ["release", "new", "invalid"],
    ["delete", "new", "ignore"],
  ])("%s of an unknown audience: %s -> %s", (type, syncId, expected) => {
    expect(step(record(type, syncId), null)).toBe(expected);
  });

  test.each([
    ["begin", "now", {}, "ignore"],
    ["begin", "held", {}, "ignore"],
    ["begin", "new", {}, "open"],
    ["members", "now", {}, "arrive"],
    ["members", "held", {}, "ignore"],
    ["members", "new", {}, "invalid"],
    ["end", "now", {}, "end"],
    ["end", "held", {}, "ignore"],
    ["end", "held", { force: true }, "release"],
    ["end", "new", { force: true }, "invalid"],
    ["snapshot", "new", {}, "open"],
    ["snapshot", "now", {}, "ignore"],
    ["snapshot", "held", {}, "ignore"],
    ["snapshot", "held", { force: true }, "release"],
    ["release", "held", {}, "release"],
    ["release", "now", {}, "ignore"],
    ["release", "new", {}, "invalid"],
    ["delete", "new", {}, "delete"],
  ])("%s of sync %s, %j -> %s", (type, syncId, more, expected) => {
    expect(step(record(type, syncId, more), audience)).toBe(expected);
  });

  test.each(["begin", "members", "end", "snapshot", "release"])(
    "%s of a sync that is over is ignored",
    (type) => {
      expect(step(record(type, "old", { force: true }), audience, true)).toBe("ignore");
    },
  );

  test("a snapshot that a crash cut short goes on", () => {
    expect(step(record("snapshot", "now"), audience, false, 10)).toBe("continue");
  });

  test.each([
    ["members", "now", 20, "arrive"],
    ["members", "new", 20, "ignore"],
    ["snapshot", "now", 10, "continue"],
    ["begin", "now", 10, "ignore"],
    ["end", "now", 20, "ignore"],
    ["delete", "now", 20, "ignore"],
  ])("applied before: %s of sync %s -> %s", (type, syncId, offset, expected) => {
    expect(replayStepOf({ record: record(type, syncId), offset, audience }).kind).toBe(expected);
  });

  test("a sync is too old after a day", () => {
    expect(isTooOld(open, 1_000 + 86_400_000)).toBe(false);
    expect(isTooOld(open, 1_001 + 86_400_000)).toBe(true);
  });
});

describe("verdicts", () => {
  const judged = {
    count: 70,
    arrived: 70,
    membersBefore: 1_000,
    removals: 300,
    force: false,
    heldShare: 0.3,
    heldMinimum: 100,
  };
  test.each([
    [{ count: 71 }, "wrong-count"],
    [{ count: 71, force: true }, "wrong-count"],
    [{}, "complete"],
    [{ removals: 301 }, "held"],
    [{ removals: 301, force: true }, "complete"],
    [{ removals: 301, heldShare: null }, "complete"],
    [{ removals: 100, membersBefore: 100 }, "complete"],
    [{ removals: 101, membersBefore: 101 }, "held"],
    [{ count: 0, arrived: 0, removals: 0 }, "held"],
    [{ count: 0, arrived: 0, removals: 0, heldShare: null }, "complete"],
    [{ count: null, removals: 301 }, "held"],
    [{ removals: 290, membersBefore: 1_000, heldShare: 0.29 }, "complete"],
    [{ removals: 1_000, heldShare: 1 }, "complete"],
    [{ removals: 1_000, heldShare: 0 }, "held"],
  ])("%j is %s", (more, verdict) => {
    expect(verdictOf({ ...judged, ...more })).toBe(verdict);
  });
});

describe("memberships", () => {
  test.each([
    [null, 9, false, "entered", "+9", true],
    [null, 9, true, "arrived", "-9", true],
    ["+", 9, false, "arrived", "+9", true],
    ["+3!2", 9, true, "arrived", "+9!2", true],
    ["+9", 9, false, "again", null, false],
    ["-9", 9, true, "again", null, false],
    ["-9", 9, false, "entered", "+9", false],
    ["-3", 9, false, "entered", "+9", true],
  ])("%s arrives in %s, again %s: %s -> %s", (before, begin, isReplay, kind, after, isFirst) => {
    const arrival = arrive(readMembership(before), begin, isReplay);
    expect(arrival.kind).toBe(kind);
    if (arrival.kind === "again") return;
    expect([writeMembership(arrival.next), arrival.isFirst]).toEqual([after, isFirst]);
  });

  test("keys keep the offset and the user apart, whatever is in the id", () => {
    for (const user of ["u", "a/b", "0", "\u{10ffff}x", " "]) {
      const key = memberPrefix(123_456) + user;
      expect([firstOf(key), userOf(key)]).toEqual([123_456, user]);
    }
    expect(traitsRange("a/b").from).not.toBe(traitsRange("a").from);
    expect(digestOf("s1")).not.toBe(digestOf("s2"));
  });
});

test("message ids are version 5, and differ with everything that names them", () => {
  const change = { audienceId: "a", first: 3, userId: "u", by: "s", value: true };
  const ids = [
    change,
    { ...change, audienceId: "b" },
    { ...change, first: 4 },
    { ...change, userId: "v" },
    { ...change, by: "t" },
    { ...change, value: false },
  ].map(membershipMessageId);
  expect(new Set(ids).size).toBe(ids.length);
  for (const id of ids)
    expect(id).toMatch(/^[\da-f]{8}-[\da-f]{4}-5[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/);
  expect(membershipMessageId(change)).toBe(ids[0]);
  const at = { partition: 1, offset: 2 };
  expect(traitMessageId("k", "u", at)).not.toBe(traitMessageId("k", "u", { ...at, offset: 3 }));
});

test("a call says who, which trait, and when, in a value that route takes", () => {
  const options = {
    topic: "calls",
    source: "web" as SourceId,
    trait: 'a"b',
    atMs: 1_700_000_000_000,
  };
  const record = callMaker({ ...options, integrations: { All: false } }).call('u"1', true, "id");
  expect(JSON.parse(`${record.value}`)).toEqual({
    type: "identify",
    messageId: "id",
    userId: 'u"1',
    traits: { 'a"b': true },
    integrations: { All: false },
    timestamp: "2023-11-14T22:13:20.000Z",
  });
  expect([`${record.key}`, record.sharedHeaders]).toEqual([
    'u"1',
    [["source-id", Buffer.from("web")]],
  ]);
});

test("values of traits are compared whatever the order of their keys", () => {
  expect(keptValue({ a: 1, b: [{ c: 1, d: 2 }] })).toBe(keptValue({ b: [{ d: 2, c: 1 }], a: 1 }));
  expect(keptValue([1, 2])).not.toBe(keptValue([2, 1]));
  expect(keptValue("x".repeat(100))).toHaveLength(44);
  expect(keptValue(1)).not.toBe(keptValue("1"));
});

describe("stores", () => {
  const checkpoint = { ...newCheckpoint("me", 10, 0), changelog: 50 };
  const facts = { end: 50, identityThere: "me", identityBehind: null, nowMs: 0 };
  test.each([
    [checkpoint, {}, "right"],
    [null, {}, "missing"],
    [checkpoint, { end: 49 }, "ahead"],
    [checkpoint, { end: 60 }, "behind"],
    [checkpoint, { end: 60, nowMs: 43_200_001 }, "stale"],
    [checkpoint, { nowMs: 43_200_001 }, "right"],
    [checkpoint, { identityThere: null, identityBehind: "me", end: 60 }, "behind"],
    [checkpoint, { identityThere: null }, "foreign"],
    [checkpoint, { identityThere: "other" }, "foreign"],
    [checkpoint, { identityBehind: "other", end: 60 }, "foreign"],
  ])("%j with %j is %s", (given, more, match) => {
    expect(matchOf(given, { ...facts, ...more })).toBe(match);
  });

  test.each([undefined, "", "{", "null", "{}", '{"version":2}', '{"version":1,"identity":"me"}'])(
    "%s is no checkpoint",
    (text) => {
      expect(readCheckpoint(text)).toBeNull();
    },
  );

  test("a checkpoint is read as it was written", () => {
    expect(readCheckpoint(JSON.stringify(checkpoint))).toEqual(checkpoint);
  });
});

describe("claims", () => {
  const claim = (id: string, key: string, partition: number, offset: number | null = null) => ({
    ...{ id, name: id, key, partition, first: 0, claim: offset, members: 0 },
    ...{ openSyncId: null, last: null, held: null },
  });

  test("the first claim of an id or a key wins, also when compaction has left only later records", () => {
    const claims = new Claims();
    claims.apply("a", claim("a", "k", 0), 0);
    claims.apply("b", claim("b", "k", 1), 1);
    claims.apply("a", claim("a", "k", 2), 2);
    expect(claims.all().map(({ id, partition }) => [id, partition])).toEqual([["a", 0]]);

    const compacted = new Claims();
    compacted.apply("b", claim("b", "k", 1), 1);
    compacted.apply("a", claim("a", "k", 0, 0), 3);
    expect(compacted.all().map(({ id }) => id)).toEqual(["a"]);
    expect(compacted.ownerOf("k")?.id).toBe("a");
  });

  test("the owner may rename its key, and what is freed can be claimed", () => {
    const claims = new Claims();
    claims.apply("a", claim("a", "k", 0), 0);
    claims.apply("a", claim("a", "l", 0), 1);
    expect([claims.ownerOf("k"), claims.of("a")?.claim]).toEqual([null, 0]);
    claims.apply("a", null, 2);
    claims.apply("b", claim("b", "l", 3), 3);
    expect(claims.ownerOf("l")?.id).toBe("b");
  });

  test.each([
    [{ id: "a", key: "k", partition: 0 }, null],
    [{ id: "a", key: "other", partition: 0 }, null],
    [{ id: "b", key: "other", partition: 1 }, null],
    [{ id: "a", key: "k", partition: 1 }, "partition 0 too"],
    [{ id: "b", key: "k", partition: 0 }, 'its key "k" is that of another audience'],
  ])("a claim of %j after a has k in partition 0: %s", (request, conflict) => {
    const claims = new Claims();
    claims.apply("a", claim("a", "k", 0), 0);
    const found = conflictOf(claims, request);
    if (conflict === null) expect(found).toBeNull();
    else expect(found).toContain(conflict);
  });
});

test("what an audience's entry leaves out comes from the defaults, then from defaultSource", () => {
  const nothing = { source: null, integrations: null, heldShare: null, heldMinimum: null };
  const web = "web" as SourceId;
  const settings = settingsOf({
    audiences: [{ id: "a", key: "k", ...nothing, heldShare: 0.1 }],
    audienceDefaults: { ...nothing, integrations: { All: false }, heldShare: 0.5 },
    defaultSource: web,
  });
  expect(settings("a")).toEqual({
    source: web,
    key: "k",
    integrations: { All: false },
    heldShare: 0.1,
    heldMinimum: 100,
  });
  expect(settings("b")).toMatchObject({ key: null, heldShare: 0.5 });
  expect(settings(null)).toMatchObject({ source: web, integrations: { All: false } });
});
