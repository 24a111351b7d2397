import { expect, test } from "vitest";
import { findSubset } from "../../../../src/operator/audit/find-subset.ts";
import { identityOf, Sum } from "../../../../src/router/ledger/tallies.ts";

const candidates = Array.from({ length: 200 }, (_, number) => ({
  number,
  ...identityOf(`m${number}`, 0),
}));

function sumOf(...numbers: number[]): Sum {
  const sum = new Sum();
  for (const number of numbers) sum.add(identityOf(`m${number}`, 0));
  return sum;
}

function found(...numbers: number[]): readonly number[] | null {
  return findSubset(candidates, sumOf(...numbers))?.map(({ number }) => number) ?? null;
}

test.each([[[]], [[0]], [[199]], [[7, 150]], [[3, 77, 198]]])("finds %j", (numbers) => {
  expect(found(...numbers)).toEqual(numbers);
});

test("finds all candidates, however many", () => {
  const all = candidates.map(({ number }) => number);
  expect(found(...all)).toEqual(all);
});

test("finds nothing if a record is not among the candidates", () => {
  expect(found(200)).toBeNull();
  expect(found(1, 200)).toBeNull();
  expect(findSubset(candidates.slice(0, 2), sumOf(0, 200))).toBeNull();
});

test("finds all but three", () => {
  const most = candidates.map(({ number }) => number).filter((at) => ![0, 77, 199].includes(at));
  expect(found(...most)).toEqual(most);
});

test("does not try more than three of many", () => {
  expect(found(1, 2, 3, 4)).toBeNull();
  expect(found(...candidates.slice(4).map(({ number }) => number))).toBeNull();
});

test("finds nothing for a sum that has no records, but is not zero", () => {
  const sum = sumOf(1);
  sum.count = 0;
  expect(findSubset(candidates, sum)).toBeNull();
  sum.count = -1;
  expect(findSubset(candidates, sum)).toBeNull();
});
