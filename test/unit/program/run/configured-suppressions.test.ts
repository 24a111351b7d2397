// The table of configured-suppressions.ts.

import { expect, test } from "vitest";
import { STAGE_NAMES, type StageName } from "../../../../src/domain/stages.ts";
import { startGroups } from "../../../../src/program/run/configured-suppressions.ts";

test.each<[string, boolean, boolean, readonly StageName[]]>([
  ["neither the users nor a key", false, false, ["deletion", "console"]],
  ["the users", true, false, ["deletion", "console", "ingest", "audience", "deliver", "delay"]],
  ["both", true, true, ["deletion", "console", "ingest", "audience", "deliver", "delay", "route"]],
])("stages that start if a process knows %s", async (_, isRead, isKnown, expected) => {
  const never = new Promise<void>(() => undefined);
  const read = isRead ? Promise.resolve() : never;
  const hasKey = isKnown ? Promise.resolve() : never;
  const started: StageName[] = [];
  const groups = startGroups(STAGE_NAMES, { read, hasKey });
  for (const [stages, known] of groups) void known.then(() => started.push(...stages));
  await new Promise(setImmediate);
  expect(started).toEqual(expected);
});

test("stages that need no suppressions wait for nothing, and no group is empty", async () => {
  expect(startGroups(["deletion"], null)).toEqual([[["deletion"], expect.any(Promise)]]);
  const waiting = { read: Promise.resolve(), hasKey: new Promise<void>(() => undefined) };
  expect(startGroups(["deliver"], waiting)).toEqual([[["deliver"], waiting.read]]);
});
