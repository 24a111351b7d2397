// Actions in the body of a request: the table of action.ts.

import { expect, test } from "vitest";

import { keyOf, readAction } from "../../../../src/operator/console/action.ts";
import type { Action } from "../../../../src/operator/console/action-view.ts";

const NOW = Date.parse("2026-03-01T09:00:00Z");

const CANCEL = { action: "cancel", destination: "crm", before: 0, dryRun: true };
const REPLAY = {
  action: "replay",
  destination: "crm",
  since: 3_600_000,
  until: 0,
  types: ["track"],
  events: ["Order Completed"],
  perSecond: 50,
  dryRun: false,
};
const DEAD_LETTERS = {
  action: "replay-dead-letters",
  messageId: null,
  destination: null,
  reason: "expired",
  since: "2026-02-01T00:00:00Z",
  until: "2026-03-01T00:00:00Z",
  includeReplayed: false,
  perSecond: null,
  dryRun: true,
};

const AGAIN = { action: "send-again", destination: "crm", partition: 0, offset: 7, dryRun: true };

function read(body: unknown) {
  return readAction(JSON.stringify(body), NOW);
}

function whyOf(body: unknown): string {
  const found = read(body);
  return found.kind === "invalid" ? found.why : "it was read";
}

test.each<[object, Partial<Action<string>>]>([
  [{ action: "pause", destination: "crm", pauseForMs: null }, {}],
  [{ action: "pause", destination: "crm", pauseForMs: 900_000 }, {}],
  [{ action: "resume", destination: "crm" }, {}],
  [{ action: "retry", destination: "crm" }, {}],
  [{ action: "wait", destination: "crm" }, {}],
  [CANCEL, { before: "2026-03-01T09:00:00.000Z" }],
  [{ ...CANCEL, before: 86_400_000 }, { before: "2026-02-28T09:00:00.000Z" }],
  [REPLAY, { since: "2026-03-01T08:00:00.000Z", until: "2026-03-01T09:00:00.000Z" }],
  [DEAD_LETTERS, { since: "2026-02-01T00:00:00.000Z", until: "2026-03-01T00:00:00.000Z" }],
  [
    { ...DEAD_LETTERS, messageId: "m-1" },
    { since: "2026-02-01T00:00:00.000Z", until: "2026-03-01T00:00:00.000Z" },
  ],
  [AGAIN, {}],
  [
    {
      action: "resume-replay",
      kind: "dead-letters",
      replay: "20260301-093015-3f9c82d1",
      destination: null,
    },
    {},
  ],
  [{ action: "approve", audience: "vip", syncId: "s-1" }, {}],
])("%j is read, its instants by the server's clock", (body, resolved) => {
  expect(read(body)).toEqual({ kind: "action", action: { ...body, ...resolved } });
});

test("an action that was read is read again as the same", () => {
  const first = read({ ...CANCEL, before: 60_000 });
  if (first.kind === "invalid") throw new Error(first.why);
  const later = readAction(JSON.stringify(first.action), NOW + 5_000);
  expect(later).toEqual(first);
});

test.each<[unknown, string]>([
  [[], "The body is not a JSON object."],
  [{}, "action is missing; one of pause, resume"],
  [{ action: "toString" }, 'action is "toString"; one of'],
  [{ action: "pause", destination: "crm" }, "pauseForMs is missing"],
  [
    { action: "pause", destination: "crm", pauseForMs: 0 },
    "pauseForMs is a number; an integer from 1",
  ],
  [{ action: "retry" }, "destination is missing; a string is expected."],
  [
    { action: "retry", destination: "x".repeat(201) },
    "destination is a string; a string is expected.",
  ],
  [{ ...CANCEL, dryRun: undefined }, "dryRun is missing; true or false is expected."],
  [{ ...CANCEL, dryRun: "false" }, "dryRun is"],
  [{ ...CANCEL, dryrun: false }, 'The action does not have a field "dryrun".'],
  [{ ...CANCEL, before: "yesterday" }, "before is"],
  [{ ...CANCEL, before: -1 }, "before is a number; an ISO 8601 time or a number of milliseconds"],
  [{ ...REPLAY, since: 0 }, "The range ends before it starts, so there is nothing to replay."],
  [{ ...REPLAY, types: ["tracks"] }, "types is a list; a list of some of identify, track"],
  [{ ...AGAIN, partition: -1 }, "partition is a number; an integer from 0 to 2147483647"],
  [{ ...AGAIN, offset: null }, "offset is null; an integer from 0"],
  [{ ...DEAD_LETTERS, messageId: undefined }, "messageId is missing; a string is expected."],
  [{ ...REPLAY, events: [""] }, "events is a list; a list of strings is expected."],
  [{ ...REPLAY, perSecond: 0.5 }, "perSecond is a number"],
  [{ ...DEAD_LETTERS, reason: "" }, "reason is missing; a string is expected."],
  [
    { action: "resume-replay", kind: "all", replay: "r", destination: null },
    `kind is "all"; one of calls, dead-letters is expected.`,
  ],
  [
    { action: "resume-replay", kind: "calls", replay: "../x", destination: null },
    "The value of replay is not the name of a replay.",
  ],
])("%j is invalid", (body, why) => {
  expect(whyOf(body)).toContain(why);
});

test("a body that is not JSON is invalid", () => {
  expect(readAction("action=pause", NOW).kind).toBe("invalid");
});

test("a kind and a destination are one thing, with its dry run and with going on", () => {
  const key = (body: object) => {
    const found = read(body);
    return found.kind === "action" ? keyOf(found.action) : found.why;
  };
  expect(key({ ...REPLAY, dryRun: true })).toBe(key(REPLAY));
  expect(key({ action: "resume-replay", kind: "calls", replay: "r", destination: "crm" })).toBe(
    key(REPLAY),
  );
  const goOn = { action: "resume-replay", kind: "dead-letters", replay: "r", destination: null };
  expect(key(goOn)).toBe(key(DEAD_LETTERS));
  const others = [{ ...REPLAY, destination: "erp" }, CANCEL, DEAD_LETTERS, REPLAY].map(key);
  expect(new Set(others).size).toBe(4);
});
