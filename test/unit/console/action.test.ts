// Actions as they come in the body of a request: the table of action.ts.

import { expect, test } from "vitest";

import { keyOf, readAction } from "../../../src/console/action.ts";
import type { Action } from "../../../src/console/action-view.ts";

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
const LETTERS = {
  action: "replay-letters",
  destination: null,
  reason: "expired",
  since: "2026-02-01T00:00:00Z",
  until: "2026-03-01T00:00:00Z",
  includeReplayed: false,
  perSecond: null,
  dryRun: true,
};

function read(body: unknown) {
  return readAction(JSON.stringify(body), NOW);
}

function whyOf(body: unknown): string {
  const found = read(body);
  return found.kind === "refused" ? found.why : "it was read";
}

test.each<[object, Partial<Action<string>>]>([
  [{ action: "pause", destination: "crm", forMs: null }, {}],
  [{ action: "pause", destination: "crm", forMs: 900_000 }, {}],
  [{ action: "resume", destination: "crm" }, {}],
  [{ action: "retry", destination: "crm" }, {}],
  [{ action: "wait", destination: "crm" }, {}],
  [CANCEL, { before: "2026-03-01T09:00:00.000Z" }],
  [{ ...CANCEL, before: 86_400_000 }, { before: "2026-02-28T09:00:00.000Z" }],
  [REPLAY, { since: "2026-03-01T08:00:00.000Z", until: "2026-03-01T09:00:00.000Z" }],
  [LETTERS, { since: "2026-02-01T00:00:00.000Z", until: "2026-03-01T00:00:00.000Z" }],
  [{ action: "go-on", of: "letters", replay: "20260301-093015-3f9c", destination: null }, {}],
  [{ action: "approve", audience: "vip", syncId: "s-1" }, {}],
])("%j is read, its instants by the server's clock", (body, resolved) => {
  expect(read(body)).toEqual({ kind: "action", action: { ...body, ...resolved } });
});

test("an action that was read is read again as the same", () => {
  const first = read({ ...CANCEL, before: 60_000 });
  if (first.kind === "refused") throw new Error(first.why);
  const later = readAction(JSON.stringify(first.action), NOW + 5_000);
  expect(later).toEqual(first);
});

test.each<[unknown, string]>([
  [[], "The body is no JSON object."],
  [{}, "action is missing; expected is one of pause, resume"],
  [{ action: "toString" }, 'action is "toString"; expected is one of'],
  [{ action: "pause", destination: "crm" }, "forMs is missing"],
  [{ action: "pause", destination: "crm", forMs: 0 }, "forMs is a number; a whole number from 1"],
  [{ action: "retry" }, "destination is missing; a text is expected."],
  [{ action: "retry", destination: "x".repeat(201) }, "destination is text; a text is expected."],
  [{ ...CANCEL, dryRun: undefined }, "dryRun is missing; true or false is expected."],
  [{ ...CANCEL, dryRun: "false" }, "dryRun is"],
  [{ ...CANCEL, dryrun: false }, 'The action knows no field "dryrun".'],
  [{ ...CANCEL, before: "yesterday" }, "before is"],
  [{ ...CANCEL, before: -1 }, "before is a number; an ISO 8601 time is expected"],
  [{ ...REPLAY, since: 0 }, "The time ends before it begins: there is nothing to replay."],
  [{ ...REPLAY, types: ["tracks"] }, "types is a list; a list of some of identify, track"],
  [{ ...REPLAY, events: [""] }, "events is a list; a list of texts is expected."],
  [{ ...REPLAY, perSecond: 0.5 }, "perSecond is a number"],
  [{ ...LETTERS, reason: "" }, "reason is missing; a text is expected."],
  [{ action: "go-on", of: "all", replay: "r", destination: null }, "of is neither"],
  [{ action: "go-on", of: "calls", replay: "../x", destination: null }, "replay is no name"],
])("%j is refused", (body, why) => {
  expect(whyOf(body)).toContain(why);
});

test("what is no JSON is refused", () => {
  expect(readAction("action=pause", NOW).kind).toBe("refused");
});

test("a kind and a destination are one thing, with its dry run and with going on", () => {
  const key = (body: object) => {
    const found = read(body);
    return found.kind === "action" ? keyOf(found.action) : found.why;
  };
  expect(key({ ...REPLAY, dryRun: true })).toBe(key(REPLAY));
  expect(key({ action: "go-on", of: "calls", replay: "r", destination: "crm" })).toBe(key(REPLAY));
  const goOn = { action: "go-on", of: "letters", replay: "r", destination: null };
  expect(key(goOn)).toBe(key(LETTERS));
  const others = [{ ...REPLAY, destination: "erp" }, CANCEL, LETTERS, REPLAY].map(key);
  expect(new Set(others).size).toBe(4);
});
