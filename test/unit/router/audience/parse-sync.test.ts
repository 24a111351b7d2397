// Parsing records of audience-syncs.

import { expect, test } from "vitest";

import { parseSync } from "../../../../src/router/audience/parse-sync.ts";

const sync = { audienceId: "a", syncId: "s" };
const long = "x".repeat(1_025);
test.each([
  [[], "a sync record must be a JSON object, but this is a list"],
  [{ type: "Begin" }, 'type is "Begin", expected one of begin'],
  [{ type: "begin", audienceName: "A", syncId: "s" }, "audienceId is nothing"],
  [{ type: "begin", audienceName: "A", audienceId: "a" }, "syncId is nothing"],
  [{ type: "begin", ...sync }, "audienceName is nothing"],
  [{ type: "begin", ...sync, audienceName: "" }, "audienceName is an empty string"],
  [
    { type: "begin", ...sync, audienceName: "!?" },
    "audienceName needs at least one letter or digit",
  ],
  [{ type: "begin", ...sync, audienceName: 5 }, "audienceName is a number"],
  [{ type: "begin", ...sync, audienceName: long }, "audienceName has more than 1024 bytes"],
  [{ type: "begin", audienceId: long, syncId: "s", audienceName: "A" }, "audienceId has more"],
  [{ type: "members", ...sync }, "userIds is nothing"],
  [{ type: "members", ...sync, userIds: "u" }, "userIds is a string"],
  [{ type: "members", ...sync, userIds: ["u", null] }, "userIds[1] is null"],
  [{ type: "members", ...sync, userIds: [true] }, "userIds[0] is true"],
  [{ type: "members", ...sync, userIds: [""] }, "userIds[0] is an empty string"],
  [{ type: "members", ...sync, userIds: [long] }, "userIds[0] has more than 1024 bytes"],
  [
    { type: "members", ...sync, userIds: ["\ud800"] },
    "userIds[0] contains half of a surrogate pair",
  ],
  [{ type: "end", ...sync }, "count is nothing"],
  [{ type: "end", ...sync, count: "3" }, "count is a string"],
  [{ type: "end", ...sync, count: -1 }, "count is a number, expected an integer"],
  [{ type: "end", ...sync, count: 1.5 }, "count is a number, expected an integer"],
  [{ type: "delete" }, "audienceId is nothing"],
  [{ type: "approve", audienceId: "a" }, "syncId is nothing"],
  [{ type: "trait", traitName: "Plan", userId: "u" }, "value is nothing"],
  [{ type: "trait", traitName: "-", userId: "u", value: 1 }, "traitName needs at least one letter"],
  [{ type: "forget" }, "userId is nothing"],
])("%j is rejected: %s", (json, error) => {
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
