// A property ends after its own time limit, and fails if this was too early to find anything.

import fc from "fast-check";
import { expect, test } from "vitest";

import { reportProperty } from "../../../support/vitest/property-limit.ts";

/** Waits for longer than a property may take. */
function wait(): void {
  const endsAtMs = Date.now() + 5;
  while (Date.now() < endsAtMs);
}

test.each([
  { seen: 1, asked: 500, isEnough: true },
  { seen: 0, asked: 500, isEnough: false },
  { seen: 10, asked: 5_000, isEnough: true },
  { seen: 9, asked: 5_000, isEnough: false },
])(
  "ended by its time after $seen of $asked inputs: enough is $isEnough",
  ({ seen, asked, isEnough }) => {
    const run = fc.check(
      fc.property(fc.nat(), () => undefined),
      { numRuns: 1 },
    );
    const details = {
      ...run,
      interrupted: true,
      numRuns: seen,
      runConfiguration: { numRuns: asked },
    };
    const report = () => reportProperty(details);
    if (isEnough) expect(report).not.toThrow();
    else expect(report).toThrow(`${seen} of ${asked} inputs`);
  },
);

test("a property that takes too long for its inputs is a failure", async () => {
  const many = { interruptAfterTimeLimit: 1, numRuns: 5_000 };
  const message = /\b[01] of 5000 inputs; 10 are enough/;
  expect(() => fc.assert(fc.property(fc.nat(), wait), many)).toThrow(message);
  const asynchronous = fc.asyncProperty(fc.nat(), () => Promise.resolve(wait()));
  await expect(fc.assert(asynchronous, many)).rejects.toThrow(message);
});

test("an input that fails is reported, with its cause", () => {
  const cause = new Error("it is 7");
  const fails = fc.property(fc.constant(7), () => {
    throw cause;
  });
  expect(() => fc.assert(fails)).toThrow(expect.objectContaining({ cause }));
  expect(() => fc.assert(fails)).toThrow(/seed: .*Counterexample: \[7\]/s);
});

test("properties have such a time unless they say otherwise", () => {
  expect(fc.readConfigureGlobal()).toMatchObject({ markInterruptAsFailure: false });
  expect(fc.readConfigureGlobal().interruptAfterTimeLimit).toBeGreaterThan(0);
});
