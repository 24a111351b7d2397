// The timeline of a call from its records: a test for each row of the tables.

import { expect, test } from "vitest";
import type { AttemptRecord } from "../../../../src/domain/attempt-record.ts";
import type { Delivery } from "../../../../src/domain/delivery.ts";
import type { DestinationId, EndpointRef } from "../../../../src/domain/ids.ts";
import type {
  CallFacts,
  Evidence,
  FoundCall,
  FoundDeadLetter,
  FoundDelivery,
  FoundScheduledRetry,
} from "../../../../src/operator/timeline/find-records.ts";
import type { FinalState } from "../../../../src/operator/timeline/steps.ts";
import { asksForSuppression, timeline } from "../../../../src/operator/timeline/timeline.ts";
import { deliveryOf } from "../../../support/build/webhook-destination.ts";

const T = Date.UTC(2026, 2, 1, 9, 30);
const NOW_MS = T + 600_000;
const NAME = "crm[1] crm.example.com:8443";
const OTHER_NAME = "crm[eu] eu.example.com";
const REF = "1,0123456789abcdef,eu" as EndpointRef;
const OTHER_REF = "eu,fedcba9876543210,0123456789abcdef" as EndpointRef;
const FACTS: CallFacts = {
  kind: "call",
  messageId: "m-1",
  type: "track",
  event: "Order",
  source: "web",
  namedBy: "the default source",
  receivedAtMs: T - 5,
  keys: ["u"],
  userIds: ["u"],
  destinations: [
    { destination: "crm", gets: true, why: "the source lists it" },
    { destination: "off", gets: false, why: "it is disabled" },
  ],
};

function call(atMs = T, facts: CallFacts = FACTS): FoundCall {
  return { place: { topic: "calls", partition: 1, offset: 7 }, atMs, facts };
}

function on(topic: string, atMs: number, given: Partial<Delivery> = {}): FoundDelivery {
  return { place: { topic, partition: 0, offset: 3 }, atMs, delivery: deliveryOf(given) };
}

function scheduled(
  endedAtMs: number,
  given: Partial<Delivery> = {},
  isRerouted = false,
): FoundScheduledRetry {
  const attempted = isRerouted ? {} : { attempt: 1, lastOutcome: `${NAME}=503` };
  const delivery = { ...attempted, dueAtMs: endedAtMs + 10_000, ...given };
  return { ...on("delays.10s", endedAtMs + 4, delivery), delay: "10s", isRerouted };
}

function deadLetter(atMs: number, more: Partial<FoundDeadLetter> = {}): FoundDeadLetter {
  return {
    place: { topic: "dead-letters", partition: 0, offset: 1 },
    atMs,
    stage: "deliver",
    reason: "rejected",
    error: `every endpoint rejected it; the last attempt: ${NAME}=410`,
    delivery: deliveryOf({ attempt: 1, lastOutcome: `${NAME}=410` }),
    from: "deliveries.crm/0/3",
    ...more,
  };
}

function cancelled(from: string): FoundDeadLetter {
  return deadLetter(T + 500, {
    stage: "delay",
    reason: "cancelled",
    error: "cancelled by command",
    from,
  });
}

function attempt(endedAtMs: number, more: Partial<AttemptRecord> = {}): AttemptRecord {
  return {
    endedAtMs,
    messageId: "m-1",
    destination: "crm",
    attempt: 1,
    firstAttemptAtMs: endedAtMs,
    decision: "accepted",
    requests: [],
    batch: null,
    next: [],
    ...more,
  };
}

function evidenceOf(given: Partial<Evidence>): Evidence {
  return {
    messageId: "m-1",
    calls: [call()],
    queued: [],
    retries: [],
    scheduledRetries: [],
    deadLetters: [],
    attempts: null,
    isFinished: () => null,
    topicDestinations: new Set(),
    sinceMs: T - 60_000,
    ...given,
  };
}

function traceOf(given: Partial<Evidence>, nowMs = NOW_MS) {
  return timeline(evidenceOf(given), nowMs);
}

function kinds(given: Partial<Evidence>): readonly string[] {
  return traceOf(given).steps.map(
    (step) => `${step.kind} ${"destination" in step ? step.destination : "-"}`,
  );
}

function finalState(given: Partial<Evidence>, nowMs = NOW_MS): FinalState | undefined {
  const { finalStates } = traceOf(given, nowMs);
  expect(finalStates.length).toBeLessThan(2);
  return finalStates[0];
}

test("nothing found is nothing, and no gap either", () => {
  expect(traceOf({ calls: [] })).toEqual({
    messageId: "m-1",
    steps: [],
    finalStates: [],
    gaps: [],
  });
});

test("the way of a delivery that is tried again, in order", () => {
  const all = {
    queued: [on("deliveries.crm", T + 2)],
    attempts: [
      attempt(T + 20, {
        decision: "retry",
        next: [{ retryDelay: "10s", atMs: T + 10_020, endpoint: null }],
      }),
      attempt(T + 10_090, { attempt: 2 }),
    ],
    scheduledRetries: [scheduled(T + 20)],
    retries: [on("retries.crm", T + 10_060, { attempt: 1, dueAtMs: T + 10_020 })],
  };
  expect(kinds(all)).toEqual([
    "received -",
    "skipped off",
    "routed crm",
    "attempt crm",
    "retry-scheduled crm",
    "returned crm",
    "attempt crm",
  ]);
  const { steps, finalStates, gaps } = traceOf(all);
  expect(steps[2]).toMatchObject({ why: "the source lists it" });
  expect(steps[5]).toMatchObject({ lateMs: 40 });
  expect(finalStates).toEqual([
    {
      destination: "crm",
      kind: "accepted",
      atMs: T + 10_090,
      attempts: 2,
      tookMs: 10_095,
      suppressedAtMs: null,
    },
  ]);
  expect(gaps).toEqual([]);
});

test("without the topic of attempts those that failed are known by what followed", () => {
  const all = {
    queued: [on("deliveries.crm", T + 2)],
    scheduledRetries: [
      scheduled(T + 20),
      scheduled(T + 10_090, { attempt: 2, lastOutcome: `${NAME}=timeout,${OTHER_NAME}=skipped` }),
    ],
    deadLetters: [
      deadLetter(T + 20_200, { delivery: deliveryOf({ attempt: 3, lastOutcome: `${NAME}=410` }) }),
    ],
  };
  const { steps, gaps } = traceOf(all);
  const attempts = steps.filter(({ kind }) => kind === "attempt");
  expect(attempts).toMatchObject([
    {
      atMs: T + 20,
      attempt: 1,
      decision: "retry",
      from: "headers",
      requests: [{ endpoint: NAME, status: 503 }],
    },
    {
      atMs: T + 10_090,
      attempt: 2,
      requests: [{ cause: "timeout" }, { endpoint: OTHER_NAME, outcome: "skipped", cause: null }],
    },
    { atMs: T + 20_200, attempt: 3, decision: "rejected", requests: [{ status: 410 }] },
  ]);
  expect(gaps).toEqual([{ kind: "no-attempts-topic" }]);
});

test("an attempt that both report is one", () => {
  const all = {
    queued: [on("deliveries.crm", T)],
    scheduledRetries: [scheduled(T + 20)],
    deadLetters: [deadLetter(T + 60_000)],
  };
  const noted = [
    attempt(T + 20, { decision: "retry" }),
    attempt(T + 60_000, { decision: "rejected" }),
  ];
  const attempts = (given: Partial<Evidence>) =>
    traceOf(given).steps.flatMap((step) => (step.kind === "attempt" ? step.from : []));
  expect(attempts({ ...all, attempts: noted })).toEqual(["attempts", "attempts"]);
  expect(attempts({ ...all, attempts: [] })).toEqual(["headers", "headers"]);
  // After a replay, there is another first attempt.
  expect(attempts({ ...all, attempts: [attempt(T + 3_600_000)] })).toEqual([
    "headers",
    "headers",
    "attempts",
  ]);
});

test("a window that ended while it waited is no attempt", () => {
  const waited = deadLetter(T + 90_000, {
    reason: "expired",
    error:
      "not accepted within 60 s, in 1 attempt; the next attempt was due, but the destination " +
      "was paused; the last attempt: x",
  });
  expect(
    kinds({
      queued: [on("deliveries.crm", T)],
      scheduledRetries: [scheduled(T + 20)],
      deadLetters: [waited],
    }),
  ).toEqual([
    ...[
      "received -",
      "skipped off",
      "routed crm",
      "attempt crm",
      "retry-scheduled crm",
      "dead-lettered crm",
    ],
  ]);
});

const WAITS: Partial<Evidence> = { scheduledRetries: [scheduled(T)] };
const LATER = { scheduledRetries: [scheduled(T, { notBeforeMs: T + 99_000 })] };
const CANCELLED = { ...WAITS, deadLetters: [cancelled("delays.10s/0/3")] };
const ELSEWHERE = { ...WAITS, deadLetters: [cancelled("delays.10s/0/4")] };
const REPLAYED = { ...CANCELLED, attempts: [attempt(T + 900)] };
const NEXT = { retryDelay: "10s", atMs: T + 10_009, endpoint: null };
const UNWRITTEN = { attempts: [attempt(T + 9, { decision: "retry", next: [NEXT] })] };
const waiting = (atMs: number) => ({ kind: "waiting", atMs }) as const;

test.each<[string, Partial<Evidence>, number, Partial<FinalState>]>([
  [
    "accepted",
    { attempts: [attempt(T + 9)] },
    NOW_MS,
    { kind: "accepted", atMs: T + 9, tookMs: 14 },
  ],
  [
    "dead-lettered",
    { deadLetters: [deadLetter(T + 9)] },
    NOW_MS,
    { kind: "dead-lettered", atMs: T + 9, tookMs: null },
  ],
  ["scheduled for retry, not due", WAITS, T + 9_000, waiting(T + 10_000)],
  [
    "cancelled while it awaited retry",
    CANCELLED,
    T + 9_000,
    { kind: "dead-lettered", atMs: T + 500 },
  ],
  [
    "cancelled, replayed and accepted before it would have been due",
    REPLAYED,
    T + 9_000,
    { kind: "accepted", atMs: T + 900 },
  ],
  ["cancelled elsewhere, and still awaiting retry", ELSEWHERE, T + 9_000, waiting(T + 10_000)],
  ["scheduled for retry, due", WAITS, T + 11_000, { kind: "due", atMs: T + 10_000 }],
  ["scheduled for retry beyond its retry delay", LATER, T + 11_000, waiting(T + 99_000)],
  ["queued", { isFinished: () => false }, NOW_MS, { kind: "queued" }],
  ["queued, as far as is known", { isFinished: () => null }, NOW_MS, { kind: "queued" }],
  [
    "waiting behind another delivery",
    { isFinished: () => true, behind: new Map([["deliveries.crm/0/3", "m-0"]]) },
    NOW_MS,
    { kind: "queued", behind: "m-0" },
  ],
  ["finished", { isFinished: () => true }, NOW_MS, { kind: "finished", suppressedAtMs: null }],
  [
    "finished, and its user is suppressed now",
    { isFinished: () => true, suppressedAtMs: T - 1_000 },
    NOW_MS,
    { kind: "finished", suppressedAtMs: T - 1_000 },
  ],
  [
    "accepted before its user was suppressed",
    { attempts: [attempt(T + 9)], suppressedAtMs: T + 1_000 },
    NOW_MS,
    { kind: "accepted", suppressedAtMs: null },
  ],
  [
    "processed without an attempt, after one that failed",
    {
      attempts: [attempt(T + 5, { decision: "retry" }), attempt(T + 9, { decision: "suppressed" })],
    },
    NOW_MS,
    { kind: "suppressed", atMs: T + 9, attempts: 1 },
  ],
  ["for somebody else", { topicDestinations: new Set(["crm"]) }, NOW_MS, { kind: "written" }],
  ["attempted, and its scheduled retry is not written yet", UNWRITTEN, T + 10, waiting(T + 10_009)],
])("final state: %s", (_name, more, nowMs, expected) => {
  expect(finalState({ queued: [on("deliveries.crm", T + 1)], ...more }, nowMs)).toMatchObject(
    expected,
  );
});

test("in the retry topic without a time when due: the replay of a dead letter that blocks its user", () => {
  const all = { queued: [on("deliveries.crm", T)], retries: [on("retries.crm", T + 10_050)] };
  expect(kinds(all).slice(2)).toEqual(["routed crm", "replayed crm"]);
  expect(finalState(all)).toMatchObject({ kind: "queued" });
});

test("with every, a part that waits decides, and one that came back does not", () => {
  const share = (endpoint: EndpointRef) => scheduled(T + 20, { endpoint });
  const back = on("retries.crm", T + 10_050, { endpoint: REF, attempt: 1, dueAtMs: T + 10_020 });
  const both = {
    queued: [on("deliveries.crm", T)],
    scheduledRetries: [share(REF), share(OTHER_REF)],
    retries: [back],
  };
  expect(finalState(both, T + 10_060)).toMatchObject({ kind: "due" });
  const accepted = [attempt(T + 10_090, { attempt: 2 })];
  const one = { ...both, scheduledRetries: [share(REF)], attempts: accepted };
  expect(finalState(one)).toMatchObject({ kind: "accepted" });
});

test("a destination whose topic took nothing is reached by way of a delay", () => {
  const around = scheduled(T + 5, { attempt: 0 }, true);
  const all = {
    scheduledRetries: [around],
    queued: [on("deliveries.crm", T + 10_030)],
    attempts: [attempt(T + 10_040)],
  };
  expect(kinds(all)).toEqual([
    ...["received -", "skipped off", "rerouted crm", "routed crm", "attempt crm"],
  ]);
  expect(finalState(all)).toMatchObject({ kind: "accepted" });
});

test("written to its queue again: a replay after a dead letter, else a repetition", () => {
  const twice = { queued: [on("deliveries.crm", T + 1), on("deliveries.crm", T + 5_000)] };
  expect(kinds({ ...twice, deadLetters: [deadLetter(T + 900)] })).toContain("replayed crm");
  expect(kinds({ ...twice, deadLetters: [deadLetter(T + 6_000)] })).toContain("requeued crm");
  const other = deadLetter(T + 900, {
    delivery: deliveryOf({ destination: "x" as DestinationId }),
  });
  expect(kinds({ ...twice, deadLetters: [other] })).toContain("requeued crm");
});

test("a call that came twice is received twice, and reported once", () => {
  const { steps } = traceOf({ calls: [call(T + 50), call(T)] });
  expect(steps).toMatchObject([
    { kind: "received", atMs: T, isRepeated: false },
    { kind: "skipped", destination: "off" },
    { kind: "received", atMs: T + 50, isRepeated: true },
  ]);
});

test("a record that is no call, and its dead letter of route", () => {
  const facts: CallFacts = { kind: "unusable", reason: "invalid-call", error: "type is missing" };
  const refused = deadLetter(T + 3, { stage: "route", reason: "invalid-call", delivery: null });
  const { steps, finalStates } = traceOf({ calls: [call(T, facts)], deadLetters: [refused] });
  expect(steps).toMatchObject([
    { kind: "unusable", reason: "invalid-call" },
    { kind: "dead-lettered", destination: null, stage: "route" },
  ]);
  expect(finalStates).toEqual([]);
});

test("gaps: the call, and a last attempt that was not written down", () => {
  const lines = [on("deliveries.crm", T)];
  expect(traceOf({ calls: [], queued: lines }).gaps).toEqual([
    { kind: "call-not-found", sinceMs: T - 60_000 },
  ]);
  const done = { queued: lines, isFinished: () => true };
  expect(traceOf({ ...done, attempts: [] }).gaps).toEqual([
    { kind: "attempts-missing", destinations: ["crm"] },
  ]);
  expect(traceOf(done).gaps).toEqual([{ kind: "no-attempts-topic" }]);
  expect(traceOf({ queued: lines }).gaps).toEqual([]);
});

test("a call of a suppressed user was skipped for the destinations for which nothing was found", () => {
  const suppressed = { suppressedAtMs: T - 1_000, isFinished: () => true };
  const { suppressedAtMs } = suppressed;
  const { steps } = traceOf(suppressed);
  expect(steps.find(({ kind }) => kind === "skipped")).toMatchObject({
    why: `the call's user has been suppressed since ${new Date(suppressedAtMs).toISOString()}`,
  });
  expect(kinds({ isFinished: () => true })).not.toContain("skipped crm");
});

const REFUSED_BY_ROUTE = { stage: "route", reason: "rule-failed", delivery: null } as const;

test.each<[string, Partial<Evidence>]>([
  ["its delivery was found", { queued: [on("deliveries.crm", T)] }],
  ["only its retry was found", { scheduledRetries: [scheduled(T)] }],
  ["only its due retry was found", { retries: [on("retries.crm", T)] }],
  ["only its attempt was found", { attempts: [attempt(T)] }],
  ["only its dead letter was found", { deadLetters: [deadLetter(T)] }],
  ["the call was dead-lettered", { deadLetters: [deadLetter(T, REFUSED_BY_ROUTE)] }],
  ["the route stage has not processed it", { isFinished: () => false }],
  ["nobody knows whether the route stage has processed it", { isFinished: () => null }],
])("a call of a suppressed user was not skipped if %s", (_what, given) => {
  const evidence = { isFinished: () => true, suppressedAtMs: T - 1_000, ...given };
  expect(kinds(evidence)).not.toContain("skipped crm");
});

test.each<[string, boolean, Partial<Evidence>]>([
  ["nothing was found for a destination", true, { isFinished: () => true }],
  [
    "a delivery was processed without a trace",
    true,
    { isFinished: () => true, queued: [on("deliveries.crm", T)] },
  ],
  ["the delivery was accepted", false, { attempts: [attempt(T)] }],
  ["the call waits for the route stage", false, { isFinished: () => false }],
  ["there is no call", false, { calls: [], isFinished: () => true }],
])("suppressions are asked for, if %s: %s", (_what, isAsked, given) => {
  expect(asksForSuppression(evidenceOf(given), NOW_MS)).toBe(isAsked);
});
