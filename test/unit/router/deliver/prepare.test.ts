// The tables of prepare.ts, with a test for each row.

import { expect, test } from "vitest";
import { type Delivery, deliveryHeaders } from "../../../../src/domain/delivery.ts";
import { endpointKey } from "../../../../src/domain/destination.ts";
import type { DestinationId, EndpointKey, EndpointRef } from "../../../../src/domain/ids.ts";
import { cutMarginMs } from "../../../../src/router/deliver/choose-retry-delay.ts";
import type { Turn } from "../../../../src/router/deliver/circuit-breaker.ts";
import {
  type Gates,
  OPEN_GATES,
  prepare,
  sanitizeHeaders,
} from "../../../../src/router/deliver/prepare.ts";
import type { WebhookDestination } from "../../../../src/router/destinations/webhook/settings.ts";
import {
  deliveryOf,
  refsOf,
  webhookDestination,
} from "../../../support/build/webhook-destination.ts";

const NOW_MS = Date.UTC(2026, 2, 1, 12);
const HOUR_MS = 3_600_000;
const POLICY = {
  retryDelaysMs: [10_000, 30_000, 120_000, 300_000, 900_000, 1_800_000, HOUR_MS],
  retryWindowMs: 4 * HOUR_MS,
};
const URLS = ["http://a.test/", "http://b.test/"];
const [A, B] = URLS.map(endpointKey) as [
  ReturnType<typeof endpointKey>,
  ReturnType<typeof endpointKey>,
];
const REMOVED = endpointKey("http://removed.test/");
const CALL = Buffer.from('{"type":"track","event":"e","userId":"u"}');

interface Given {
  readonly turn?: Turn;
  readonly gates?: Partial<Gates>;
  readonly destination?: WebhookDestination;
  readonly value?: Buffer;
}

function prepared(given: Partial<Delivery>, more: Given = {}) {
  const { turn = "queue", gates = {}, destination = both, value = CALL } = more;
  const record = { key: null, value, headers: deliveryHeaders(deliveryOf(given)) };
  return prepare(record, destination, POLICY, NOW_MS, { ...OPEN_GATES, ...gates }, turn);
}

const both = webhookDestination({ urls: URLS });
const [TO_A, TO_B] = refsOf(both) as [EndpointRef, EndpointRef];
/** A delivery that was attempted once, an hour ago. */
const ATTEMPTED = { attempt: 1, retryCount: 1, firstAttemptAtMs: NOW_MS - HOUR_MS };
/** Returns a delivery with this much of its retry window left. */
const leftOf = (leftMs: number) => ({
  attempt: 2,
  retryCount: 2,
  firstAttemptAtMs: NOW_MS - POLICY.retryWindowMs + leftMs,
});
const open = (...keys: readonly EndpointKey[]): Partial<Gates> => ({
  openUntilMs: (key) => (keys.includes(key) ? NOW_MS + 5_000 : 0),
  isFailing: (key) => keys.includes(key),
});
const asked = (...keys: readonly EndpointKey[]): Partial<Gates> => ({
  onHoldUntilMs: (key) => (keys.includes(key) ? NOW_MS + 2 * HOUR_MS : 0),
});
const gone = (...keys: readonly EndpointKey[]): Partial<Gates> => ({
  stopOf: (key) => (keys.includes(key) ? "gone" : null),
  stopped: () =>
    keys.length === URLS.length ? { reason: "gone", untilMs: Number.POSITIVE_INFINITY } : null,
});

test("a record that lacks a header is no delivery", () => {
  const record = { key: null, value: CALL, headers: [] };
  expect(prepare(record, both, POLICY, NOW_MS, OPEN_GATES, "queue")).toEqual({
    kind: "unreadable",
    error: "the header switchyard-message-id is missing",
  });
});

test.each([
  ["no JSON", Buffer.from("{"), "undecodable"],
  ["no call", Buffer.from("[]"), "invalid-call"],
  ["of a schema", Buffer.from([0, 0, 0, 0, 1]), "unknown-schema"],
])("a value that is %s: dead letter", (_name, value, reason) => {
  expect(prepared({}, { value })).toMatchObject({ kind: "dead-letter", reason });
});

test("a new delivery is attempted at all endpoints with what is sent, and its window begins", () => {
  expect(prepared({})).toMatchObject({
    kind: "attempt",
    endpoints: both.endpoints,
    results: [],
    delivery: { firstAttemptAtMs: NOW_MS },
    content: { type: "track", userId: "u" },
    text: CALL.toString(),
  });
});

test("a delivery that was never attempted has no window, whatever its headers say", () => {
  expect(prepared({ retryCount: 9, firstAttemptAtMs: NOW_MS - 9 * HOUR_MS })).toMatchObject({
    kind: "attempt",
    delivery: { firstAttemptAtMs: NOW_MS },
  });
});

test.each([
  ["its own endpoint was removed", { endpoint: "removed" as EndpointRef }, "unknown-destination"],
  ["the window has ended", leftOf(-1), "expired"],
  ["the window of a share has ended", { ...leftOf(-1), attempt: 0, endpoint: TO_A }, "expired"],
  ["every endpoint has rejected it", { rejected: [A, B] }, "rejected"],
])("%s: dead letter", (_name, given, reason) => {
  expect(prepared(given)).toMatchObject({ kind: "dead-letter", reason });
});

test.each([
  ["the destination is paused", { destination: { ...both, paused: true } }, "paused"],
  ["the destination is disabled", { destination: { ...both, enabled: false } }, "disabled"],
  ["an endpoint sent Retry-After", { gates: asked(A) }, "retry-after"],
  ["an endpoint keeps failing", { gates: open(B) }, "circuit-open"],
  ["every endpoint is gone", { gates: gone(A, B) }, "gone"],
  ["nothing is in its way", {}, "late"],
] as const)("expired where %s: it waited for that", (_name, more, waited) => {
  expect(prepared(leftOf(-1), { ...more, turn: "retry" })).toMatchObject({ waited });
});

test("the last millisecond of the window still counts", () => {
  expect(prepared(leftOf(0)).kind).toBe("attempt");
});

test("an endpoint that was removed is forgotten", () => {
  expect(prepared({ rejected: [A, REMOVED] })).toMatchObject({ endpoints: [{ key: B }] });
});

test("a delivery for one endpoint is attempted there alone", () => {
  expect(prepared({ endpoint: TO_B })).toMatchObject({ endpoints: [{ key: B }] });
});

test("a delivery for one endpoint follows it to another URL, and the records that follow name that URL", () => {
  const destination = webhookDestination({ urls: ["http://a.test/?token=2", URLS[1] ?? ""] });
  const [ref] = refsOf(destination);
  expect(prepared({ endpoint: TO_A }, { destination })).toMatchObject({
    kind: "attempt",
    endpoints: [{ url: "http://a.test/?token=2" }],
    delivery: { endpoint: ref },
  });
});

test("a delivery for a removed endpoint is not sent to the one that took its position", () => {
  const destination = webhookDestination({ urls: URLS.slice(1) });
  expect(prepared({ endpoint: TO_A }, { destination })).toMatchObject({
    kind: "dead-letter",
    reason: "unknown-destination",
    error: expect.stringContaining("crm[1] was removed"),
    delivery: { endpoint: TO_A },
  });
});

test("rejections with `any` do not count with `every`, under which each endpoint must get the call", () => {
  const rejected = { ...ATTEMPTED, rejected: [A] };
  expect(prepared(rejected)).toMatchObject({ endpoints: [{ key: B }] });
  const destination = webhookDestination({ urls: URLS, deliver: "every" });
  expect(prepared(rejected, { destination })).toMatchObject({
    endpoints: destination.endpoints,
    delivery: { rejected: [] },
  });
  // A delivery for one endpoint keeps its own rejection.
  const share = { ...rejected, endpoint: TO_A };
  expect(prepared(share, { destination })).toMatchObject({ reason: "rejected" });
});

const STRICT = webhookDestination({ urls: URLS, deliver: "every", order: "strict" });

test("an endpoint that accepted or rejected a delivery of a strict order is not requested again", () => {
  const more = { destination: STRICT };
  const accepted = { ...ATTEMPTED, accepted: [TO_A] };
  expect(prepared(accepted, more)).toMatchObject({ endpoints: [{ key: B }], delivery: accepted });
  const rejected = { ...ATTEMPTED, rejected: [A] };
  expect(prepared(rejected, more)).toMatchObject({ endpoints: [{ key: B }], delivery: rejected });
});

const NAMED = STRICT.endpoints.map((each, at) => ({ ...each, id: `e${at}` }));
/** The first endpoint has another URL. */
const moved = (endpoints: WebhookDestination["endpoints"]) => {
  const url = "http://moved.test/";
  return endpoints.map((each, at) => (at === 0 ? { ...each, url, key: endpointKey(url) } : each));
};

test.each([
  ["gets an id", NAMED, TO_A],
  ["loses its id", STRICT.endpoints, refsOf({ endpoints: NAMED })[0]],
  ["gets another URL, and has no id", moved(STRICT.endpoints), TO_A],
  ["gets another URL, and has an id", moved(NAMED), refsOf({ endpoints: NAMED })[0]],
  ["moves in the list", STRICT.endpoints.toReversed(), TO_A],
] as const)("an endpoint that accepted a delivery is known when it %s", (_name, endpoints, ref) => {
  const destination = { ...STRICT, endpoints };
  const accepted = { ...ATTEMPTED, accepted: [ref as EndpointRef] };
  const [first, second] = refsOf(destination);
  const isFirst = endpoints[0]?.key !== B;
  expect(prepared(accepted, { destination })).toMatchObject({
    endpoints: [{ key: B }],
    delivery: { accepted: [isFirst ? first : second] },
  });
});

test("if all endpoints that are left have accepted it, the others were removed: dead letter", () => {
  const destination = { ...STRICT, endpoints: STRICT.endpoints.slice(0, 1) };
  const accepted = { ...ATTEMPTED, accepted: [TO_A] };
  expect(prepared(accepted, { destination })).toMatchObject({
    ...{ kind: "dead-letter", reason: "unknown-destination" },
    error: "the endpoints that had not accepted it were removed",
  });
});

test("while the endpoints that have not accepted it are unavailable, its retry is scheduled, and it does not wait in memory", () => {
  const more = { destination: STRICT, turn: "retry", gates: asked(B) } as const;
  const accepted = { ...ATTEMPTED, accepted: [TO_A] };
  expect(prepared(accepted, more)).toMatchObject({
    ...{ kind: "retry", delayMs: 30_000 },
    delivery: { attempt: 1, retryCount: 2, accepted: [TO_A] },
  });
});

test.each([{ paused: true }, { enabled: false }])(
  "with %j a retry waits until its window ends",
  (still) => {
    const destination = { ...both, ...still };
    expect(prepared(leftOf(HOUR_MS), { destination, turn: "retry" })).toEqual({
      kind: "wait",
      endpoints: [A, B],
      untilMs: NOW_MS + HOUR_MS,
    });
  },
);

test("its own not-before in the future schedules its retry again without an attempt", () => {
  const notBeforeMs = NOW_MS + 2 * HOUR_MS;
  expect(prepared({ ...ATTEMPTED, notBeforeMs }, { turn: "retry" })).toMatchObject({
    kind: "retry",
    delayMs: HOUR_MS,
    delivery: { attempt: 1, retryCount: 2, notBeforeMs },
  });
});

test("its own not-before beyond the window is cut to the last attempt that fits", () => {
  const given = { ...leftOf(5_000), notBeforeMs: NOW_MS + HOUR_MS };
  expect(prepared(given, { turn: "retry", gates: asked(A, B) })).toMatchObject({
    kind: "attempt",
    endpoints: both.endpoints,
  });
});

test.each(["queue", "retry"] as const)("%s: an unavailable endpoint is not attempted", (turn) => {
  for (const gates of [open(A), asked(A)]) {
    expect(prepared(ATTEMPTED, { turn, gates })).toMatchObject({
      kind: "attempt",
      endpoints: [{ key: B }],
      results: [{ endpoint: A, result: { kind: "skipped" }, outcome: { kind: "retry" } }],
    });
  }
});

test.each(["queue", "retry"] as const)(
  "%s: an endpoint that is gone counts as rejecting",
  (turn) => {
    expect(prepared(ATTEMPTED, { turn, gates: gone(A) })).toMatchObject({
      kind: "attempt",
      endpoints: [{ key: B }],
      results: [{ endpoint: A, result: { kind: "skipped" }, outcome: { kind: "rejected" } }],
      delivery: { rejected: [] },
    });
    const left = { kind: "dead-letter", reason: "rejected", delivery: { rejected: [B] } };
    expect(prepared({ ...ATTEMPTED, rejected: [B] }, { turn, gates: gone(A) })).toMatchObject(left);
    const own = { kind: "dead-letter", reason: "rejected", delivery: { endpoint: TO_A } };
    expect(prepared({ ...ATTEMPTED, endpoint: TO_A }, { turn, gates: gone(A) })).toMatchObject(own);
  },
);

test("an endpoint is gone and the other one unavailable: as if there was only the other one", () => {
  const gates = { ...gone(A), ...asked(B) };
  expect(prepared(leftOf(HOUR_MS), { turn: "retry", gates })).toMatchObject({ kind: "wait" });
});

test("an endpoint is gone, and the proxy of the other one fails: the delivery waits for the other one", () => {
  const gates: Partial<Gates> = { stopOf: (key) => (key === A ? "gone" : "proxy") };
  const wait = { kind: "wait", endpoints: [B], untilMs: NOW_MS + HOUR_MS };
  expect(prepared(leftOf(HOUR_MS), { turn: "retry", gates })).toEqual(wait);
});

test("while all endpoints are gone, a delivery waits until its window ends", () => {
  const given = { turn: "retry", gates: gone(A, B) } as const;
  const wait = { kind: "wait", endpoints: [A, B], untilMs: NOW_MS + HOUR_MS };
  expect(prepared(leftOf(HOUR_MS), given)).toEqual(wait);
  const onlyA = { ...wait, endpoints: [A] };
  expect(prepared({ ...leftOf(HOUR_MS), rejected: [B] }, given)).toEqual(onlyA);
});

test("an endpoint is there again at the very time that it asked for", () => {
  const gates = { onHoldUntilMs: () => NOW_MS, openUntilMs: () => NOW_MS };
  expect(prepared({}, { gates })).toMatchObject({ endpoints: both.endpoints });
});

test("a retry is attempted although the breakers are open: it is the probe", () => {
  expect(prepared(ATTEMPTED, { turn: "retry", gates: open(A, B) })).toMatchObject({
    kind: "attempt",
    endpoints: both.endpoints,
    otherwise: null,
  });
  const gates = { ...open(A), onHoldUntilMs: asked(B).onHoldUntilMs ?? (() => 0) };
  expect(prepared(ATTEMPTED, { turn: "retry", gates })).toMatchObject({
    endpoints: [{ key: A }],
    results: [{ endpoint: B, result: { kind: "skipped" } }],
  });
});

test("the share of an unavailable endpoint: it is tried if it was attempted, and scheduled for retry instead of waiting", () => {
  const given = { ...ATTEMPTED, retryCount: 7, endpoint: TO_A };
  const scheduled = { kind: "retry", delayMs: 120_000, delivery: { attempt: 1, retryCount: 8 } };
  const retry = { turn: "retry", gates: open(A) } as const;
  expect(prepared(given, retry)).toMatchObject({ endpoints: [{ key: A }], otherwise: scheduled });
  expect(prepared({ ...given, attempt: 0 }, retry)).toMatchObject({
    kind: "retry",
    delivery: { attempt: 0 },
  });
  expect(prepared(given, { turn: "retry", gates: asked(A) })).toMatchObject(scheduled);
});

test("what comes from the queue while its endpoints are unavailable is scheduled for retry for 2 minutes at most", () => {
  const given = { ...ATTEMPTED, retryCount: 7, rejected: [B] };
  expect(prepared(given, { gates: open(A) })).toMatchObject({ kind: "retry", delayMs: 120_000 });
  // Its retry window has not started.
  expect(prepared({ endpoint: TO_A }, { gates: open(A) })).toMatchObject({
    kind: "retry",
    delayMs: 10_000,
    delivery: { firstAttemptAtMs: null },
  });
});

test("a retry waits while its endpoints ask for it, until no retry delay ends in the window any more", () => {
  const lastMs = 10_000 + cutMarginMs(POLICY);
  const retry = { turn: "retry", gates: asked(A, B) } as const;
  expect(prepared(leftOf(HOUR_MS), retry)).toEqual({
    kind: "wait",
    endpoints: [A, B],
    untilMs: NOW_MS + HOUR_MS - lastMs,
  });
  const gates: Partial<Gates> = { ...asked(B), stopOf: (key) => (key === A ? "proxy" : null) };
  expect(prepared(leftOf(HOUR_MS), { turn: "retry", gates })).toMatchObject({ endpoints: [A, B] });
  expect(prepared(leftOf(lastMs), retry).kind).toBe("wait");
  expect(prepared(leftOf(lastMs - 1), retry)).toMatchObject({ kind: "attempt" });
});

const CRM = "crm" as DestinationId;
const YEAR_MS = 365 * 24 * HOUR_MS;

function sanitized(given: Parameters<typeof deliveryOf>[0]) {
  return sanitizeHeaders(
    deliveryOf({ destination: CRM, ...given }),
    CRM,
    POLICY.retryWindowMs,
    NOW_MS,
  );
}

test("a delivery as stages write it is believed, and is the same object", () => {
  const delivery = deliveryOf({
    destination: CRM,
    attempt: 2,
    firstAttemptAtMs: NOW_MS - 1,
    notBeforeMs: NOW_MS + POLICY.retryWindowMs,
  });
  expect(sanitizeHeaders(delivery, CRM, POLICY.retryWindowMs, NOW_MS)).toBe(delivery);
  const fresh = deliveryOf({ destination: CRM });
  expect(sanitizeHeaders(fresh, CRM, POLICY.retryWindowMs, NOW_MS)).toBe(fresh);
});

test.each([
  ["another destination", { destination: "other" as DestinationId }, { destination: CRM }],
  [
    "a first attempt in the future",
    { firstAttemptAtMs: NOW_MS + YEAR_MS },
    { firstAttemptAtMs: NOW_MS },
  ],
  [
    "a not-before beyond the window",
    { notBeforeMs: NOW_MS + YEAR_MS },
    { notBeforeMs: NOW_MS + POLICY.retryWindowMs },
  ],
])("%s is cut, and all else is kept", (_name, given, expected) => {
  const delivery = deliveryOf({ destination: CRM, attempt: 3, ...given });
  expect(sanitized({ attempt: 3, ...given })).toEqual({ ...delivery, ...expected });
});
