// Laws of waiting and ending, for any responses at any times (docs/retries.md#retry-schedule).

import fc from "fast-check";
import { expect, test } from "vitest";
import { type Delivery, deliveryHeaders } from "../../../../src/domain/delivery.ts";
import { endpointKey } from "../../../../src/domain/destination.ts";
import { endpointNames } from "../../../../src/domain/endpoint-name.ts";
import { decide } from "../../../../src/router/deliver/decide.ts";
import { OPEN_GATES, prepare } from "../../../../src/router/deliver/prepare.ts";
import { CAUSES, type SendResult } from "../../../../src/router/destinations/port.ts";
import { costlyInputs } from "../../../support/build/generated-inputs.ts";
import {
  deliveryOf,
  resultAt,
  webhookDestination,
} from "../../../support/build/webhook-destination.ts";

const START_MS = 1_800_000_000_000;
const CALL = Buffer.from('{"type":"track","event":"e","userId":"u"}');
const URLS = ["http://a.test/", "http://b.test/", "http://c.test/"];

const NAMES = endpointNames(webhookDestination({ urls: URLS }));
const ONE = endpointNames(webhookDestination({ urls: URLS.slice(0, 1) }));

/** Windows of at most 300 times the shortest delay, so that lives are short enough to follow. */
const policy = fc
  .record({
    retryDelaysMs: fc.array(fc.integer({ min: 10, max: 4_000_000 }), {
      minLength: 1,
      maxLength: 8,
    }),
    windowShare: fc.double({ min: 0, max: 300, noNaN: true }),
  })
  .map(({ retryDelaysMs, windowShare }) => {
    const rising = retryDelaysMs.toSorted((a, b) => a - b);
    const retryWindowMs = Math.min(14_400_000, Math.ceil((rising[0] ?? 0) * windowShare));
    return { retryDelaysMs: rising, retryWindowMs };
  });

const result: fc.Arbitrary<SendResult> = fc.oneof(
  fc.record({
    kind: fc.constant("response" as const),
    status: fc.constantFrom(200, 302, 404, 408, 429, 500, 503, 503, 503, 503),
    retryAfter: fc.option(fc.integer({ min: 0, max: 20_000 }).map(String)),
    durationMs: fc.constant(1),
  }),
  fc.record({
    kind: fc.constant("no-response" as const),
    cause: fc.constantFrom(...CAUSES),
    durationMs: fc.constant(1),
  }),
);

interface Step {
  readonly results: readonly SendResult[];
  readonly tookMs: number;
  readonly lateMs: number;
  readonly onHoldMs: number;
}
const NO_STEP: Step = { results: [], tookMs: 0, lateMs: 0, onHoldMs: 0 };
const steps = fc.array(
  fc.record({
    results: fc.tuple(result, result, result),
    tookMs: fc.nat({ max: 5_000 }),
    lateMs: fc.nat({ max: 2_000 }),
    onHoldMs: fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, fc.nat({ max: 5_000_000 })),
  }),
  { minLength: 1, maxLength: 20 },
);

function recordOf(delivery: Delivery) {
  return { key: null, value: CALL, headers: deliveryHeaders(delivery) };
}

interface Life {
  readonly attemptsAtMs: readonly number[];
  /** For each wait, the delay that was chosen, and the delay that the response asked for. */
  readonly waits: readonly { readonly delayMs: number; readonly retryDelayMs: number }[];
  readonly end: "accepted" | "rejected" | "expired" | "unknown-destination" | "never";
}

/**
 * Follows one delivery through its attempts and waits, in the same way as the stages.
 *
 * @param enabled whether the destination stays enabled after the first attempt.
 */
function live(
  retry: { readonly retryDelaysMs: readonly number[]; readonly retryWindowMs: number },
  script: readonly Step[],
  enabled: boolean,
): Life {
  const attemptsAtMs: number[] = [];
  const waits: { delayMs: number; retryDelayMs: number }[] = [];
  let nowMs = START_MS;
  let delivery: Delivery = deliveryOf();
  let onHoldUntilMs: number | null = null;
  // Each iteration except the first one ends a hold, or waits for at least the shortest delay. This is enough for twice
  // the windows.
  for (let turn = 0, step = 0; turn < 1_000; turn += 1) {
    const { results, tookMs, lateMs, onHoldMs } = script[step % script.length] ?? NO_STEP;
    // The hold that was waited for is over, and the next hold starts with the next step.
    onHoldUntilMs ??= nowMs + onHoldMs;
    const untilMs = onHoldUntilMs;
    const isNew = attemptsAtMs.length === 0;
    // The queue is on hold until then.
    if (isNew) nowMs = untilMs;
    const destination = webhookDestination({ urls: URLS, enabled: isNew || enabled });
    const gates = { ...OPEN_GATES, onHoldUntilMs: () => untilMs };
    const whose = isNew ? "queue" : "retry";
    const planned = prepare(recordOf(delivery), destination, retry, nowMs, gates, whose);
    if (planned.kind === "unreadable" || planned.kind === "suppressed") break;
    if (planned.kind === "wait") {
      nowMs = enabled ? Math.min(untilMs, planned.untilMs + 1) : planned.untilMs + 1;
      continue;
    }
    onHoldUntilMs = null;
    step += 1;
    let output = planned.kind === "attempt" ? undefined : planned;
    if (planned.kind === "attempt") {
      attemptsAtMs.push(nowMs);
      nowMs += tookMs;
      const responses = planned.endpoints.flatMap(({ key }, index) => {
        const response = results[index];
        return response === undefined ? [] : [resultAt(key, response, nowMs)];
      });
      const decision = decide(planned.delivery, "any", NAMES, responses, retry, nowMs);
      output = decision.outputs[0];
      if (output === undefined) return { attemptsAtMs, waits, end: "accepted" };
      const retryDelayMs =
        retry.retryDelaysMs[Math.min(delivery.attempt, retry.retryDelaysMs.length - 1)] ?? 0;
      if (output.kind === "retry") waits.push({ delayMs: output.delayMs, retryDelayMs });
    }
    if (output?.kind !== "retry") {
      return { attemptsAtMs, waits, end: (output?.reason ?? "never") as Life["end"] };
    }
    expect(output.delivery.dueAtMs).toBe(nowMs + output.delayMs);
    expect(retry.retryDelaysMs).toContain(output.delayMs);
    delivery = output.delivery;
    nowMs += output.delayMs + lateMs;
  }
  return { attemptsAtMs, waits, end: "never" };
}

test("every delivery ends, is attempted at least once when it may be, and never after its window", () => {
  fc.assert(
    fc.property(policy, steps, fc.boolean(), (retry, script, enabled) => {
      const { attemptsAtMs, end } = live(retry, script, enabled);
      expect(end).not.toBe("never");
      const [firstMs = 0] = attemptsAtMs;
      for (const atMs of attemptsAtMs)
        expect(atMs - firstMs).toBeLessThanOrEqual(retry.retryWindowMs);
      if (!enabled) expect(attemptsAtMs).toHaveLength(1);
    }),
    { numRuns: costlyInputs(4) },
  );
});

test("no attempt comes before its retry delay, and Retry-After never shortens it", () => {
  fc.assert(
    fc.property(policy, steps, (retry, script) => {
      for (const { delayMs, retryDelayMs } of live(retry, script, true).waits) {
        expect(delayMs).toBeGreaterThanOrEqual(retryDelayMs);
      }
    }),
    { numRuns: costlyInputs(4) },
  );
});

test("an endpoint that asks for less time than there is gets at least that", () => {
  const retry = { retryDelaysMs: [10_000, 30_000, 3_600_000], retryWindowMs: 14_400_000 };
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 10_000 }), (seconds) => {
      const status = { kind: "response", status: 503, durationMs: 1 } as const;
      let delivery: Delivery = deliveryOf({ firstAttemptAtMs: START_MS });
      const [key] = URLS.map(endpointKey);
      if (key === undefined) return;
      const responses = [resultAt(key, { ...status, retryAfter: `${seconds}` })];
      const decision = decide(delivery, "any", ONE, responses, retry, START_MS);
      let nowMs = START_MS;
      let [output] = decision.outputs;
      const destination = webhookDestination({ urls: URLS.slice(0, 1) });
      while (output?.kind === "retry") {
        nowMs += output.delayMs;
        delivery = output.delivery;
        const record = recordOf(delivery);
        const planned = prepare(record, destination, retry, nowMs, OPEN_GATES, "retry");
        output = planned.kind === "retry" || planned.kind === "dead-letter" ? planned : undefined;
      }
      expect(nowMs - START_MS).toBeGreaterThanOrEqual(seconds * 1_000);
    }),
  );
});
