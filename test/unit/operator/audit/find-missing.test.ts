import { expect, test } from "vitest";
import { findMissing } from "../../../../src/operator/audit/find-missing.ts";
import { sumOf } from "../../../../src/operator/audit/find-subset.ts";
import { identityOf, Sum } from "../../../../src/router/ledger/tallies.ts";

const candidate = (name: string) => ({ name, ...identityOf(name, 0) });

function negative(...names: string[]): Sum {
  const sum = new Sum();
  sum.addAll(sumOf(names.map(candidate)), -1);
  return sum;
}

function found(all: Parameters<typeof findMissing<ReturnType<typeof candidate>>>[0]) {
  const { missing, unnamed } = findMissing(all, null);
  return { missing: missing.map(({ name }) => name), unnamed };
}

test("what is missing of each ledger record is named", () => {
  const all = [
    { rest: sumOf([candidate("a")]), candidates: ["a", "b"].map(candidate) },
    { rest: sumOf([candidate("c"), candidate("d")]), candidates: ["c", "d"].map(candidate) },
  ];
  expect(found(all)).toEqual({ missing: ["a", "c", "d"], unnamed: 0 });
});

test("nothing is missing if another ledger record has as much too many", () => {
  const all = [
    { rest: negative("a", "b", "c", "d", "e"), candidates: [] },
    {
      rest: sumOf(["a", "b", "c", "d", "e"].map(candidate)),
      candidates: ["a", "b"].map(candidate),
    },
  ];
  expect(found(all)).toEqual({ missing: [], unnamed: 0 });
});

test("what is missing beside that is named", () => {
  const all = [
    { rest: negative("a"), candidates: [] },
    { rest: sumOf(["a", "b"].map(candidate)), candidates: ["a", "b", "c"].map(candidate) },
  ];
  expect(found(all)).toEqual({ missing: ["b"], unnamed: 0 });
});
