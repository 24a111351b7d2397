import { expect, test } from "vitest";
import { findDifference, findSubset } from "../../../../src/operator/audit/find-subset.ts";
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

test.each([1, 2, 3, 4])("finds a candidate %i times of five", (times) => {
  const [first] = candidates.slice(7);
  if (first === undefined) throw new Error("there are no candidates");
  const same = Array.from({ length: 5 }, () => first);
  const wanted = sumOf(...Array.from({ length: times }, () => 7));
  expect(findSubset(same, wanted)).toEqual(same.slice(0, times));
});

test("does not try more than three of many", () => {
  expect(found(1, 2, 3, 4)).toBeNull();
  expect(found(...candidates.slice(4).map(({ number }) => number))).toBeNull();
});

test("finds more than three of fewer", () => {
  const few = findSubset(candidates.slice(0, 100), sumOf(1, 2, 3, 99));
  expect(few?.map(({ number }) => number)).toEqual([1, 2, 3, 99]);
});

test("finds nothing for a sum that has no records, but is not zero", () => {
  const sum = sumOf(1);
  sum.count = 0;
  expect(findSubset(candidates, sum)).toBeNull();
  sum.count = -1;
  expect(findSubset(candidates, sum)).toBeNull();
});

test.each([
  [[3, 77], []],
  [[], [150, 160]],
  [[3], [150]],
  [[3, 77], [150]],
  [[3], [150, 160]],
])("finds that %j were added and %j were subtracted", (plus, minus) => {
  const wanted = sumOf(...plus);
  wanted.addAll(sumOf(...minus), -1);
  const [first, others] = [candidates.slice(0, 100), candidates.slice(100)];
  const difference = findDifference(wanted, first, others);
  const numbers = (items: readonly { number: number }[] = []) => items.map(({ number }) => number);
  expect([numbers(difference?.plus), numbers(difference?.minus)]).toEqual([plus, minus]);
});

test("finds no difference if several were added and several were subtracted", () => {
  const wanted = sumOf(3, 77);
  wanted.addAll(sumOf(150, 160), -1);
  expect(findDifference(wanted, candidates.slice(0, 100), candidates.slice(100))).toBeNull();
});

test("finds all but a few that were added, and all but a few that were subtracted", () => {
  const [first, others] = [candidates.slice(0, 100), candidates.slice(100)];
  const [plus, minus] = [first.toSpliced(20, 2), others.toSpliced(7, 1)];
  const wanted = sumOf(...plus.map(({ number }) => number));
  wanted.addAll(sumOf(...minus.map(({ number }) => number)), -1);
  expect(findDifference(wanted, first, others)).toEqual({ plus, minus });
});
