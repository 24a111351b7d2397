// Laws of src/router/ledger/tallies.ts.

import fc from "fast-check";
import { expect, test } from "vitest";
import { identityOf, Sum } from "../../../../src/router/ledger/tallies.ts";
import { costlyInputs } from "../../../support/build/generated-inputs.ts";

const numRuns = costlyInputs(500, 20_000);
const ids = fc.array(fc.string({ maxLength: 40 }), { maxLength: 40 });

function sumOf(messageIds: readonly string[]): Sum {
  const sum = new Sum();
  for (const messageId of messageIds) sum.add(identityOf(messageId, 0));
  return sum;
}

test("the order of records does not change a sum", () => {
  fc.assert(
    fc.property(ids, (some) => {
      expect(sumOf(some.toReversed())).toEqual(sumOf(some));
    }),
    { numRuns },
  );
});

test("a record that is lost, doubled or replaced changes a sum", () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.string(), { minLength: 2, maxLength: 40 }),
      fc.nat(),
      (some, at) => {
        const place = at % some.length;
        const [one = "", other = ""] = [some[place], some[(place + 1) % some.length]];
        const whole = sumOf(some);
        expect(sumOf(some.toSpliced(place, 1))).not.toEqual(whole);
        expect(sumOf([...some, one])).not.toEqual(whole);
        // The count is the same.
        expect(sumOf(some.with(place, `${one}x`))).not.toEqual(whole);
        expect(sumOf(some.with(place, other))).not.toEqual(whole);
      },
    ),
    { numRuns },
  );
});

test("a sum minus itself is zero", () => {
  fc.assert(
    fc.property(ids, ids, (some, others) => {
      const sum = sumOf([...some, ...others]);
      sum.addAll(sumOf(some), -1);
      expect(sum).toEqual(sumOf(others));
      sum.addAll(sumOf(others), -1);
      expect(sum.isZero).toBe(true);
    }),
    { numRuns },
  );
});

test("IDs that differ in a character, and their retries, have different hashes", () => {
  const hashes = new Set<string>();
  for (let number = 0; number < 10_000; number += 1) {
    for (const letter of ["m", "n", "o", ""]) {
      for (const retryCount of [0, 1, 2, 3, 109]) {
        const { high, low } = identityOf(`${letter}${number}`, 0, retryCount);
        hashes.add(`${high}/${low}`);
      }
    }
  }
  expect(hashes.size).toBe(200_000);
});
