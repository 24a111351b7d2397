// The tables of outcome.ts, park.ts, plan.ts and decide.ts, row by row.

import { expect, test } from "vitest";

import type { HttpResult } from "../../src/deliver/attempt.ts";
import { causeOf } from "../../src/deliver/cause.ts";
import { decide } from "../../src/deliver/decide.ts";
import { judge, outcomeClass, retryAfterMs } from "../../src/deliver/outcome.ts";
import { cutMarginMs, delayAfterAttempt, delayWithoutAttempt } from "../../src/deliver/park.ts";
import { type AwayUntil, plan } from "../../src/deliver/plan.ts";
import { endpointKey } from "../../src/domain/destination.ts";
import { deliveryOf, webhookDestination } from "../support/webhook-destination.ts";

const NOW_MS = Date.UTC(2026, 2, 1, 12);
const HOUR_MS = 3_600_000;
const POLICY = {
  delaysMs: [10_000, 30_000, 120_000, 300_000, 900_000, 1_800_000, HOUR_MS],
  windowMs: 4 * HOUR_MS,
};
const URLS = ["http://a.test/", "http://b.test/"];
const [A, B] = URLS.map(endpointKey) as [
  ReturnType<typeof endpointKey>,
  ReturnType<typeof endpointKey>,
];

function response(status: number, retryAfter: string | null = null): HttpResult {
  return { kind: "response", status, retryAfter, durationMs: 1 };
}
const refused: HttpResult = { kind: "no-response", cause: "refused", durationMs: 1 };

test.each([
  [200, "accepted"],
  [204, "accepted"],
  [299, "accepted"],
  [300, "rejected"],
  [301, "rejected"],
  [304, "rejected"],
  [308, "rejected"],
  [400, "rejected"],
  [401, "rejected"],
  [404, "rejected"],
  [410, "rejected"],
  [424, "rejected"],
  [408, "retry"],
  [425, "retry"],
  [429, "retry"],
  [500, "retry"],
  [502, "retry"],
  [503, "retry"],
  [599, "retry"],
  [600, "rejected"],
  [999, "rejected"],
])("a %i is %s", (status, kind) => {
  expect(judge(response(status), NOW_MS).kind).toBe(kind);
});

test("no response is tried again", () => {
  expect(judge(refused, NOW_MS)).toEqual({ kind: "retry", retryAfterMs: null });
});

test.each([
  [429, 5_000],
  [503, 5_000],
  [500, null],
  [502, null],
  [408, null],
])("Retry-After on a %i counts %s ms", (status, expected) => {
  expect(judge(response(status, "5"), NOW_MS)).toEqual({ kind: "retry", retryAfterMs: expected });
});

test.each([
  ["0", 0],
  ["120", 120_000],
  [" 7 ", 7_000],
  ["Sun, 01 Mar 2026 12:01:00 GMT", 60_000],
  ["Sunday, 01-Mar-26 12:01:00 GMT", 60_000],
  ["Sun Mar  1 12:01:00 2026", 60_000],
  ["Sun, 01 Mar 2026 11:59:00 GMT", 0],
  ["", null],
  ["-5", null],
  ["1.5", null],
  ["soon", null],
  ["2026-03-01T12:01:00Z", null],
  ["Order 5", null],
  ["Sun, 99 Mar 2026 12:01:00 GMT", null],
])("Retry-After %j is %s ms", (value, expected) => {
  expect(retryAfterMs(value, NOW_MS)).toBe(expected);
});

test.each([
  [response(200), "2xx"],
  [response(302), "3xx"],
  [response(404), "4xx"],
  [response(429), "429"],
  [response(503), "5xx"],
  [refused, "refused"],
])("the metric's class of %j is %s", (result, name) => {
  expect(outcomeClass(result)).toBe(name);
});

test.each([
  ["ENOTFOUND", "dns"],
  ["EAI_AGAIN", "dns"],
  ["ECONNREFUSED", "refused"],
  ["EHOSTUNREACH", "unreachable"],
  ["ADDRESS_REFUSED", "address"],
  ["ECONNRESET", "reset"],
  ["UND_ERR_SOCKET", "reset"],
  ["ETIMEDOUT", "timeout"],
  ["DEPTH_ZERO_SELF_SIGNED_CERT", "tls-self-signed"],
  ["SELF_SIGNED_CERT_IN_CHAIN", "tls-unknown-ca"],
  ["CERT_HAS_EXPIRED", "tls-expired"],
  ["ERR_TLS_CERT_ALTNAME_INVALID", "tls-wrong-host"],
  ["ERR_SSL_UNSUPPORTED_PROTOCOL", "tls-protocol"],
  ["ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION", "tls-protocol"],
  ["ERR_SSL_WRONG_VERSION_NUMBER", "tls"],
  ["INVALID_CA", "tls"],
  ["CERT_REVOKED", "tls"],
  ["HPE_INVALID_CONSTANT", "protocol"],
  ["ERR_WHATEVER", "other"],
  [null, "other"],
])("the code %s is the cause %s", (code, cause) => {
  expect(causeOf(code)).toBe(cause);
});

test.each([
  // parked, asked for, time left, delay
  [0, 0, 4 * HOUR_MS, 10_000],
  [3, 0, 4 * HOUR_MS, 300_000],
  [6, 0, 4 * HOUR_MS, HOUR_MS],
  [99, 0, 4 * HOUR_MS, HOUR_MS],
  [0, 0, 10_000, 10_000],
  [0, 0, 9_999, null],
  [6, 0, HOUR_MS - 1, null],
  [0, 9_000, 4 * HOUR_MS, 10_000],
  [0, 10_001, 4 * HOUR_MS, 30_000],
  [0, 200_000, 4 * HOUR_MS, 300_000],
  [0, 2 * HOUR_MS, 4 * HOUR_MS, HOUR_MS],
  [0, 2 * HOUR_MS, 1_000_000, 900_000],
  [0, 2 * HOUR_MS, 900_000, 300_000],
  [0, 60_000, 10_000, 10_000],
])(
  "parked %i times and asked for %i ms, with %i ms left, it waits %s ms",
  (parked, askedMs, leftMs, expected) => {
    expect(delayAfterAttempt(POLICY, parked, askedMs, NOW_MS, NOW_MS + leftMs)).toBe(expected);
  },
);

test.each([
  [5_000, HOUR_MS, 10_000],
  [10_001, HOUR_MS, 30_000],
  [2 * HOUR_MS, 3 * HOUR_MS, HOUR_MS],
  [2 * HOUR_MS, 50_000, 30_000],
  [2 * HOUR_MS, 10_000 + cutMarginMs(POLICY), 10_000],
  [2 * HOUR_MS, 10_000, null],
])(
  "asked to wait %i ms without an attempt, with %i ms left, it waits %s ms",
  (askedMs, leftMs, expected) => {
    expect(delayWithoutAttempt(POLICY, askedMs, NOW_MS, NOW_MS + leftMs)).toBe(expected);
  },
);

test.each([
  [10_000, 1_000],
  [60_000, 3_000],
  [4 * HOUR_MS, 20_000],
])("of a window of %i ms, %i ms are kept free", (windowMs, expected) => {
  expect(cutMarginMs({ ...POLICY, windowMs })).toBe(expected);
});

const held = (heldUntilMs: AwayUntil) => ({ heldUntilMs, openUntilMs: () => 0 });
const free = held(() => 0);
const both = webhookDestination({ urls: URLS });

test("a new delivery is attempted at all endpoints, and its window begins", () => {
  const planned = plan(deliveryOf(), both, POLICY, NOW_MS, free);
  expect(planned).toMatchObject({
    kind: "attempt",
    endpoints: both.endpoints,
    held: [],
    delivery: { firstAttemptAtMs: NOW_MS },
  });
});

test.each([
  [
    "its own endpoint is gone",
    { endpoint: endpointKey("http://gone.test/") },
    "unknown-destination",
  ],
  ["the window has ended", { firstAttemptAtMs: NOW_MS - POLICY.windowMs - 1 }, "expired"],
  ["every endpoint has rejected it", { rejected: [A, B] }, "rejected"],
])("%s: dead letter", (_name, given, reason) => {
  expect(plan(deliveryOf(given), both, POLICY, NOW_MS, free)).toMatchObject({
    kind: "dead-letter",
    reason,
  });
});

test("the last millisecond of the window still counts", () => {
  const delivery = deliveryOf({ firstAttemptAtMs: NOW_MS - POLICY.windowMs });
  expect(plan(delivery, both, POLICY, NOW_MS, free).kind).toBe("attempt");
});

test("an endpoint that is gone is forgotten", () => {
  const delivery = deliveryOf({ rejected: [A, endpointKey("http://gone.test/")] });
  expect(plan(delivery, both, POLICY, NOW_MS, free)).toMatchObject({ endpoints: [{ key: B }] });
});

test("a delivery for one endpoint is attempted there alone", () => {
  expect(plan(deliveryOf({ endpoint: B }), both, POLICY, NOW_MS, free)).toMatchObject({
    endpoints: [{ key: B }],
  });
});

test("a disabled destination parks by tier until the window has ended", () => {
  const disabled = webhookDestination({ enabled: false });
  expect(plan(deliveryOf({ parked: 2 }), disabled, POLICY, NOW_MS, free)).toMatchObject({
    kind: "park",
    delayMs: 120_000,
    delivery: { attempt: 0, parked: 3, firstAttemptAtMs: NOW_MS, dueAtMs: NOW_MS + 120_000 },
  });
  const after = (ms: number) => {
    const late = deliveryOf({ parked: 9, firstAttemptAtMs: NOW_MS - ms });
    return plan(late, disabled, POLICY, NOW_MS, free);
  };
  expect(after(3 * HOUR_MS)).toMatchObject({ kind: "park", delayMs: HOUR_MS });
  expect(after(3 * HOUR_MS + 1)).toMatchObject({ kind: "park", delayMs: HOUR_MS / 2 });
  expect(after(4 * HOUR_MS - 1)).toMatchObject({ kind: "park", delayMs: 10_000 });
  expect(after(4 * HOUR_MS + 1)).toMatchObject({ reason: "expired" });
});

test("not-before in the future parks it again without an attempt", () => {
  const delivery = deliveryOf({
    attempt: 1,
    parked: 1,
    firstAttemptAtMs: NOW_MS,
    notBeforeMs: NOW_MS + 2 * HOUR_MS,
  });
  expect(plan(delivery, both, POLICY, NOW_MS, free)).toMatchObject({
    kind: "park",
    delayMs: HOUR_MS,
    delivery: { attempt: 1, parked: 2, notBeforeMs: NOW_MS + 2 * HOUR_MS },
  });
});

test("not-before beyond the window is cut to the last attempt that fits", () => {
  const firstAttemptAtMs = NOW_MS - POLICY.windowMs + 5_000;
  const delivery = deliveryOf({ firstAttemptAtMs, notBeforeMs: NOW_MS + HOUR_MS });
  expect(plan(delivery, both, POLICY, NOW_MS, free).kind).toBe("attempt");
});

test("a held endpoint is left alone; when all are held, the delivery is parked", () => {
  const untilMs = NOW_MS + 20_000;
  expect(
    plan(
      deliveryOf(),
      both,
      POLICY,
      NOW_MS,
      held((key) => (key === A ? untilMs : 0)),
    ),
  ).toMatchObject({
    kind: "attempt",
    endpoints: [{ key: B }],
    held: [{ key: A }],
  });
  expect(
    plan(
      deliveryOf(),
      both,
      POLICY,
      NOW_MS,
      held(() => untilMs),
    ),
  ).toMatchObject({
    kind: "park",
    delayMs: 30_000,
  });
  expect(
    plan(
      deliveryOf(),
      both,
      POLICY,
      NOW_MS,
      held(() => NOW_MS),
    ).kind,
  ).toBe("attempt");
});

const started = deliveryOf({ firstAttemptAtMs: NOW_MS - 1_000 });

function decided(
  results: readonly HttpResult[],
  given: Partial<typeof started> = {},
  deliver: "any" | "every" = "any",
) {
  const answers = results.map((result, index) => ({ endpoint: index === 0 ? A : B, result }));
  return decide({ ...started, ...given }, deliver, [A, B], answers, POLICY, NOW_MS);
}

test.each([
  ["accepted by one", [response(500), response(200)], "accepted"],
  ["accepted by one, rejected by the other", [response(404), response(200)], "accepted"],
  ["to try again", [response(500), refused], "parked"],
  ["rejected by one, to try again at the other", [response(404), refused], "parked"],
  ["rejected by both", [response(404), response(400)], "rejected"],
])("any, %s", (_name, results, name) => {
  expect(decided(results).name).toBe(name);
});

test("a parked delivery carries what its next attempt needs", () => {
  const [output] = decided([response(404), response(503, "100")], {
    attempt: 1,
    parked: 1,
  }).outputs;
  expect(output).toEqual({
    kind: "park",
    delayMs: 120_000,
    delivery: {
      ...started,
      attempt: 2,
      parked: 2,
      dueAtMs: NOW_MS + 120_000,
      notBeforeMs: null,
      rejected: [A],
      lastOutcome: `${A}=404,${B}=503`,
    },
  });
});

test("Retry-After beyond the last tier travels as not-before; the longest of several counts", () => {
  const [output] = decided([response(503, "5"), response(429, "7200")]).outputs;
  expect(output).toMatchObject({
    delayMs: HOUR_MS,
    delivery: { notBeforeMs: NOW_MS + 2 * HOUR_MS },
  });
});

test("a rejection now and the other one before make it rejected", () => {
  const results = [{ endpoint: B, result: response(410) }];
  expect(decide({ ...started, rejected: [A] }, "any", [A, B], results, POLICY, NOW_MS).name).toBe(
    "rejected",
  );
});

test("when the next attempt would be past the window, it has expired", () => {
  const firstAttemptAtMs = NOW_MS - POLICY.windowMs + 5_000;
  const { name, outputs } = decided([refused, refused], { firstAttemptAtMs });
  expect(name).toBe("expired");
  expect(outputs).toMatchObject([{ reason: "expired", delivery: { attempt: 1 } }]);
});

test("every: each endpoint that failed goes on by itself", () => {
  const { name, outputs } = decided([response(404), refused], {}, "every");
  expect(name).toBe("parked");
  expect(outputs).toMatchObject([
    { kind: "dead-letter", reason: "rejected", delivery: { endpoint: A } },
    { kind: "park", delivery: { endpoint: B, rejected: [] } },
  ]);
  expect(decided([response(200), response(201)], {}, "every")).toEqual({
    name: "accepted",
    outputs: [],
  });
});

test("every: a held endpoint is parked without an attempt", () => {
  const held = { kind: "held", untilMs: NOW_MS + 100_000 } as const;
  const results = [
    { endpoint: A, result: response(200) },
    { endpoint: B, result: held },
  ];
  expect(decide(started, "every", [A, B], results, POLICY, NOW_MS).outputs).toMatchObject([
    { kind: "park", delayMs: 120_000, delivery: { endpoint: B, attempt: 0, parked: 1 } },
  ]);
  const long = [{ endpoint: B, result: { ...held, untilMs: NOW_MS + 2 * HOUR_MS } }];
  expect(decide(started, "every", [A, B], long, POLICY, NOW_MS).outputs).toMatchObject([
    { kind: "park", delayMs: HOUR_MS, delivery: { notBeforeMs: NOW_MS + 2 * HOUR_MS } },
  ]);
});

test("any: a held endpoint counts as failed and does not delay the other", () => {
  const held = { kind: "held", untilMs: NOW_MS + HOUR_MS } as const;
  const results = [
    { endpoint: A, result: held },
    { endpoint: B, result: refused },
  ];
  expect(decide(started, "any", [A, B], results, POLICY, NOW_MS).outputs).toMatchObject([
    { kind: "park", delayMs: 10_000, delivery: { lastOutcome: `${A}=held,${B}=refused` } },
  ]);
});

test("while its breaker is open a delivery is parked by its tier, without an attempt", () => {
  const untilMs = NOW_MS + 5_000;
  const open = { heldUntilMs: () => 0, openUntilMs: () => untilMs };
  expect(plan(deliveryOf({ parked: 1 }), both, POLICY, NOW_MS, open)).toMatchObject({
    kind: "park",
    delayMs: 30_000,
    delivery: { attempt: 0, parked: 2, notBeforeMs: null },
  });
});

test("a delivery that breakers kept away twice goes out all the same", () => {
  const open = { heldUntilMs: () => 0, openUntilMs: () => NOW_MS + 5_000 };
  expect(plan(deliveryOf({ parked: 2 }), both, POLICY, NOW_MS, open)).toMatchObject({
    kind: "attempt",
    urgency: "kept-away",
    held: [],
  });
});

test("the last attempt that fits the window ignores breakers", () => {
  const open = { heldUntilMs: () => 0, openUntilMs: () => NOW_MS + 5_000 };
  const firstAttemptAtMs = NOW_MS - POLICY.windowMs + 5_000;
  expect(
    plan(deliveryOf({ parked: 1, firstAttemptAtMs }), both, POLICY, NOW_MS, open),
  ).toMatchObject({ kind: "attempt", urgency: "last" });
});

test.each(["any", "every"] as const)(
  "%s: so it does while nothing is away, for what may be by the time that it starts",
  (deliver) => {
    const leftMs = (left: number) => {
      const firstAttemptAtMs = NOW_MS - POLICY.windowMs + left;
      const delivery = deliveryOf({ parked: 9, attempt: 9, firstAttemptAtMs });
      return plan(delivery, { ...both, deliver }, POLICY, NOW_MS, free);
    };
    const lastMs = 10_000 + cutMarginMs(POLICY);
    expect(leftMs(lastMs)).toMatchObject({ urgency: "no" });
    expect(leftMs(lastMs - 1)).toMatchObject({ urgency: "last" });
  },
);

test("a delivery that is pressed for time goes out although it was parked only once", () => {
  const open = { heldUntilMs: () => 0, openUntilMs: () => NOW_MS + 5_000 };
  const delivery = deliveryOf({ parked: 1, firstAttemptAtMs: NOW_MS - HOUR_MS });
  expect(plan(delivery, both, POLICY, NOW_MS, open)).toMatchObject({ urgency: "kept-away" });
});

test("every: what was held is parked as long as the window is open", () => {
  const held = { kind: "held", untilMs: NOW_MS + 60_000 } as const;
  const results = [
    { endpoint: A, result: refused },
    { endpoint: B, result: held },
  ];
  const late = { ...started, firstAttemptAtMs: NOW_MS - POLICY.windowMs + 12_000 };
  expect(decide(late, "every", [A, B], results, POLICY, NOW_MS).outputs).toMatchObject([
    { kind: "park", delayMs: 10_000, delivery: { endpoint: A, attempt: 1 } },
    { kind: "park", delayMs: 10_000, delivery: { endpoint: B, attempt: 0 } },
  ]);
});
