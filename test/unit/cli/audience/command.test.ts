// Publishing a sync from a file of ids, and showing audiences: output, exit status, what is
// written.

import { expect, test } from "vitest";

import { audienceTable } from "../../../../src/cli/audience/audiences.ts";
import { publishAudience } from "../../../../src/cli/audience/publish.ts";
import { WrongUsage } from "../../../../src/cli/wrong-usage.ts";
import type { OutgoingRecord } from "../../../../src/domain/record.ts";
import { MemoryStore } from "../../../../src/store/memory-store.ts";
import { fakeShell } from "../../../support/worlds/fake-shell.ts";

async function publish(
  lines: readonly string[],
  audienceName = "VIP Customers",
  signal?: AbortSignal,
) {
  const shell = fakeShell();
  const records: OutgoingRecord[] = [];
  const chunks = lines.map((line) => Buffer.from(line));
  const status = await publishAudience({
    input: (async function* () {
      yield* chunks;
    })(),
    producer: {
      send: async (sent) => {
        records.push(...sent);
        return [];
      },
      close: async () => undefined,
    },
    topic: "syncs",
    audienceId: "vip",
    audienceName,
    syncId: "s1",
    seen: new MemoryStore(),
    signal: signal ?? new AbortController().signal,
    shell,
  });
  const values = records.map(({ value }) => JSON.parse(`${value}`) as Record<string, unknown>);
  return { status, shell, records, values };
}

test("ids become a whole sync; repeated ones, blank lines and line ends do not count", async () => {
  const { status, shell, records, values } = await publish(["u1\nu2\r\n\nu", "1\nu3\n", "u4"]);
  expect(status).toBe(0);
  const common = { audienceId: "vip", syncId: "s1" };
  expect(values).toEqual([
    { type: "begin", audienceName: "VIP Customers", ...common },
    { type: "members", userIds: ["u1", "u2"], ...common },
    { type: "members", userIds: ["u3"], ...common },
    { type: "members", userIds: ["u4"], ...common },
    { type: "end", count: 4, ...common },
  ]);
  expect(records.every(({ key }) => `${key}` === "vip")).toBe(true);
  expect(shell.output()).toBe("4 users of audience vip written as sync s1 (syncs).\n");
});

test("an empty file is a sync of nobody", async () => {
  const { status, values } = await publish([]);
  expect([status, values.at(-1)]).toEqual([
    0,
    { type: "end", audienceId: "vip", syncId: "s1", count: 0 },
  ]);
});

test("a line that is no id ends it without an end, so that nobody is removed", async () => {
  const { status, shell, values } = await publish([`u1\n${"x".repeat(2_000)}\nu2\n`]);
  expect(status).toBe(1);
  expect(shell.errors()).toContain("line 2 is no id");
  expect(values.map(({ type }) => type)).toEqual(["begin"]);
});

test("a name that gives no trait is wrong usage, and nothing is written", async () => {
  const published = publish(["u1\n"], "!?");
  await expect(published).rejects.toThrow(WrongUsage);
  await expect(published).rejects.toThrow("audienceName has no letter and no digit");
});

test("an interruption writes no end", async () => {
  const { status, shell, values } = await publish(["u1\n"], "VIP", AbortSignal.abort());
  expect(status).toBe(1);
  expect(values.map(({ type }) => type)).toEqual(["begin"]);
  expect(shell.errors()).toContain("nobody is removed");
});

test("audiences are shown with their last sync and what is held", () => {
  const claim = { partition: 0, first: 0, claim: 0, openSyncId: null };
  const text = audienceTable([
    {
      id: "a",
      name: "A",
      key: "a",
      members: 3,
      ...claim,
      last: { syncId: "s1", endedAtMs: 0 },
      held: null,
    },
    {
      id: "b",
      name: "B",
      key: "b",
      members: 9,
      ...claim,
      last: null,
      held: { syncId: "s2", removals: 5, heldAtMs: 0 },
    },
  ]);
  expect(text).toContain("s1, 1970-01-01T00:00:00.000Z");
  expect(text).toContain("s2, 1970-01-01T00:00:00.000Z: 5 would leave");
});
