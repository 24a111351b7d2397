// The tables of judge.ts, choose-retry-delay.ts and decide.ts, row by row.

import { expect, test } from "vitest";
import { endpointKey } from "../../../../src/domain/destination.ts";
import { endpointNames } from "../../../../src/domain/endpoint-name.ts";
import type { EndpointRef } from "../../../../src/domain/ids.ts";
import { retryAfterMs } from "../../../../src/domain/retry-after.ts";
import {
  cutMarginMs,
  delayAfterAttempt,
  delayOfShare,
  delayUntil,
} from "../../../../src/router/deliver/choose-retry-delay.ts";
import {
  allRejected,
  type Deliver,
  decide,
  deliverOf,
  expired,
  scheduleRetry,
  skippedAsGone,
} from "../../../../src/router/deliver/decide.ts";
import { outcomeClass } from "../../../../src/router/deliver/report.ts";
import type { SendResult } from "../../../../src/router/destinations/port.ts";
import { causeOf } from "../../../../src/router/destinations/webhook/cause.ts";
import { judge } from "../../../../src/router/destinations/webhook/judge.ts";
import {
  deliveryOf,
  refsOf,
  resultAt,
  webhookDestination,
} from "../../../support/build/webhook-destination.ts";

const NOW_MS = Date.UTC(2026, 2, 1, 12);
const HOUR_MS = 3_600_000;
const POLICY = {
  retryDelaysMs: [10_000, 30_000, 120_000, 300_000, 900_000, 1_800_000, HOUR_MS],
  retryWindowMs: 4 * HOUR_MS,
};
const URLS = ["http://a.test/", "http://b.test/"];
const BOTH = webhookDestination({ urls: URLS });
const NAMES = endpointNames(BOTH);
const [A, B] = URLS.map(endpointKey) as [
  ReturnType<typeof endpointKey>,
  ReturnType<typeof endpointKey>,
];
const [TO_A, TO_B] = refsOf(BOTH) as [EndpointRef, EndpointRef];

function response(status: number, retryAfter: string | null = null): SendResult {
  return { kind: "response", status, retryAfter, durationMs: 1 };
}
const refused: SendResult = { kind: "no-response", cause: "refused", durationMs: 1 };

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

test("a 410 says that the endpoint is gone, and any other rejection does not", () => {
  expect(judge(response(410), NOW_MS)).toEqual({ kind: "rejected", isGone: true });
  expect(judge(response(404), NOW_MS)).toEqual({ kind: "rejected" });
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
  ["Sun, 1 Mar 2026 12:01:00 GMT", 60_000],
  ["Sun, 01 Mar 2026 12:01:00 UTC", 60_000],
  ["Sun, 01 Mar 2026 12:01:00 +0000", 60_000],
  ["Sun, 01 Mar 2026 07:01:00 -0500", 60_000],
  ["Sun, 01 Mar 2026 12:00:00 +0100", 0],
  ["3, Sun, 1 Mar 2026 13:01:00 +0100, 8", 60_000],
  ["Sun, 01 Mar 2026 12:01:00 EST", null],
  ["Sun, 01 Mar 2026 12:01:00", null],
  ["", null],
  ["-5", null],
  ["5.7", 6_000],
  ["5.", 5_000],
  [".2", 1_000],
  ["5,7", 7_000],
  ["5, 7, 6", 7_000],
  ["soon, 7", 7_000],
  ["3, Sun, 01 Mar 2026 12:01:00 GMT, 8", 60_000],
  ["Sunday, 01-Mar-26 12:01:00 GMT,120", 120_000],
  ["86400", 86_400_000],
  ["86400.1", null],
  ["86401", null],
  ["86401, 9", 9_000],
  ["12345678901", null],
  ["315360000", null],
  ["Tue, 03 Mar 2026 12:00:00 GMT", null],
  ["1e3", null],
  ["+5", null],
  ["0x10", null],
  [",", null],
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
  ["ADDRESS_BLOCKED", "address"],
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
  // attempts, asked for, time left, delay
  [1, 0, 4 * HOUR_MS, 10_000],
  [4, 0, 4 * HOUR_MS, 300_000],
  [7, 0, 4 * HOUR_MS, HOUR_MS],
  [100, 0, 4 * HOUR_MS, HOUR_MS],
  [1, 0, 10_000, 10_000],
  [1, 0, 9_999, null],
  [7, 0, HOUR_MS - 1, null],
  [1, 9_000, 4 * HOUR_MS, 10_000],
  [1, 10_001, 4 * HOUR_MS, 30_000],
  [1, 200_000, 4 * HOUR_MS, 300_000],
  [1, 2 * HOUR_MS, 4 * HOUR_MS, HOUR_MS],
  [1, 2 * HOUR_MS, 1_000_000, 900_000],
  [1, 2 * HOUR_MS, 900_000, 300_000],
  [1, 60_000, 10_000, 10_000],
])(
  "after %i attempts and asked for %i ms, with %i ms left, it waits %s ms",
  (attempts, askedMs, leftMs, expected) => {
    expect(delayAfterAttempt(POLICY, attempts, askedMs, NOW_MS, NOW_MS + leftMs)).toBe(expected);
  },
);

test.each([
  // scheduled retries, time left, delay
  [0, HOUR_MS, 10_000],
  [1, HOUR_MS, 30_000],
  [2, HOUR_MS, 120_000],
  [6, HOUR_MS, 120_000],
  [6, 60_000, 30_000],
  [6, 5_000, 10_000],
  [6, Number.POSITIVE_INFINITY, 120_000],
])(
  "the share of an endpoint that was scheduled for retry %i times, with %i ms left, waits %i ms",
  (scheduled, leftMs, expected) => {
    expect(delayOfShare(POLICY, scheduled, NOW_MS, NOW_MS + leftMs)).toBe(expected);
  },
);

test("a share waits for the shortest delay where all are longer than 2 minutes", () => {
  const policy = { ...POLICY, retryDelaysMs: [300_000, 600_000] };
  expect(delayOfShare(policy, 3, NOW_MS, NOW_MS + HOUR_MS)).toBe(300_000);
});

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
    expect(delayUntil(POLICY, askedMs, NOW_MS, NOW_MS + leftMs)).toBe(expected);
  },
);

test.each([
  [10_000, 1_000],
  [60_000, 3_000],
  [4 * HOUR_MS, 20_000],
])("of a window of %i ms, %i ms are kept free", (retryWindowMs, expected) => {
  expect(cutMarginMs({ ...POLICY, retryWindowMs })).toBe(expected);
});

const SKIPPED = { kind: "skipped" } as const;
const NONE_LEFT = expect.stringContaining("responded 410 to another request");
const started = deliveryOf({ firstAttemptAtMs: NOW_MS - 1_000 });

function decided(
  results: readonly SendResult[],
  given: Partial<typeof started> = {},
  deliver: Deliver = "any",
) {
  const responses = results.map((result, index) => resultAt(index === 0 ? A : B, result, NOW_MS));
  return decide({ ...started, ...given }, deliver, NAMES, responses, POLICY, NOW_MS);
}

test.each([
  ["accepted by one", [response(500), response(200)], "accepted"],
  ["accepted by one, rejected by the other", [response(404), response(200)], "accepted"],
  ["to try again", [response(500), refused], "retry"],
  ["rejected by one, to try again at the other", [response(404), refused], "retry"],
  ["rejected by both", [response(404), response(400)], "rejected"],
])("any, %s", (_name, results, name) => {
  expect(decided(results).name).toBe(name);
});

test("a scheduled for retry delivery carries what its next attempt needs", () => {
  const [output] = decided([response(404), response(503, "100")], {
    attempt: 1,
    retryCount: 4,
  }).outputs;
  expect(output).toEqual({
    kind: "retry",
    delayMs: 120_000,
    delivery: {
      ...started,
      attempt: 2,
      retryCount: 5,
      dueAtMs: NOW_MS + 120_000,
      notBeforeMs: null,
      rejected: [A],
      lastOutcome: "crm[1] a.test=404,crm[2] b.test=503",
    },
  });
});

test("Retry-After beyond the last retry delay travels as not-before; the longest of several counts", () => {
  const [output] = decided([response(503, "5"), response(429, "7200")]).outputs;
  expect(output).toMatchObject({
    delayMs: HOUR_MS,
    delivery: { notBeforeMs: NOW_MS + 2 * HOUR_MS },
  });
});

test("a rejection now and the other one before make it rejected", () => {
  const results = [resultAt(B, response(422), NOW_MS)];
  expect(decide({ ...started, rejected: [A] }, "any", NAMES, results, POLICY, NOW_MS).name).toBe(
    "rejected",
  );
});

test("when the next attempt would be past the window, it has expired", () => {
  const firstAttemptAtMs = NOW_MS - POLICY.retryWindowMs + 5_000;
  const { name, outputs } = decided([refused, refused], { firstAttemptAtMs });
  expect(name).toBe("expired");
  expect(outputs).toMatchObject([{ reason: "expired", delivery: { attempt: 1 } }]);
});

test("every: each endpoint that failed continues by itself", () => {
  const { name, outputs } = decided([response(404), refused], {}, "every");
  expect(name).toBe("retry");
  expect(outputs).toMatchObject([
    { kind: "dead-letter", reason: "rejected", delivery: { endpoint: TO_A } },
    { kind: "retry", delivery: { endpoint: TO_B, rejected: [] } },
  ]);
  expect(decided([response(200), response(201)], {}, "every")).toEqual({
    name: "accepted",
    outputs: [],
  });
});

const EVERY = "every-ordered";

test.each([
  ["every endpoint accepted", [response(200), response(201)], {}, "accepted", []],
  [
    "one accepted, the other failed",
    [response(200), refused],
    {},
    "retry",
    [{ kind: "retry", delivery: { endpoint: null, attempt: 1, accepted: [TO_A], rejected: [] } }],
  ],
  [
    "one rejected it, the other failed",
    [response(404), refused],
    {},
    "retry",
    [{ kind: "retry", delivery: { endpoint: null, accepted: [], rejected: [A] } }],
  ],
  [
    "both failed",
    [refused, response(503)],
    {},
    "retry",
    [{ kind: "retry", delivery: { accepted: [], rejected: [] } }],
  ],
  [
    "one rejected it, the other accepted",
    [response(404), response(200)],
    {},
    "rejected",
    [
      {
        ...{ kind: "dead-letter", reason: "rejected" },
        error: expect.stringContaining("every endpoint that did not accept it rejected it"),
        delivery: { endpoint: null, accepted: [TO_B], rejected: [A] },
      },
    ],
  ],
  [
    "one accepted, the window ends",
    [response(200), refused],
    { firstAttemptAtMs: NOW_MS - POLICY.retryWindowMs + 5_000 },
    "expired",
    [{ reason: "expired", delivery: { accepted: [TO_A] } }],
  ],
] as const)(
  "every with a strict order is one record: %s",
  (_name, results, given, name, outputs) => {
    const decision = decided(results, given, EVERY);
    expect(decision).toMatchObject({ name, outputs });
    expect(decision.outputs.length).toBe(outputs.length);
  },
);

test.each([
  ["accepts", { accepted: [TO_A] }, response(200), "accepted"],
  ["accepts, and the other one rejected it", { rejected: [A] }, response(200), "rejected"],
  ["fails", { accepted: [TO_A] }, refused, "retry"],
  ["rejects", { accepted: [TO_A] }, response(404), "rejected"],
] as const)(
  "every with a strict order: the last endpoint %s, after an earlier attempt at both",
  (_name, given, result, name) => {
    const results = [resultAt(B, result, NOW_MS)];
    const delivery = { ...started, ...given };
    const decision = decide(delivery, EVERY, NAMES, results, POLICY, NOW_MS);
    expect(decision.name).toBe(name);
    for (const output of decision.outputs) expect(output).toMatchObject({ delivery: given });
  },
);

test("every with a strict order: the last result names each endpoint that rejected the delivery, also earlier", () => {
  const lastOutcome = "crm[1] a.test=404,crm[2] b.test=503";
  const delivery = { ...started, attempt: 1, rejected: [A], lastOutcome };
  const [output] = decide(
    delivery,
    ...([EVERY, NAMES, [resultAt(B, response(200), NOW_MS)], POLICY, NOW_MS] as const),
  ).outputs;
  expect(output).toMatchObject({
    delivery: { lastOutcome: "crm[1] a.test=404,crm[2] b.test=200" },
    error: expect.stringContaining("a.test=404"),
  });
});

test("expired, and some endpoints have accepted it: not by every endpoint", () => {
  const output = expired(deliveryOf({ attempt: 1, accepted: [TO_A] }), POLICY, null);
  expect(output).toMatchObject({
    error: "not accepted by every endpoint within 14400 s, in 1 attempt",
  });
});

test("every with a strict order: an endpoint that is gone has rejected it when the others are done", () => {
  const results = (result: SendResult) => [...GONE.slice(0, 1), resultAt(B, result, NOW_MS)];
  const of = (result: SendResult) =>
    decide(started, EVERY, NAMES, results(result), POLICY, NOW_MS).outputs;
  const error = expect.stringContaining("each has accepted or rejected it, or had responded 410");
  expect(of(response(200))).toMatchObject([
    { error, delivery: { accepted: [TO_B], rejected: [] } },
  ]);
  expect(of(refused)).toMatchObject([{ kind: "retry", delivery: { accepted: [], rejected: [] } }]);
});

test("every: the share of an endpoint on hold is scheduled for retry without an attempt, climbing to 2 minutes", () => {
  const results = [resultAt(A, response(200), NOW_MS), resultAt(B, SKIPPED)];
  const share = (scheduled: number) =>
    decide({ ...started, retryCount: scheduled }, "every", NAMES, results, POLICY, NOW_MS).outputs;
  expect(share(0)).toMatchObject([
    { kind: "retry", delayMs: 10_000, delivery: { endpoint: TO_B, attempt: 0, retryCount: 1 } },
  ]);
  expect(share(5)).toMatchObject([{ delayMs: 120_000, delivery: { notBeforeMs: null } }]);
});

test("any: an endpoint on hold counts as failed and does not delay the other", () => {
  const results = [resultAt(A, SKIPPED), resultAt(B, refused, NOW_MS)];
  expect(decide(started, "any", NAMES, results, POLICY, NOW_MS).outputs).toMatchObject([
    {
      kind: "retry",
      delayMs: 10_000,
      delivery: { lastOutcome: "crm[1] a.test=skipped,crm[2] b.test=refused" },
    },
  ]);
});

test("every: what was on hold is scheduled for retry as long as the window is open", () => {
  const results = [resultAt(A, refused, NOW_MS), resultAt(B, SKIPPED)];
  const late = { ...started, firstAttemptAtMs: NOW_MS - POLICY.retryWindowMs + 12_000 };
  expect(decide(late, "every", NAMES, results, POLICY, NOW_MS).outputs).toMatchObject([
    { kind: "retry", delayMs: 10_000, delivery: { endpoint: TO_A, attempt: 1 } },
    { kind: "retry", delayMs: 10_000, delivery: { endpoint: TO_B, attempt: 0 } },
  ]);
});

const GONE = BOTH.endpoints.map(skippedAsGone);

test.each([
  ["accepted by the other", response(200), "accepted", []],
  ["to try again at the other", refused, "retry", [{ kind: "retry", delivery: { rejected: [] } }]],
  ["rejected by the other", response(422), "rejected", [{ reason: "rejected", error: NONE_LEFT }]],
  ["the other has just gone, too", response(410), "rejected", [{ delivery: { rejected: [B] } }]],
] as const)("any, one endpoint is gone, %s", (_name, result, name, outputs) => {
  const results = [...GONE.slice(0, 1), resultAt(B, result, NOW_MS)];
  const decision = decide(started, "any", NAMES, results, POLICY, NOW_MS);
  expect(decision).toMatchObject({ name, outputs });
});

test("every: the share of an endpoint that is gone is rejected without an attempt", () => {
  const results = [...GONE.slice(0, 1), resultAt(B, response(200), NOW_MS)];
  expect(decide(started, "every", NAMES, results, POLICY, NOW_MS)).toMatchObject({
    name: "rejected",
    outputs: [
      {
        ...{ kind: "dead-letter", reason: "rejected", error: NONE_LEFT },
        delivery: { endpoint: TO_A, attempt: 0, rejected: [] },
      },
    ],
  });
});

const SHORT = { retryDelaysMs: [10_000], retryWindowMs: 14_400_000 };

test.each([
  ["none", null, null],
  ["one before it is due", NOW_MS + 9_999, null],
  ["one at that time", NOW_MS + 10_000, null],
  ["one beyond that", NOW_MS + 10_001, NOW_MS + 10_001],
])(
  "scheduleRetry counts, is due after its delay, and of a not-before keeps: %s",
  (_name, asked, kept) => {
    const delivery = deliveryOf({ attempt: 1, retryCount: 1 });
    expect(scheduleRetry(delivery, 10_000, asked, NOW_MS)).toEqual({
      kind: "retry",
      delayMs: 10_000,
      delivery: { ...delivery, retryCount: 2, dueAtMs: NOW_MS + 10_000, notBeforeMs: kept },
    });
  },
);

test.each([
  [1, null, null, "not accepted within 14400 s, in 1 attempt"],
  [3, "a=503", null, "not accepted within 14400 s, in 3 attempts; the last attempt: a=503"],
  [
    3,
    "a=503",
    "paused",
    "not accepted within 14400 s, in 3 attempts; the next attempt was due, but the destination " +
      "was paused; the last attempt: a=503",
  ],
] as const)(
  "expired after %i attempts, the last one %s, waited: %s",
  (attempt, lastOutcome, waited, error) => {
    const delivery = deliveryOf({ attempt, lastOutcome });
    expect(expired(delivery, SHORT, waited)).toEqual({
      kind: "dead-letter",
      reason: "expired",
      error,
      delivery,
      ...(waited === null ? {} : { waited }),
    });
  },
);

test.each([
  ["loose", "any", "any"],
  ["strict", "any", "any"],
  ["loose", "every", "every"],
  ["strict", "every", "every-ordered"],
] as const)("%s order, deliver: %s", (order, deliver, decision) => {
  expect(deliverOf({ order, deliver })).toBe(decision);
});

test("all rejected says what the last one responded", () => {
  const delivery = deliveryOf({ attempt: 1, lastOutcome: "a=404" });
  expect(allRejected(delivery)).toEqual({
    kind: "dead-letter",
    reason: "rejected",
    error: "every endpoint rejected it; the last attempt: a=404",
    delivery,
  });
});
