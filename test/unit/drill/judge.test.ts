import { expect, test } from "vitest";

import { Judge } from "../../drill/judge.ts";

const ABOUT = { problem: "down", phase: "during", about: "down" };

function said(...values: readonly string[]) {
  return values.map((value) => ({
    signal: "readyz",
    said: value,
    truth: "names it",
    ok: value === "names it",
  }));
}

function judged(values: readonly string[], isAlways = false) {
  const judge = new Judge(1_000);
  for (const [at, comparison] of said(...values).entries()) {
    judge.take([comparison], 2_000 + at * 1_000);
  }
  return judge.rows(ABOUT, isAlways)[0];
}

test.each([
  ["became true", ["silent", "names it", "names it"], { ok: true, afterMs: 2_000 }],
  ["was never true", ["silent", "silent"], { ok: false, said: "silent", afterMs: null }],
  ["was true and is false", ["names it", "silent"], { ok: false, said: "silent", afterMs: 1_000 }],
  [
    "was false between two times that it was true",
    ["names it", "silent", "names it"],
    { ok: false, said: "silent" },
  ],
])("a signal that %s", (_name, values, row) => {
  expect(judged(values)).toMatchObject({ ...ABOUT, signal: "readyz", truth: "names it", ...row });
});

test.each([
  [["names it", "names it"], true],
  [["silent", "names it"], false],
  [["names it", "silent", "names it"], false],
])("a signal that has to be true all the time: %j", (values, ok) => {
  expect(judged(values, true)).toMatchObject({ ok });
});

test("what is false now is reported", () => {
  const judge = new Judge(0);
  const [first, last] = said("silent", "names it");
  if (first === undefined || last === undefined) throw new Error("two are made");
  judge.take([first, { ...last, signal: "metrics" }], 1);
  expect(judge.wrong).toEqual([first]);
  judge.take([last], 2);
  expect(judge.wrong).toEqual([]);
});
