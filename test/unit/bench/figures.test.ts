// The tables of benches, and the cases in which a figure counts as worse than on another commit.

import { expect, test } from "vitest";

import {
  compareRuns,
  comparisonTable,
  type Figure,
  figuresIn,
  isRegression,
} from "../../../bench/figures.ts";

const OUTPUT = `
## route

Node v24, load average 0.7 before.

| calls go to | program | CPU ms / 1,000 calls | ratio | calls / s | peak MB |
| --- | --- | --- | --- | --- | --- |
| (a) all five | plain kafkajs loop | 106.2 | 1.00 | 10976 | 376 |
| (a) all five | Switchyard route | 10.9 | 0.10 | 68123 | 248 |

| ratio of CPU | median | of the rounds |
| --- | --- | --- |
| undici / all stages | 0.83 | 0.73 to 0.92 |
`;

test("CPU, units a second and memory of each row are read, ratios and other tables are not", () => {
  const ours = "(a) all five, Switchyard route";
  expect(figuresIn(OUTPUT).filter(({ isYardstick }) => !isYardstick)).toEqual([
    { name: `${ours}: CPU ms / 1,000 calls`, value: 10.9, isCost: true, isYardstick: false },
    { name: `${ours}: calls / s`, value: 68_123, isCost: false, isYardstick: false },
    { name: `${ours}: peak MB`, value: 248, isCost: true, isYardstick: false },
  ]);
  expect(figuresIn(OUTPUT)).toHaveLength(6);
});

test("a number in the first column tells rows apart, and ratios of CPU are not compared", () => {
  const table = `
| calls a batch | program | CPU ms / 1,000 | CPU ratio |
| --- | --- | --- | --- |
| 20 | Switchyard ingest | 6.8 | 0.74 |
| 100 | Switchyard ingest | 4.9 | 0.65 |
`;
  expect(figuresIn(table).map(({ name, value }) => [name, value])).toEqual([
    ["20 calls a batch, Switchyard ingest: CPU ms / 1,000", 6.8],
    ["100 calls a batch, Switchyard ingest: CPU ms / 1,000", 4.9],
  ]);
});

function runs(values: readonly number[], kind: Partial<Figure> = {}): Figure[][] {
  return values.map((value) => [{ name: "CPU", value, isCost: true, isYardstick: false, ...kind }]);
}

const STEADY = [100, 102, 99, 101, 100];
test.each<[string, number[], Partial<Figure>, boolean]>([
  ["20 % more CPU", STEADY.map((value) => value * 1.2), {}, true],
  ["5 % more CPU", STEADY.map((value) => value * 1.05), {}, false],
  ["less CPU", STEADY.map((value) => value * 0.7), {}, false],
  ["20 % more, lost in noise", [70, 160, 80, 170, 121], {}, false],
  ["20 % fewer calls a second", STEADY.map((value) => value / 1.25), { isCost: false }, true],
  ["more calls a second", STEADY.map((value) => value * 1.5), { isCost: false }, false],
  [
    "20 % more CPU of a yardstick",
    STEADY.map((value) => value * 1.2),
    { isYardstick: true },
    false,
  ],
])("%s", (_what, now, kind, expected) => {
  const [row] = compareRuns(runs(STEADY, kind), runs(now, kind));
  if (row === undefined) throw new Error("nothing was compared");
  expect(isRegression(row, now.length)).toBe(expected);
  expect(comparisonTable([row], now.length).includes("REGRESSION")).toBe(expected);
});

test("one round is never sure, and a figure of one commit alone is omitted", () => {
  const [row] = compareRuns(runs([100]), runs([200]));
  expect(row?.ratio.value).toBe(2);
  expect(row === undefined || isRegression(row, 1)).toBe(false);
  expect(compareRuns(runs([100], { name: "old" }), runs([100]))).toEqual([]);
});
