// Deliveries of suppressed users, with a row for each way to an attempt.

import { expect, test } from "vitest";
import { deliveryHeaders } from "../../../../src/domain/delivery.ts";
import { endpointKey } from "../../../../src/domain/destination.ts";
import type { EndpointRef } from "../../../../src/domain/ids.ts";
import { OPEN_GATES, prepare } from "../../../../src/router/deliver/prepare.ts";
import type { SendResult } from "../../../../src/router/destinations/port.ts";
import type { Batch } from "../../../../src/router/destinations/webhook/settings.ts";
import type { KnownSuppressions } from "../../../../src/router/suppression/known-suppressions.ts";
import { lift, suppress, suppressing } from "../../../support/build/suppressions.ts";
import { deliveryOf, webhookDestination } from "../../../support/build/webhook-destination.ts";
import { DispatchWorld, recordAt, START_MS } from "../../../support/worlds/dispatch-world.ts";

const NOW_MS = Date.UTC(2026, 2, 1, 12);
const HOUR_MS = 3_600_000;
const POLICY = { retryDelaysMs: [10_000], retryWindowMs: 4 * HOUR_MS };
const A = "http://a.test/";
const crm = webhookDestination({ urls: [A] });
const track = (userId: string | null, more: object = {}) =>
  JSON.stringify({
    type: "track",
    event: "e",
    anonymousId: "a",
    ...(userId && { userId }),
    ...more,
  });

function prepared(
  value: string,
  suppressions: KnownSuppressions,
  given: Parameters<typeof deliveryOf>[0] = {},
  destination = crm,
) {
  const headers = deliveryHeaders(deliveryOf(given));
  const record = { key: null, value: Buffer.from(value), headers };
  return prepare(record, destination, POLICY, NOW_MS, OPEN_GATES, "queue", suppressions).kind;
}

const known = suppressing("u1");
const hashOf = (userId: string | null) =>
  known.headerOf({ type: "track", userId, previousId: null });
const alias = JSON.stringify({ type: "alias", userId: "u2", previousId: "u1" });
const deletion = JSON.stringify({
  type: "delete",
  userId: "u1",
  timestamp: "2026-03-01T12:00:00Z",
});

test.each([
  ["the user is suppressed", track("u1"), {}, "suppressed"],
  ["another user", track("u2"), {}, "attempt"],
  ["no user ID", track(null), {}, "attempt"],
  ["an anonymous ID that equals it", track(null, { anonymousId: "u1" }), {}, "attempt"],
  ["an alias of the user", alias, {}, "suppressed"],
  ["a delete notification", deletion, {}, "attempt"],
  ["the ID was removed by rules", track(null), { userHash: hashOf("u1") }, "suppressed"],
  ["the ID was hashed by rules", track("5feceb66ff"), { userHash: hashOf("u1") }, "suppressed"],
  ["rules set the ID of somebody else", track("u1"), { userHash: hashOf("u2") }, "attempt"],
  ["rules set an ID where there was none", track("u1"), { userHash: hashOf(null) }, "attempt"],
  ["its retry window has ended", track("u1"), { attempt: 1, firstAttemptAtMs: 1 }, "suppressed"],
  ["not before later", track("u1"), { notBeforeMs: NOW_MS + HOUR_MS }, "suppressed"],
  ["all endpoints rejected it", track("u1"), { rejected: [endpointKey(A)] }, "suppressed"],
  ["its endpoint was removed", track("u1"), { endpoint: "gone" as EndpointRef }, "suppressed"],
  ["the value is not JSON", "{", {}, "dead-letter"],
])("%s: %s", (_, value, given, kind) => {
  expect(prepared(value, known, given)).toBe(kind);
});

test("while the destination is paused, the delivery waits: it may be lifted until then", () => {
  expect(prepared(track("u1"), known, {}, { ...crm, paused: true })).toBe("wait");
});

const BATCH: Batch = { calls: 3, bytes: 4_096, waitMs: 250, format: "array", responses: "whole" };

function world(given: Parameters<typeof webhookDestination>[0] = {}) {
  const suppressions = suppressing();
  const dispatch = new DispatchWorld(webhookDestination({ urls: [A], ...given }), 1, suppressions);
  return { suppressions, dispatch };
}
const of = (offset: number, userId: string) =>
  recordAt(offset, { value: JSON.stringify({ type: "track", event: `${offset}`, userId }) });
const response = (status: number): SendResult => {
  return { kind: "response", status, retryAfter: null, durationMs: 1 };
};

test("a suppressed delivery is processed without a request, and the next with its key starts", () => {
  const { suppressions, dispatch } = world();
  suppress(suppressions, "u1");
  dispatch.queue([of(0, "u1"), of(1, "u2"), of(2, "u1")]);
  expect(dispatch.calls).toEqual([["1"]]);
  expect(dispatch.finished).toEqual(["0/0", "0/2"]);
  expect([dispatch.suppressed, dispatch.written]).toEqual([2, []]);
});

test("one that waits in memory for a slot is not sent after the suppression", () => {
  const { suppressions, dispatch } = world({ concurrency: 1 });
  dispatch.queue([of(0, "u1"), of(1, "u1"), of(2, "u2")]);
  suppress(suppressions, "u1");
  dispatch.respond(response(200));
  expect(dispatch.calls).toEqual([["0"], ["2"]]);
  expect(dispatch.finished).toEqual(["0/0", "0/1"]);
});

test("one that waits on hold is sent if the user is lifted before its turn, and not otherwise", () => {
  const { suppressions, dispatch } = world({ paused: true });
  for (const userId of ["u1", "u2"]) suppress(suppressions, userId);
  dispatch.queue([of(0, "u1"), of(1, "u2")]);
  lift(suppressions, "u1");
  dispatch.update({ paused: false });
  expect(dispatch.calls).toEqual([["0"]]);
  expect(dispatch.finished).toEqual(["0/1"]);
});

test("a due retry is not attempted, and neither is the probe of an open circuit", () => {
  const { suppressions, dispatch } = world();
  const many = Array.from({ length: 40 }, (_, offset) => of(offset, offset === 30 ? "u1" : "u2"));
  dispatch.queue(many.slice(0, 20));
  dispatch.advance(2_000);
  while (dispatch.open.length > 0) dispatch.respond(response(500));
  suppress(suppressions, "u1");
  dispatch.queue([of(30, "u1"), of(31, "u2")]);
  dispatch.fetched([of(50, "u1")], "retry");
  dispatch.advance(60_000);
  const sent = dispatch.calls.flat();
  expect(sent).toContain("31");
  expect(sent.filter((offset) => ["30", "50"].includes(offset))).toEqual([]);
  expect(dispatch.finished).toContain("0/30");
});

test("one in a batch that has not been sent is taken out, and the others are sent in time", () => {
  const { suppressions, dispatch } = world({ batch: BATCH });
  dispatch.fetched([of(0, "u1"), of(1, "u2")]).advance(200);
  suppress(suppressions, "u1");
  dispatch.advance(50);
  expect(dispatch.calls).toEqual([["1"]]);
  expect(dispatch.finished).toEqual(["0/0"]);
});

test("one in a batch that is split is not sent again", () => {
  const { suppressions, dispatch } = world({ batch: { ...BATCH, calls: 4 } });
  dispatch.fetched([of(0, "u2"), of(1, "u3"), of(2, "u1"), of(3, "u4")]);
  expect(dispatch.calls).toEqual([["0", "1", "2", "3"]]);
  suppress(suppressions, "u1");
  dispatch.respond(response(413));
  dispatch.respond(response(200));
  dispatch.advance(1_000);
  expect(dispatch.calls.slice(1)).toEqual([["0", "1"], ["3"]]);
  dispatch.respond(response(200));
  expect(dispatch.finished.toSorted()).toEqual(["0/0", "0/1", "0/2", "0/3"]);
});

/** The owner of the partition is confirmed when `confirm` is called. */
function confirmedWorld(given: Parameters<typeof webhookDestination>[0] = {}) {
  const suppressions = suppressing();
  const asked: (() => void)[] = [];
  const owned = () => new Promise<boolean>((resolve) => asked.push(() => resolve(true)));
  const destination = webhookDestination({ urls: [A], ...given });
  const dispatch = new DispatchWorld(destination, 1, suppressions, owned);
  const confirm = async () => {
    for (const then of asked.splice(0)) then();
    await new Promise(setImmediate);
  };
  return { suppressions, dispatch, confirm };
}

test.each([
  ["alone", {}, [["1"]]],
  ["in a batch", { batch: BATCH }, [["1", "2"]]],
])(
  "one whose owner is confirmed late is not sent after the suppression: %s",
  async (_, given, sent) => {
    const { suppressions, dispatch, confirm } = confirmedWorld({ concurrency: 1, ...given });
    dispatch.fetched([of(0, "u1"), of(1, "u2"), of(2, "u3")]);
    suppress(suppressions, "u1");
    await confirm();
    expect([dispatch.calls, dispatch.suppressed, dispatch.finished]).toEqual([[], 1, ["0/0"]]);
    dispatch.advance(250);
    await confirm();
    expect([dispatch.calls, dispatch.traced]).toEqual([sent, ["not-sent"]]);
  },
);

test("the suppression of another user does not delay it", async () => {
  const { suppressions, dispatch, confirm } = confirmedWorld();
  dispatch.fetched([of(0, "u1")]);
  suppress(suppressions, "u2");
  await confirm();
  expect(dispatch.calls).toEqual([["0"]]);
});

test.each([{ paused: true }, { enabled: false }])(
  "one whose owner is confirmed when the destination is on hold waits: %j",
  async (still) => {
    const { dispatch, confirm } = confirmedWorld();
    dispatch.fetched([of(0, "u1")]);
    dispatch.update(still);
    await confirm();
    expect([dispatch.calls, dispatch.traced, dispatch.finished]).toEqual([[], ["not-sent"], []]);
    dispatch.update({ paused: false, enabled: true });
    await confirm();
    expect(dispatch.calls).toEqual([["0"]]);
  },
);

test("one that is canceled while its owner is confirmed becomes a dead letter", async () => {
  const { dispatch, confirm } = confirmedWorld();
  dispatch.fetched([of(0, "u1")]);
  const cancel = { kind: "cancel", id: "c-1", by: "command", receivedBeforeMs: null } as const;
  const earlyRelease = { ...cancel, destination: dispatch.destination.id, atMs: START_MS + 1 };
  dispatch.work.update(dispatch.destination, { earlyReleases: [earlyRelease], gone: new Map() });
  await confirm();
  expect([dispatch.calls, dispatch.finalStates]).toEqual([[], { "0/0": "dead-letter" }]);
});
