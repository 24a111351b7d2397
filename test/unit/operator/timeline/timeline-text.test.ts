// The timeline as text and as JSON: no data can control the terminal.

import picocolors from "picocolors";
import { expect, test } from "vitest";
import {
  finalStateText,
  gapSentence,
  stepSentence,
} from "../../../../src/operator/timeline/sentences.ts";
import type {
  AttemptStep,
  CallTimeline,
  FinalState,
  Gap,
  TimelineStep,
} from "../../../../src/operator/timeline/steps.ts";
import { timelineJson, timelineText } from "../../../../src/operator/timeline/timeline-text.ts";

const T = Date.UTC(2026, 2, 1, 9, 30);
const NAME = "crm[1] crm.example.com";
const COLORS = picocolors.createColors(false);
const place = { topic: "calls", partition: 1, offset: 7 };
const AT = { atMs: T, place };
const CRM = { ...AT, destination: "crm" };
const UNKNOWN = { status: null, cause: null, durationMs: null, phases: {}, response: null };
const TIMEOUT = { ...UNKNOWN, endpoint: NAME, outcome: "", cause: "timeout" };
const SKIPPED = { ...UNKNOWN, endpoint: "crm[2] b.example.com", outcome: "skipped" };
const FAILED = {
  ...{ endpoint: NAME, outcome: "retry", status: 503, cause: null },
  ...{ durationMs: 21.26, phases: { connectMs: 3, firstByteMs: 17.04 }, response: null },
};
const ATTEMPT: AttemptStep = {
  ...{ kind: "attempt", atMs: T + 30, destination: "crm", attempt: 2, decision: "retry" },
  ...{ batch: null, requests: [FAILED], next: [], from: "attempts" },
};
const RECEIVED: TimelineStep = {
  ...{ ...AT, kind: "received", type: "track", event: "Order", source: "web" },
  ...{ namedBy: "the default source", receivedAtMs: T, isRepeated: false },
};
const WAITING: TimelineStep = {
  ...{ ...CRM, kind: "retry-scheduled", retryDelay: "10s", dueAtMs: T + 10_000 },
  ...{ notBeforeMs: null, endpoint: null },
};
const RETURNED: TimelineStep = { ...CRM, kind: "returned", lateMs: 12, endpoint: null };
const DEAD: TimelineStep = {
  ...{ ...CRM, kind: "dead-lettered", from: "deliveries.crm/0/3", stage: "deliver" },
  ...{ reason: "rejected", error: `every endpoint rejected it; the last attempt: ${NAME}=410` },
};

test.each<[TimelineStep, string]>([
  [RECEIVED, 'received: track "Order" from web (the default source), calls/1/7'],
  [
    { ...AT, kind: "unusable", reason: "invalid-call", error: "type is missing" },
    "not a call: invalid-call, type is missing, calls/1/7",
  ],
  [{ ...CRM, kind: "skipped", why: "it is disabled" }, "skipped: it is disabled"],
  [{ ...CRM, kind: "routed", why: null }, "routed, calls/1/7"],
  [{ ...CRM, kind: "replayed" }, "replayed, calls/1/7"],
  [
    ATTEMPT,
    "attempt 2, retry: crm[1] crm.example.com 503 in 21.3 ms (connect 3 ms, first byte 17 ms)",
  ],
  [
    { ...ATTEMPT, batch: { id: "b-1\u001b", calls: 100 } },
    "attempt 2, retry: crm[1] crm.example.com 503 in 21.3 ms (connect 3 ms, first byte 17 ms); in batch b-1\\u001b of 100 calls",
  ],
  [
    { ...ATTEMPT, requests: [], batch: { id: "b-1", calls: 1 } },
    "attempt 2, retry: ; alone in batch b-1",
  ],
  [
    { ...ATTEMPT, from: "headers", requests: [TIMEOUT, SKIPPED] },
    "attempt 2, retry: crm[1] crm.example.com timeout; crm[2] b.example.com was skipped (inferred from later records)",
  ],
  [WAITING, "retry scheduled: waits in the 10s delay topic until 2026-03-01T09:30:10.000Z"],
  [RETURNED, "returned 12 ms after it was due, calls/1/7"],
  [{ ...RETURNED, lateMs: -7 }, "returned 0 ms after it was due, calls/1/7"],
  [
    { ...RETURNED, lateMs: -60_000 },
    "returned 60.0 s before it was due, because an operator requested it, calls/1/7",
  ],
  [
    DEAD,
    "dead-lettered by the deliver stage: rejected, every endpoint rejected it; the last attempt: crm[1] crm.example.com=410, calls/1/7",
  ],
])("%j", (step, sentence) => {
  expect(stepSentence(step)).toBe(sentence);
});

const HOSTILE = "\u001b[2J\u202e\r\nfake";
const CONTROL = /(?!\n)[\p{Cc}\p{Bidi_Control}]/u;

test("hostile ids, events, endpoints and responses are escaped", () => {
  const steps: TimelineStep[] = [
    {
      ...RECEIVED,
      type: HOSTILE,
      event: HOSTILE,
      source: HOSTILE,
      namedBy: HOSTILE,
      isRepeated: true,
    },
    {
      ...CRM,
      kind: "routed",
      destination: HOSTILE,
      place: { ...place, topic: HOSTILE },
      why: HOSTILE,
    },
    {
      ...{ ...ATTEMPT, decision: HOSTILE },
      requests: [{ ...TIMEOUT, endpoint: HOSTILE, cause: HOSTILE, response: HOSTILE }],
    },
    { ...DEAD, destination: null, from: HOSTILE, stage: HOSTILE, reason: HOSTILE, error: HOSTILE },
  ];
  const trace: CallTimeline = { messageId: HOSTILE, steps, finalStates: [], gaps: [] };
  const text = timelineText(trace, COLORS);
  expect(text).not.toMatch(CONTROL);
  expect(text.trimEnd().split("\n")).toHaveLength(4);
  expect(timelineJson(trace).trimEnd().split("\n")).toHaveLength(4);
});

test.each<[Partial<FinalState>, string]>([
  [
    { kind: "accepted", tookMs: 12_345 },
    "accepted at 2026-03-01T09:30:00.000Z, attempts known: 2, 12.3 s after the receipt of the call",
  ],
  [{ kind: "dead-lettered" }, "dead-lettered at 2026-03-01T09:30:00.000Z, attempts known: 2"],
  [{ kind: "waiting" }, "awaiting retry, due at 2026-03-01T09:30:00.000Z, attempts known: 2"],
  [{ kind: "queued", attempts: 0 }, "queued or in flight"],
  [{ kind: "queued", attempts: 0, behind: "m-0" }, "waits behind m-0"],
  [
    { kind: "finished", attempts: 0 },
    "processed, and neither awaiting retry nor dead-lettered: probably accepted",
  ],
  [
    { kind: "finished", attempts: 0, suppressedAtMs: T },
    "processed, and neither awaiting retry nor dead-lettered: its user has been suppressed since 2026-03-01T09:30:00.000Z, so it may not have been sent",
  ],
])("%j", (more, sentence) => {
  const finalState: FinalState = {
    destination: "crm",
    kind: "due",
    atMs: T,
    attempts: 2,
    tookMs: null,
    suppressedAtMs: null,
    ...more,
  };
  expect(finalStateText(finalState)).toBe(sentence);
});

test("a gap says how it would be known", () => {
  const all: Gap[] = [
    { kind: "no-attempts-topic" },
    { kind: "attempts-missing", destinations: ["crm"] },
    { kind: "call-not-found", sinceMs: T },
    { kind: "unread", topics: [`t: ${HOSTILE}`] },
  ];
  const said = all.map((gap) => gapSentence(gap, "a longer time"));
  expect(said[0]).toContain("attempts: { enabled: true }");
  expect(said[2]).toContain("To search further back, use a longer time");
  expect(said.join("")).not.toMatch(CONTROL);
});

test("as JSON instants are texts, and final states and gaps are reported apart", () => {
  const finalState: FinalState = {
    destination: "crm",
    kind: "accepted",
    atMs: T + 30,
    attempts: 2,
    tookMs: 30,
    suppressedAtMs: null,
  };
  const gaps: Gap[] = [{ kind: "call-not-found", sinceMs: T }];
  const lines = timelineJson({ messageId: "m", steps: [ATTEMPT], finalStates: [finalState], gaps });
  expect(
    lines
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as unknown),
  ).toMatchObject([
    { kind: "attempt", at: "2026-03-01T09:30:00.030Z", requests: [{ durationMs: 21.26 }] },
    { kind: "final-state", finalState: "accepted", tookMs: 30 },
    { kind: "gap", gap: "call-not-found", since: "2026-03-01T09:30:00.000Z" },
  ]);
});

test("as JSON every line names the message id, and steps and final states are in order of time", () => {
  const finalStates = [T + 20, T + 90].map(
    (atMs): FinalState => ({
      destination: "crm",
      kind: "due",
      atMs,
      attempts: 1,
      tookMs: null,
      suppressedAtMs: null,
    }),
  );
  const later = { ...ATTEMPT, atMs: T + 60 };
  const gaps: Gap[] = [{ kind: "no-attempts-topic" }];
  const lines = timelineJson({ messageId: "m-1", steps: [ATTEMPT, later], finalStates, gaps })
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as { messageId: string; kind: string; at?: string });
  expect(lines.map(({ messageId }) => messageId)).toEqual(lines.map(() => "m-1"));
  expect(lines.map(({ kind }) => kind)).toEqual([
    "final-state",
    "attempt",
    "attempt",
    "final-state",
    "gap",
  ]);
  const times = lines.flatMap(({ at }) => at ?? []);
  expect(times).toEqual(times.toSorted());
});
