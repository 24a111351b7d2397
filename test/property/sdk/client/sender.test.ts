/**
 * For any mix of calls, sizes, responses, flushes and close: every call is either acknowledged or reported, never both,
 * in order, in batches within both limits, and no timer is left.
 */

import fc from "fast-check";
import { expect, test } from "vitest";

import type { Loss } from "../../../../src/sdk/client/client-error.ts";
import { CALL_MAX_BYTES, type EncodedCall } from "../../../../src/sdk/client/encode.ts";
import type { SendOutcome } from "../../../../src/sdk/client/retry.ts";
import { Sender, type Timer } from "../../../../src/sdk/client/sender.ts";
import { costlyInputs } from "../../../support/build/generated-inputs.ts";
import { ManualClock } from "../../../support/clock/manual-clock.ts";
import { createPrng } from "../../../support/clock/prng.ts";

type Step =
  | { readonly kind: "calls"; readonly sizes: readonly number[] }
  | { readonly kind: "flush" }
  | { readonly kind: "pass"; readonly ms: number };

interface Scenario {
  readonly seed: number;
  readonly flushAt: number;
  readonly attemptsMax: number;
  readonly callsMax: number;
  readonly maxBytes: number;
  readonly responses: readonly Scripted[];
  readonly steps: readonly Step[];
  readonly closeAfterMs: number | null;
}

interface Scripted {
  readonly status: number | "no response";
  readonly afterMs: number;
  readonly retryAfter: string | null;
}

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("calls" as const),
      sizes: fc.array(fc.oneof(fc.integer({ min: 20, max: 400 }), fc.constant(CALL_MAX_BYTES)), {
        maxLength: 40,
      }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("flush" as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("pass" as const),
      ms: fc.integer({ min: 0, max: 9_000 }),
    }),
  },
);

const scenario: fc.Arbitrary<Scenario> = fc.record({
  seed: fc.integer(),
  flushAt: fc.oneof(fc.integer({ min: 1, max: 30 }), fc.constant(1_000)),
  attemptsMax: fc.integer({ min: 1, max: 4 }),
  callsMax: fc.integer({ min: 5, max: 200 }),
  maxBytes: fc.integer({ min: 512_000, max: 2_000_000 }),
  responses: fc.array(
    fc.record({
      status: fc.constantFrom<Scripted["status"][]>(
        200,
        200,
        200,
        400,
        408,
        429,
        503,
        "no response",
      ),
      afterMs: fc.integer({ min: 0, max: 3_000 }),
      retryAfter: fc.constantFrom(null, null, "0", "3", "nonsense"),
    }),
    { minLength: 1, maxLength: 8 },
  ),
  steps: fc.array(step, { maxLength: 15 }),
  closeAfterMs: fc.oneof(fc.constant(null), fc.integer({ min: 0, max: 20_000 })),
});

interface Run {
  readonly clock: ManualClock;
  readonly sender: Sender;
  /** The numbers of the calls in each acknowledged request. */
  readonly acknowledged: number[][];
  readonly requests: string[];
  readonly lost: { readonly number: number; readonly loss: Loss }[];
  readonly timers: Set<object>;
  /** The maximum number of requests in flight at once. */
  readonly atOnce: { most: number };
}

function start({ seed, flushAt, attemptsMax, callsMax, maxBytes, responses }: Scenario): Run {
  const clock = new ManualClock();
  const prng = createPrng(seed);
  const run = { acknowledged: [], requests: [], lost: [], timers: new Set(), atOnce: { most: 0 } };
  const { acknowledged, requests, lost, timers, atOnce }: Omit<Run, "clock" | "sender"> =
    run as never;
  let underWay = 0;
  const schedule = (delayMs: number, action: () => void): Timer => {
    const entry = clock.schedule(delayMs, () => {
      timers.delete(entry);
      action();
    });
    timers.add(entry);
    return {
      cancel: () => {
        timers.delete(entry);
        entry.cancel();
      },
      hold: () => {},
    };
  };
  const post = async (body: string, signal: AbortSignal): Promise<SendOutcome> => {
    // After the timeout of close, nothing more is sent.
    expect(signal.aborted).toBe(false);
    const response = responses[requests.length % responses.length] as Scripted;
    requests.push(body);
    underWay += 1;
    atOnce.most = Math.max(atOnce.most, underWay);
    // An aborted request is no longer in flight.
    await clock.sleep(response.afterMs, signal).catch(() => {});
    underWay -= 1;
    if (signal.aborted || response.status === "no response")
      return { kind: "no-response", cause: null };
    if (response.status === 200) acknowledged.push(numbersIn(body));
    return {
      kind: "response",
      status: response.status,
      retryAfter: response.retryAfter,
      explanation: null,
    };
  };
  const sender = new Sender(
    { flushAt, flushAfterMs: 5_000, attemptsMax, queue: { callsMax, maxBytes } },
    {
      nowMs: () => clock.nowMs(),
      random: () => prng.fraction(),
      schedule,
      post,
      lost: (calls, loss) => {
        for (const call of calls) lost.push({ number: numberOf(call), loss });
      },
      acknowledged: () => {},
      log: () => {},
    },
  );
  return { clock, sender, acknowledged, requests, lost, timers, atOnce };
}

function call(number: number, bytes: number): EncodedCall {
  const around = `{"n":${number},"":""}`;
  const json = `{"n":${number},"":"${"x".repeat(Math.max(0, bytes - around.length))}"}`;
  return { json, bytes: Buffer.byteLength(json) };
}

function numberOf({ json }: EncodedCall): number {
  return (JSON.parse(json) as { readonly n: number }).n;
}

function numbersIn(body: string): number[] {
  return (JSON.parse(body) as { readonly batch: { readonly n: number }[] }).batch.map(({ n }) => n);
}

test("every call ends acknowledged or reported, in order, within the limits", async () => {
  await fc.assert(
    fc.asyncProperty(scenario, async (given) => {
      const run = start(given);
      const { clock, sender } = run;
      const taken: number[] = [];
      let made = 0;
      let promises = 0;
      let kept = 0;
      for (const one of given.steps) {
        if (one.kind === "pass") await clock.advance(one.ms);
        if (one.kind === "flush") {
          promises += 1;
          const before = [...taken];
          void sender.flush().then(() => {
            kept += 1;
            expect(missing(before, run)).toEqual([]);
          });
        }
        if (one.kind !== "calls") continue;
        const requestsBefore = run.requests.length;
        for (const size of one.sizes) {
          made += 1;
          if (sender.add(call(made, size))) taken.push(made);
        }
        // A call returns before any request is made.
        expect(run.requests.length).toBe(requestsBefore);
      }
      const closed = sender.close(given.closeAfterMs);
      let isClosed = false;
      void closed.then(() => {
        isClosed = true;
      });
      await clock
        .advanceUntil(() => isClosed, 3_600_000)
        .catch(async () => {
          await clock.advance(0);
        });
      await closed;
      expect(kept).toBe(promises);
      expect(missing(taken, run)).toEqual([]);
      expect(sender.count).toBe(0);

      const acknowledged = run.acknowledged.flat();
      const lost = run.lost.map(({ number }) => number);
      expect([...acknowledged, ...lost].sort((a, b) => a - b)).toEqual(taken);
      expect(acknowledged).toEqual([...acknowledged].sort((a, b) => a - b));
      expect(lost).toEqual([...lost].sort((a, b) => a - b));
      for (const body of run.requests) {
        expect(numbersIn(body).length).toBeLessThanOrEqual(given.flushAt);
        expect(Buffer.byteLength(body)).toBeLessThanOrEqual(500 * 1_024);
      }
      expect(run.atOnce.most).toBeLessThanOrEqual(1);
      expect([...run.timers]).toEqual([]);
    }),
    { numRuns: costlyInputs(10, 2_000) },
  );
});

function missing(numbers: readonly number[], { acknowledged, lost }: Run): number[] {
  const settled = new Set([...acknowledged.flat(), ...lost.map(({ number }) => number)]);
  return numbers.filter((number) => !settled.has(number));
}
