// The table of src/kafka/kafkajs/fetch-plan.ts, row by row.

import { expect, test } from "vitest";

import { type FetchCursor, FetchPlan } from "../../../../src/kafka/kafkajs/fetch-plan.ts";
import type { FetchedSet, FetchResponse } from "../../../../src/kafka/wire/fetch-response.ts";

const NONE: readonly FetchedSet[] = [];

function cursor(owner: object, topic: string, offset: number, partitions = [0]): FetchCursor {
  return {
    owner,
    partitions: partitions.map((partition) => ({ topic, partition, offset, maxBytes: 100 })),
  };
}

function set(topic: string, records: string, errorCode = 0, partition = 0): FetchedSet {
  const [end, lastStableOffset] = [9, 9];
  const aborted: FetchedSet["aborted"] = [];
  return {
    topic,
    partition,
    errorCode,
    end,
    lastStableOffset,
    aborted,
    records: Buffer.from(records),
  };
}

function response(sets: readonly FetchedSet[] = NONE, sessionId = 7, errorCode = 0): FetchResponse {
  return { errorCode, sessionId, sets };
}

function answersOf(plan: FetchPlan<FetchCursor>, answer: FetchResponse) {
  const meaning = plan.applyResponse(answer);
  if (meaning.kind !== "results") throw new Error(`it is ${meaning.kind}`);
  return meaning.results;
}

const [one, other] = [{ name: "one" }, { name: "other" }];

test("a session begins with all that is wished, and continues with what changes", () => {
  const plan = new FetchPlan<FetchCursor>();
  const a = cursor(one, "a", 5);
  plan.add(a);
  plan.add(cursor(other, "b", 1));
  expect(plan.request()).toMatchObject({
    sessionId: 0,
    sessionEpoch: 0,
    requested: [{ topic: "a", offset: 5 }, { topic: "b" }],
    forgotten: [],
  });
  plan.applyResponse(response());
  expect(plan.request()).toMatchObject({
    sessionId: 7,
    sessionEpoch: 1,
    requested: [],
    forgotten: [],
  });
  plan.applyResponse(response());
  plan.remove(a);
  plan.add(cursor(one, "a", 6));
  expect(plan.request()).toMatchObject({
    sessionEpoch: 2,
    requested: [{ topic: "a", offset: 6 }],
    forgotten: [],
  });
});

test("a partition that is wished no more is forgotten, once", () => {
  const plan = new FetchPlan<FetchCursor>();
  const a = cursor(one, "a", 5, [0, 1]);
  plan.add(a);
  plan.add(cursor(other, "b", 1));
  plan.request();
  plan.applyResponse(response());
  plan.remove(a);
  const forgotten = [
    { topic: "a", partition: 0 },
    { topic: "a", partition: 1 },
  ];
  expect(plan.request()).toMatchObject({ requested: [], forgotten });
  plan.applyResponse(response());
  expect(plan.request()).toMatchObject({ requested: [], forgotten: [] });
});

test("a wish that comes back as it was says nothing", () => {
  const plan = new FetchPlan<FetchCursor>();
  const a = cursor(one, "a", 5);
  plan.add(a);
  plan.request();
  plan.applyResponse(response());
  plan.remove(a);
  plan.add(cursor(one, "a", 5));
  expect(plan.request()).toMatchObject({ requested: [], forgotten: [] });
});

test("nothing wished: no request", () => {
  const plan = new FetchPlan<FetchCursor>();
  expect(plan.request()).toBe(null);
  const a = cursor(one, "a", 5);
  plan.add(a);
  plan.request();
  plan.applyResponse(response());
  plan.remove(a);
  expect(plan.request()).toBe(null);
});

test.each([70, 71])("after error %i a new session takes the old one's place", (errorCode) => {
  const plan = new FetchPlan<FetchCursor>();
  plan.add(cursor(one, "a", 5));
  plan.request();
  plan.applyResponse(response());
  plan.request();
  expect(plan.applyResponse(response(NONE, 0, errorCode))).toEqual({ kind: "session-lost" });
  expect(plan.size).toBe(1);
  expect(plan.request()).toMatchObject({
    sessionId: 7,
    sessionEpoch: 0,
    requested: [{ topic: "a", offset: 5 }],
  });
});

test("another error of the whole fails those that were asked, and no others", () => {
  const plan = new FetchPlan<FetchCursor>();
  const a = cursor(one, "a", 5);
  plan.add(a);
  plan.request();
  plan.add(cursor(other, "b", 5));
  expect(plan.applyResponse(response(NONE, 0, 42))).toEqual({
    kind: "failed",
    errorCode: 42,
    cursors: [a],
  });
});

test("a broker that keeps no session is asked for all each time", () => {
  const plan = new FetchPlan<FetchCursor>();
  plan.add(cursor(one, "a", 5));
  for (let time = 0; time < 3; time += 1) {
    expect(plan.request()).toMatchObject({
      sessionId: 0,
      sessionEpoch: 0,
      requested: [{ topic: "a" }],
    });
    plan.applyResponse(response(NONE, 0));
  }
});

test("records and errors go to the wish of their partition alone", () => {
  const plan = new FetchPlan<FetchCursor>();
  const [a, b, c] = [cursor(one, "a", 5), cursor(other, "b", 5), cursor({}, "c", 5)];
  for (const each of [a, b, c]) plan.add(each);
  plan.request();
  const [records, error, empty] = [set("a", "x"), set("b", "", 3), set("c", "")];
  const results = answersOf(plan, response([records, error, empty]));
  expect([...results]).toEqual([
    [a, [records]],
    [b, [error]],
  ]);
  expect(plan.has(c)).toBe(true);
  expect(plan.ends(c)).toMatchObject([{ topic: "c", end: 9, errorCode: 0 }]);
});

test.each([
  ["nobody wishes any more", null],
  ["is wished at another offset", 6],
])("a response for a partition that %s is dropped", (_, offset) => {
  const plan = new FetchPlan<FetchCursor>();
  const a = cursor(one, "a", 5);
  plan.add(a);
  plan.request();
  plan.remove(a);
  if (offset !== null) plan.add(cursor(one, "a", offset));
  expect([...answersOf(plan, response([set("a", "x")]))]).toEqual([]);
});

test("a response serves a wish that came meanwhile for the same offset", () => {
  const plan = new FetchPlan<FetchCursor>();
  const a = cursor(one, "a", 5);
  plan.add(a);
  plan.request();
  plan.remove(a);
  const again = cursor(one, "a", 5);
  plan.add(again);
  expect([...answersOf(plan, response([set("a", "x")])).keys()]).toEqual([again]);
});

test("a response with partitions that nobody asked for is no response to anybody", () => {
  const plan = new FetchPlan<FetchCursor>();
  plan.add(cursor(one, "a", 5));
  plan.request();
  plan.add(cursor(other, "b", 0));
  expect([...answersOf(plan, response([set("b", "x")]))]).toEqual([]);
});

test("a lost connection ends the session, and what was known of ends", () => {
  const plan = new FetchPlan<FetchCursor>();
  const a = cursor(one, "a", 5);
  plan.add(a);
  plan.request();
  plan.applyResponse(response([set("a", "")]));
  expect(plan.ends(a)).toHaveLength(1);
  plan.endSession();
  expect(plan.ends(a)).toEqual([]);
  expect(plan.request()).toMatchObject({
    sessionId: 7,
    sessionEpoch: 0,
    requested: [{ topic: "a" }],
  });
});

test("a later wish of the same owner takes a partition over", () => {
  const plan = new FetchPlan<FetchCursor>();
  const both = cursor(one, "a", 5, [0, 1]);
  plan.add(both);
  expect(plan.add(cursor(one, "a", 6, [0]))).toEqual([]);
  expect(plan.add(cursor(one, "a", 6, [1]))).toEqual([both]);
  expect(plan.has(both)).toBe(false);
  expect(plan.size).toBe(2);
});

test("a wish that has lost a partition gives back only what is its own", () => {
  const plan = new FetchPlan<FetchCursor>();
  const both = cursor(one, "a", 5, [0, 1]);
  plan.add(both);
  plan.add(cursor(one, "a", 6, [0]));
  plan.remove(both);
  expect(plan.size).toBe(1);
});

test("a partition is taken while another owner wishes it", () => {
  const plan = new FetchPlan<FetchCursor>();
  const a = cursor(one, "a", 5);
  plan.add(a);
  expect(plan.isTaken(cursor(other, "a", 0))).toBe(true);
  expect(plan.isTaken(cursor(one, "a", 0))).toBe(false);
  plan.remove(a);
  expect(plan.isTaken(cursor(other, "a", 0))).toBe(false);
});

test("a wish was asked when a request that it was in has been answered", () => {
  const plan = new FetchPlan<FetchCursor>();
  const a = cursor(one, "a", 5);
  plan.add(a);
  expect(plan.wasRequested(a, false)).toBe(false);
  plan.request();
  expect(plan.wasRequested(a, true)).toBe(false);
  const b = cursor(other, "b", 5);
  plan.add(b);
  plan.applyResponse(response());
  expect(plan.wasRequested(a, false)).toBe(true);
  expect(plan.wasRequested(b, false)).toBe(false);
  plan.request();
  expect(plan.wasRequested(a, true)).toBe(true);
  expect(plan.wasRequested(b, true)).toBe(false);
  expect(plan.wasRequested(cursor(one, "x", 1), false)).toBe(false);
});

test("a wish that continues is asked for at its new offset, and answered there alone", () => {
  const plan = new FetchPlan<FetchCursor>();
  const a = cursor(one, "a", 5, [0, 1]);
  plan.add(a);
  plan.request();
  expect([...answersOf(plan, response([set("a", "records")])).keys()]).toEqual([a]);
  plan.advance(a, 0, { topic: "a", partition: 0, offset: 8, maxBytes: 100 });
  expect(answersOf(plan, response([set("a", "again")])).size).toBe(0);
  expect(plan.request()).toMatchObject({
    requested: [{ topic: "a", partition: 0, offset: 8 }],
    forgotten: [],
  });
  expect([...answersOf(plan, response([set("a", "next")])).keys()]).toEqual([a]);
  expect(plan.size).toBe(2);
});

test("a partition that another wish has taken over does not continue by the first", () => {
  const plan = new FetchPlan<FetchCursor>();
  const first = cursor(one, "a", 5, [0, 1]);
  plan.add(first);
  plan.add(cursor(one, "a", 6));
  plan.advance(first, 0, { topic: "a", partition: 0, offset: 9, maxBytes: 100 });
  expect(plan.request()?.requested.map(({ offset }) => offset)).toEqual([5, 6]);
});
