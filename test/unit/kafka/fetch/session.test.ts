// The table of src/kafka/fetch/session.ts, row by row.

import { expect, test } from "vitest";

import { FetchSession, type PlannedCursor } from "../../../../src/kafka/fetch/session.ts";
import type { FetchedSet, FetchResponse } from "../../../../src/kafka/wire/fetch-response.ts";

const NONE: readonly FetchedSet[] = [];
const MAX_BYTES = 100;

function cursor(topic: string): PlannedCursor {
  return { topic, partition: 0, key: `${topic}/0` };
}

function set(topic: string, records: string, errorCode = 0): FetchedSet {
  const rest = { end: 9, aborted: [], records: Buffer.from(records) };
  return { topic, partition: 0, errorCode, ...rest };
}

function response(sets: readonly FetchedSet[] = NONE, sessionId = 7, errorCode = 0): FetchResponse {
  return { throttleTimeMs: 0, errorCode, sessionId, sets };
}

function givenBy(session: FetchSession<PlannedCursor>, fetched: FetchResponse) {
  const meaning = session.applyResponse(fetched);
  if (meaning.kind !== "results") throw new Error(`it is ${meaning.kind}`);
  return meaning.given.map((each) => [each.cursor, each.from]);
}

/** Starts a session in which both cursors are requested, the first one from offset 5 on. */
function started() {
  const session = new FetchSession<PlannedCursor>();
  const [a, b] = [cursor("a"), cursor("b")];
  session.want(a, 5, MAX_BYTES);
  session.want(b, 1, MAX_BYTES);
  const first = session.request();
  session.applyResponse(response());
  return { session, a, b, first };
}

test("a session begins with all cursors, and continues with what changes", () => {
  const { session, a, first } = started();
  expect(first).toMatchObject({
    sessionId: 0,
    sessionEpoch: 0,
    requested: [{ topic: "a", offset: 5 }, { topic: "b" }],
    forgotten: [],
  });
  const nothing = { sessionId: 7, requested: [], forgotten: [] };
  expect(session.request()).toMatchObject({ ...nothing, sessionEpoch: 1 });
  session.applyResponse(response());
  session.want(a, 6, MAX_BYTES);
  expect(session.request()).toMatchObject({
    sessionEpoch: 2,
    requested: [{ topic: "a", offset: 6 }],
    forgotten: [],
  });
});

test("a cursor that is dropped is forgotten, once", () => {
  const { session, a } = started();
  session.drop(a);
  expect(session.request()).toMatchObject({ requested: [], forgotten: [{ topic: "a" }] });
  session.applyResponse(response());
  expect(session.request()).toMatchObject({ requested: [], forgotten: [] });
  expect([session.has(a), session.size]).toEqual([false, 1]);
});

test("a cursor that comes back as it was changes nothing", () => {
  const { session, a } = started();
  session.drop(a);
  session.want(a, 5, MAX_BYTES);
  expect(session.request()).toMatchObject({ requested: [], forgotten: [] });
});

test("without a cursor there is no request", () => {
  const { session, a, b } = started();
  session.drop(a);
  session.drop(b);
  expect(session.request()).toBe(null);
  expect(session.cursors()).toEqual([]);
});

test.each([70, 71])("after error %i a new session takes the old one's place", (errorCode) => {
  const { session } = started();
  session.request();
  expect(session.applyResponse(response(NONE, 0, errorCode))).toEqual({ kind: "session-lost" });
  expect(session.request()).toMatchObject({
    sessionId: 7,
    sessionEpoch: 0,
    requested: [{ topic: "a", offset: 5 }, { topic: "b" }],
  });
});

test("another error of the whole response is reported, and a new session begins", () => {
  const { session } = started();
  session.request();
  const fetched = response(NONE, 0, 42);
  expect(session.applyResponse(fetched)).toEqual({ kind: "failed", errorCode: 42 });
  expect(session.request()).toMatchObject({ sessionEpoch: 0 });
});

test("a broker that keeps no session is asked for all each time", () => {
  const session = new FetchSession<PlannedCursor>();
  session.want(cursor("a"), 5, MAX_BYTES);
  for (let time = 0; time < 3; time += 1) {
    const whole = { sessionId: 0, sessionEpoch: 0, requested: [{ topic: "a" }] };
    expect(session.request()).toMatchObject(whole);
    session.applyResponse(response(NONE, 0));
  }
});

test("the partition that has waited longest comes first in a new session", () => {
  const { session, a } = started();
  session.want(a, 6, MAX_BYTES);
  session.endSession();
  expect(session.request()?.requested.map(({ topic }) => topic)).toEqual(["b", "a"]);
});

test("records, errors and ends go to the cursor of their partition", () => {
  const { session, a, b } = started();
  session.request();
  const fetched = response([set("a", "x"), set("b", "", 3), set("c", "x")]);
  expect(givenBy(session, fetched)).toEqual([
    [a, 5],
    [b, 1],
  ]);
});

test("a response for a cursor that was dropped or has moved meanwhile is dropped", () => {
  const { session, a, b } = started();
  session.request();
  session.drop(a);
  session.want(b, 2, MAX_BYTES);
  expect(givenBy(session, response([set("a", "x"), set("b", "x")]))).toEqual([]);
});

test("a response serves a cursor that came meanwhile for the same offset", () => {
  const { session, a } = started();
  session.request();
  session.drop(a);
  const again = cursor("a");
  session.want(again, 5, MAX_BYTES);
  expect(givenBy(session, response([set("a", "x")]))).toEqual([[again, 5]]);
});

test("another cursor of the partition is not dropped with the first one", () => {
  const { session, a } = started();
  const again = cursor("a");
  session.want(again, 5, MAX_BYTES);
  session.drop(a);
  expect([session.has(a), session.has(again), session.size]).toEqual([false, true, 2]);
});

test("a cursor was requested when a request with it has had its response", () => {
  const session = new FetchSession<PlannedCursor>();
  const a = cursor("a");
  session.want(a, 5, MAX_BYTES);
  expect(session.wasRequested(a, false)).toBe(false);
  session.request();
  expect(session.wasRequested(a, true)).toBe(false);
  session.applyResponse(response());
  expect(session.wasRequested(a, false)).toBe(true);
  session.want(a, 6, MAX_BYTES);
  expect(session.wasRequested(a, false)).toBe(false);
  session.drop(a);
  expect(session.wasRequested(a, false)).toBe(false);
});
