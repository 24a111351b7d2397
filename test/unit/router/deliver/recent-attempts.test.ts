// The verdict about an endpoint from its attempts in the last minute, row by row, and that it is stable.

import fc from "fast-check";
import { expect, test } from "vitest";

import { RecentAttempts } from "../../../../src/router/deliver/recent-attempts.ts";
import { costlyInputs } from "../../../support/build/generated-inputs.ts";

const NOW_MS = Date.UTC(2026, 2, 1, 9);
const SECOND = 1_000;
const MINUTE = 60_000;

/** Counts how often the verdict changes, even while nothing is attempted. */
class Judged {
  readonly recent = new RecentAttempts();
  nowMs = NOW_MS;
  changes = 0;
  #was = false;

  get isFailing(): boolean {
    const is = this.recent.failingSinceMs(this.nowMs) !== null;
    if (is !== this.#was) this.changes += 1;
    this.#was = is;
    return is;
  }

  /** @param results A for accepted, F for failed; one every `everyMs`. */
  add(results: string, everyMs = SECOND): this {
    for (const each of results) this.attempt(each === "A", everyMs);
    return this;
  }

  attempt(isAccepted: boolean, everyMs: number, earlier = 0): void {
    this.nowMs += everyMs;
    void this.isFailing;
    this.recent.add(isAccepted, this.nowMs, earlier);
    void this.isFailing;
  }

  wait(ms: number): this {
    this.nowMs += ms;
    return this;
  }

  get counted() {
    return [this.recent.failures(this.nowMs), this.recent.attempts(this.nowMs)];
  }
}

const after = (results: string, everyMs?: number) => new Judged().add(results, everyMs);

test("the verdict changes once in 20 s of which 66 % fail, whatever is accepted in between", () => {
  const untried = new Judged();
  for (let at = 0; at < 20; at += 1) untried.add("FFA", 333);
  expect([untried.isFailing, untried.changes]).toEqual([true, 1]);
  const fine = after("A".repeat(10), 100);
  for (let at = 0; at < 20; at += 1) fine.add("AFF", 333);
  expect([fine.isFailing, fine.changes]).toEqual([true, 1]);
  expect(fine.counted).toEqual([40, 70]);
});

test.each([
  ["nothing", "", SECOND, false],
  ["the first attempt ever", "F", SECOND, true],
  ["one of many", "AAAAAF", SECOND, false],
  ["one of two", "AF", SECOND, false],
  ["a third", "AAF".repeat(10), SECOND, false],
  ["half", "AF".repeat(3), SECOND, true],
  ["one a minute, and it accepted before", "AAAAAF", MINUTE, false],
  ["three of the last five, one a minute", "AAAAFFAF", MINUTE, true],
  ["two of the last five, one a minute", "FAAFAFAAFA".slice(1), MINUTE, false],
  ["five in a row within 10 s after many accepted", `${"A".repeat(100)}FFFFF`, 1_990, false],
  ["five in a row over 10 s after many accepted", `${"A".repeat(100)}FFFFF`, 2_000, true],
  ["20 in a row within 10 s after many accepted", "A".repeat(90) + "F".repeat(20), 490, false],
  ["20 in a row over 10 s after many accepted", "A".repeat(90) + "F".repeat(20), 500, true],
])("judged after %s", (_case, results, everyMs, isFailing) => {
  expect(after(results, everyMs).isFailing).toBe(isFailing);
});

test.each([
  ["one accepted", "A", SECOND, false],
  ["a third accepted", "AFF".repeat(20), SECOND, false],
  ["three quarters accepted", "AAAF".repeat(20), SECOND, false],
  ["more than four fifths accepted", "AAAAAAAF".repeat(20), SECOND, true],
  ["20 in a row over 10 s", "A".repeat(20), 500, true],
  ["20 in a row within 10 s", "A".repeat(20), 490, false],
  ["two in a row, one a minute", "AA", MINUTE, false],
  ["one after five minutes", "A", 5 * MINUTE, true],
  ["three in a row, one a minute", "AAA", MINUTE, true],
  ["three in a row, one an hour", "AAA", 60 * MINUTE, true],
  ["each second one, one a minute", "AFAFAFAFAFAF", MINUTE, false],
])("judged after 200 failures and %s", (_case, results, ms, is) => {
  const judged = after("F".repeat(200), 290).add(results, ms);
  const wasOnce = judged.changes === 2 || !judged.isFailing;
  expect(wasOnce).toBe(is);
});

test("a single delivery that failed once and was accepted at its retry fails for a minute", () => {
  const judged = after("FA", 10 * SECOND);
  expect(judged.isFailing).toBe(true);
  expect(judged.wait(50 * SECOND - 1).isFailing).toBe(true);
  expect(judged.wait(1).isFailing).toBe(false);
});

test("deliveries that failed and were accepted at their retries end a failing state at once", () => {
  const judged = after("FFF");
  judged.attempt(true, SECOND, 2);
  expect(judged.isFailing).toBe(true);
  judged.attempt(true, SECOND, 1);
  expect([judged.isFailing, judged.changes]).toEqual([false, 2]);
  expect(judged.counted).toEqual([0, 2]);
});

test("a retry resolves no more failures than this process has seen", () => {
  const judged = after("F");
  judged.attempt(true, SECOND, 9);
  expect(judged.isFailing).toBe(false);
  judged.add("FFF");
  expect(judged.isFailing).toBe(true);
  expect(judged.add("A").isFailing).toBe(true);
});

test("five rejections in a row after accepted attempts are seen 10 s after the last acceptance", () => {
  const judged = after("A".repeat(20)).add("FFFFF", 100);
  expect(judged.isFailing).toBe(false);
  expect(judged.wait(9_500).isFailing).toBe(true);
});

test("an accepted attempt without another failure ends a failing state after five minutes", () => {
  const judged = after("F".repeat(9)).add("A");
  expect(judged.wait(5 * MINUTE - 1_001).isFailing).toBe(true);
  expect(judged.wait(1).isFailing).toBe(false);
});

test("an outage is seen 10 s after the last acceptance, and its end 10 s after the last failure", () => {
  const judged = after("A".repeat(500), 20);
  const lastAcceptedAtMs = judged.nowMs;
  judged.add("F".repeat(20), 50);
  expect(judged.isFailing).toBe(false);
  judged.nowMs = lastAcceptedAtMs + 10 * SECOND;
  expect(judged.recent.failingSinceMs(judged.nowMs)).toBe(lastAcceptedAtMs + 50);
  // Its circuit breaker allows a probe now and then, and everything after one was accepted.
  judged.add("FFFF", 20 * SECOND).add("F".repeat(100), 10);
  judged.add("A".repeat(25), 20);
  expect(judged.isFailing).toBe(true);
  expect(judged.wait(9_500).isFailing).toBe(false);
  expect(judged.changes).toBe(2);
  judged.add("FAFA");
  expect(judged.isFailing).toBe(false);
});

test("between two attempts it stays as it is", () => {
  expect(after("FFF").wait(24 * 60 * MINUTE).isFailing).toBe(true);
  expect(after("AAF").wait(24 * 60 * MINUTE).isFailing).toBe(false);
});

test("it fails since the first failure after the last acceptance", () => {
  const judged = after("AAAAA").wait(MINUTE).add("FFF", MINUTE);
  expect(judged.recent.failingSinceMs(judged.nowMs)).toBe(judged.nowMs - 2 * MINUTE);
  const since = judged.nowMs - 2 * MINUTE;
  judged.add("AFAFF");
  expect(judged.recent.failingSinceMs(judged.nowMs)).toBe(since);
});

test("attempts count for a minute, in spans of 5 s; after a recovery only what came since", () => {
  const judged = after("FFAF");
  expect(judged.counted).toEqual([3, 4]);
  expect(judged.wait(50 * SECOND).counted).toEqual([3, 4]);
  expect(judged.wait(10 * SECOND).counted).toEqual([0, 0]);
  const recovered = after("F".repeat(10), 100).add("A".repeat(41), 100);
  expect(recovered.isFailing).toBe(false);
  expect(recovered.counted).toEqual([0, 41]);
});

test("a clock that is put back by hours, or forward, leaves nothing behind", () => {
  const judged = after("F".repeat(30), 100);
  judged.wait(-5 * 60 * MINUTE).add("A".repeat(20), 500);
  expect(judged.isFailing).toBe(false);
  expect(judged.counted).toEqual([0, 20]);
  expect(judged.wait(5 * 60 * MINUTE).counted).toEqual([0, 0]);
});

test("property: a constant share, evenly spread, changes the verdict once at most", () => {
  const inputs = fc.record({
    share: fc.double({ min: 0, max: 1, noNaN: true }),
    everyMs: fc.integer({ min: 20, max: 2 * MINUTE }),
    first: fc.double({ min: 0, max: 1, noNaN: true }),
  });
  fc.assert(
    fc.property(inputs, ({ share, everyMs, first }) => {
      const judged = new Judged();
      const attempt = (at: number) =>
        judged.attempt(
          Math.floor(first + at * share) === Math.floor(first + (at - 1) * share),
          everyMs,
        );
      const warmUp = Math.max(10, Math.ceil(MINUTE / everyMs));
      for (let at = 0; at < warmUp; at += 1) attempt(at);
      judged.changes = 0;
      for (let at = warmUp; at < 2 * warmUp + 100; at += 1) attempt(at);
      expect(judged.changes).toBeLessThanOrEqual(1);
    }),
    { numRuns: costlyInputs(20) },
  );
});

test("property: failures by chance, five attempts a second or more, change it once at most", () => {
  const inputs = fc.record({
    share: fc.double({ min: 0, max: 1, noNaN: true }),
    everyMs: fc.integer({ min: 20, max: 200 }),
    seed: fc.integer({ min: 1, max: 2 ** 31 - 2 }),
  });
  fc.assert(
    fc.property(inputs, ({ share, everyMs, seed }) => {
      const judged = new Judged();
      let state = seed;
      const attempt = () => {
        state = (state * 48_271) % 2_147_483_647;
        judged.attempt(state / 2_147_483_647 >= share, everyMs);
      };
      for (let at = 0; at * everyMs < MINUTE; at += 1) attempt();
      judged.changes = 0;
      for (let at = 0; at * everyMs < 3 * MINUTE; at += 1) attempt();
      expect(judged.changes).toBeLessThanOrEqual(1);
    }),
    { numRuns: costlyInputs(100) },
  );
});
