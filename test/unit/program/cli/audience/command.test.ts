// Publishing a sync from a file of IDs, and showing audiences: the output, the exit status, and the written records.

import { expect, test } from "vitest";
import { WrongUsage } from "../../../../../src/base/words/wrong-usage.ts";
import type { OutgoingRecord } from "../../../../../src/domain/record.ts";
import { audienceTable } from "../../../../../src/operator/look/audiences.ts";
import { publishAudience } from "../../../../../src/program/cli/audience/publish.ts";
import type { Unapplied } from "../../../../../src/program/cli/audience/unapplied.ts";
import { fakeShell } from "../../../../support/worlds/fake-shell.ts";
import { MemoryStore } from "../../../../support/worlds/memory-stores.ts";

interface Given {
  readonly name?: string;
  /** The current members of the audience. */
  readonly members?: readonly string[];
  /** The unapplied records of earlier syncs. */
  readonly unapplied?: Unapplied;
  readonly force?: boolean;
  readonly signal?: AbortSignal;
  readonly json?: boolean;
}

async function publish(
  chunks: readonly (string | Buffer | Error)[],
  {
    name = "VIP Customers",
    members = [],
    unapplied,
    force = false,
    signal,
    json = false,
  }: Given = {},
) {
  const shell = fakeShell();
  const records: OutgoingRecord[] = [];
  const failed: unknown[] = [];
  const status = await publishAudience({
    input: (async function* () {
      for (const chunk of chunks) {
        // Nothing may be written before the whole list is read.
        expect(records).toEqual([]);
        if (chunk instanceof Error) throw chunk;
        yield typeof chunk === "string" ? Buffer.from(chunk) : chunk;
      }
    })(),
    producer: {
      send: async (sent) => {
        records.push(...sent);
        return [];
      },
    },
    topic: "syncs",
    audienceId: "vip",
    audienceName: name,
    syncId: "s1",
    seen: new MemoryStore(),
    applied: async () => unapplied ?? null,
    members: async function* () {
      for (let from = 0; from < members.length; from += 3) yield members.slice(from, from + 3);
    },
    force,
    json,
    signal: signal ?? new AbortController().signal,
    shell,
  }).catch((error: unknown) => {
    failed.push(error);
    return null;
  });
  const values = records.map(({ value }) => JSON.parse(`${value}`) as Record<string, unknown>);
  return { status, shell, records, values, failed };
}

const common = { audienceId: "vip", syncId: "s1" };
const whole = (...userIds: readonly string[]) => [
  { type: "begin", audienceName: "VIP Customers", ...common },
  ...(userIds.length === 0 ? [] : [{ type: "members", userIds, ...common }]),
  { type: "end", count: userIds.length, ...common },
];

test("ids become a whole sync; repeated ones, blank lines and line ends do not count", async () => {
  const { status, shell, records, values } = await publish([
    ...["u1\nu2\r\n\nu", "1\nu3\n", "u4\n"],
  ]);
  expect(status).toBe(0);
  expect(values).toEqual(whole("u1", "u2", "u3", "u4"));
  expect(records.every(({ key }) => `${key}` === "vip")).toBe(true);
  expect(shell.output()).toBe("Published 4 users of audience vip as sync s1 (syncs).\n");
  expect(shell.errors()).toBe("");
});

test("records stay below 1 MiB, whatever the ids are", async () => {
  const ids = Array.from({ length: 3_000 }, (_, index) => `${index}`.padEnd(1_024, "\u0001"));
  const { records, values } = await publish([`${ids.join("\n")}\n`]);
  const lists = values.flatMap(({ userIds }) => (userIds as string[] | undefined) ?? []);
  expect(lists.toSorted()).toEqual(ids.toSorted());
  const longest = Math.max(...records.map(({ value }) => value?.length ?? 0));
  expect(longest).toBeLessThan(1_048_576);
});

const SIX = ["u1", "u2", "u3", "u4", "u5", "user-6"];

test.each<[string, readonly string[], readonly string[], string | null]>([
  ["empty, nobody is there", [], [], "the list is empty"],
  ["empty", [], SIX, "the list is empty"],
  ["blank lines alone", ["\n \n", "\r\n"], SIX, "the list is empty"],
  ["half of the members", ["u1\nu2\nu3\n"], SIX, null],
  [
    "less than half of them",
    ["u1\nu2\n"],
    SIX,
    "more than half of its members are not in the list (4 of 6 members)",
  ],
  ["less, with as many others", ["u1\nu2\na\nb\nc\nd\n"], SIX, "(4 of 6 members)"],
  ["begun by a header", ["user_id\nu1\n"], [], "its first line, user_id, is a column name"],
  ["begun by a header of another form", [' "userId" \r\nu1'], SIX, "is a column name"],
  ["short, and begun by a header", ["ID\n"], SIX, "its first line, ID, is a column name"],
  ["of ids like a header", ["id-1\nuser_id\n"], [], null],
  ["others alone", ["a\n"], ["u1"], "(1 of 1 member)"],
  ["any, nobody is there", ["a\n"], [], null],
  ["cut in its last line", ["u1\nu2\nu3\nu4\nu5\nuse"], SIX, "its last line is truncated"],
  ["whole, without a last line feed", ["u1\nu2\nu3\nu4\nu5\nuser-6"], SIX, null],
  ["without one, and its last id is new", ["u1\nu2\nu3\nu4\nz"], SIX, null],
  ["without one, and its last id is a member", ["u1\nu2\nx"], ["u1", "x", "xy"], null],
])("a list that is %s", async (_, chunks, members, why) => {
  const { status, shell, values } = await publish(chunks, { members });
  if (why === null) {
    expect([status, values.at(-1)?.type]).toEqual([0, "end"]);
    return;
  }
  expect([status, values]).toEqual([1, []]);
  expect(shell.errors()).toContain(why);
  expect(shell.errors()).toContain("Nothing was written.");
  expect(shell.errors()).toContain("--force");
  const forced = await publish(chunks, { members, force: true });
  expect([forced.status, forced.values.at(-1)?.type]).toEqual([0, "end"]);
});

test.each<[Unapplied, string, string]>([
  [
    { kind: "waiting", records: 1, oldestAtMs: Date.UTC(2026, 0, 2, 3, 4, 5) },
    "1 record of earlier syncs has not been applied; the oldest has been waiting since " +
      "2026-01-02 03:04:05 UTC (",
    "Start the audience stage",
  ],
  [
    { kind: "waiting", records: 1_200, oldestAtMs: 0 },
    "1,200 records of earlier syncs have not been applied",
    "Start the audience stage",
  ],
  [
    { kind: "unknown", error: "the permission is missing" },
    "Switchyard could not check whether earlier syncs have been applied: the permission is missing",
    "Fix this problem",
  ],
])("a list is rejected while earlier syncs are not applied: %j", async (unapplied, why, todo) => {
  const { status, shell, values } = await publish(["u1\n"], { unapplied });
  expect([status, values]).toEqual([1, []]);
  expect(shell.errors()).toContain(`audience vip was not published: ${why}`);
  expect(shell.errors()).toContain(`Nothing was written. ${todo}`);
  expect(shell.errors()).toContain("--force");
  const forced = await publish(["u1\n"], { unapplied, force: true });
  expect([forced.status, forced.values.at(-1)?.type]).toEqual([0, "end"]);
  // An empty list is rejected immediately.
  expect((await publish([""], { unapplied })).shell.errors()).toContain("the list is empty");
});

test("a last line without a line feed is reported", async () => {
  const { shell, values } = await publish(["u1\nu2"]);
  expect(values).toEqual(whole("u1", "u2"));
  expect(shell.errors()).toContain("The last line does not end in a line feed.");
});

test("an empty list that is forced is a sync of nobody", async () => {
  const { status, values } = await publish([], { members: SIX, force: true });
  expect([status, values]).toEqual([0, whole()]);
});

test.each<[string, readonly (string | Buffer)[]]>([
  ["longer than an id", [`u1\n${"x".repeat(2_000)}\nu2\n`]],
  ["cut within a letter", ["u1\n", Buffer.from("ü").subarray(0, 1)]],
])("a line that is %s: nothing is written, forced or not", async (_, chunks) => {
  for (const force of [false, true]) {
    const { status, shell, values } = await publish(chunks, { force });
    expect([status, values]).toEqual([1, []]);
    expect(shell.errors()).toContain("line 2 is not a user ID");
  }
});

test("an input that fails before its end: nothing is written", async () => {
  const broken = new Error("EIO");
  const { status, values, failed } = await publish(["u1\nu2\n", broken], { force: true });
  expect([status, values, failed]).toEqual([null, [], [broken]]);
});

test("a name that gives no trait is wrong usage, and nothing is written", async () => {
  const { failed, values } = await publish(["u1\n"], { name: "!?" });
  expect([failed[0] instanceof WrongUsage, values]).toEqual([true, []]);
  expect(String(failed[0])).toContain("audienceName needs at least one letter or digit");
});

test("an interruption while the members are read writes nothing", async () => {
  const interrupted = new AbortController();
  const members = {
    slice: () => {
      interrupted.abort();
      throw interrupted.signal.reason;
    },
    length: 1,
  } as unknown as readonly string[];
  const { status, shell, values, failed } = await publish(["u1\n"], {
    members,
    signal: interrupted.signal,
  });
  expect([status, values, failed]).toEqual([1, [], []]);
  expect(shell.errors()).toBe("Interrupted: nothing was written.\n");
});

test("an interruption while the list is read writes nothing", async () => {
  const { status, shell, values } = await publish(["u1\n"], { signal: AbortSignal.abort() });
  expect([status, values]).toEqual([1, []]);
  expect(shell.errors()).toBe("Interrupted: nothing was written.\n");
});

test("audiences are shown with their last sync and what awaits approval", () => {
  const claim = { partition: 0, first: 0, claim: 0, openSyncId: null };
  const text = audienceTable([
    {
      id: "a",
      name: "A",
      key: "a",
      members: 3,
      ...claim,
      last: { syncId: "s1", endedAtMs: 0 },
      awaitingApproval: null,
    },
    {
      id: "b",
      name: "B",
      key: "b",
      members: 9,
      ...claim,
      last: null,
      awaitingApproval: { syncId: "s2", removals: 5, sinceMs: 0 },
    },
  ]);
  expect(text).toContain("s1, 1970-01-01T00:00:00.000Z");
  expect(text).toContain("s2, 1970-01-01T00:00:00.000Z: 5 would leave");
});

test("as JSON: one object, written or refused", async () => {
  const written = await publish(["u1\nu2\n"], { json: true });
  expect(JSON.parse(written.shell.output())).toEqual({
    ...{ end: "written", error: null, audience: "vip", sync: "s1", topic: "syncs" },
    ...{ users: 2, written: 2 },
  });
  const refused = await publish(["\n"], { json: true });
  expect(refused.status).toBe(1);
  expect(JSON.parse(refused.shell.output())).toMatchObject({ end: "rejected", written: 0 });
});
