// A short `npm run drill`: three problems of destinations at the same time in one program, on the Kafka of the tests.
// The reports are compared with the truth.

import { expect, test } from "vitest";
import { drill } from "../drill/drill.ts";
import { PROBLEMS } from "../drill/problems.ts";
import { BROKERS } from "../support/kit/kafka.ts";

/** The times of signals apply to an idle machine. */
const PATIENCE = 5;

test.concurrent("what is shown for a destination that is down, rejects or is disabled is true before, meanwhile and after", async ({
  expect,
}) => {
  const names = ["down", "refuses", "disabled"];
  const healthProblems = PROBLEMS.filter(({ name }) => names.includes(name));
  expect(healthProblems).toHaveLength(names.length);
  const rows = await drill(healthProblems, {
    brokers: BROKERS,
    patience: PATIENCE,
    settledLooks: 2,
    say: () => undefined,
    hooks: {
      onFine: ({ admin }) => hear("fine", admin),
      onHealthProblem: ({ admin }, there) => hear(`problem ${there.join(" ")}`, admin),
      onMended: ({ admin }, there) => hear(`mended ${there.join(" ")}`, admin),
    },
  });
  expect(rows.filter(({ ok }) => !ok)).toEqual([]);
  for (const name of [...names, "well", "idle"]) {
    for (const phase of ["before", "during", "mended"]) {
      const found = rows.filter((row) => row.about === name && row.phase === phase);
      expect(found.length, `${name}, ${phase}`).toBeGreaterThan(5);
    }
  }
  expect(heard).toEqual(["fine", `problem ${names.join(" ")}`, `mended ${names.join(" ")}`]);
}, 900_000);

const heard: string[] = [];

/** Called while the program runs. */
async function hear(what: string, admin: string): Promise<void> {
  expect((await fetch(`http://${admin}/readyz`)).status).toBe(200);
  heard.push(what);
}

test.concurrent("what is said of a full disk of the audience store is true, before, meanwhile and after", async ({
  expect,
  skip,
}) => {
  const healthProblems = PROBLEMS.filter(({ name }) => name === "full-disk");
  const said: string[] = [];
  const rows = await drill(healthProblems, {
    brokers: BROKERS,
    patience: PATIENCE,
    settledLooks: 2,
    say: (line) => said.push(line),
  });
  const skipped = said.find((line) => line.includes("skipped:"));
  if (skipped !== undefined) return skip(skipped);
  expect(rows.filter(({ ok }) => !ok)).toEqual([]);
  for (const phase of ["during", "mended"]) {
    const found = rows.filter((row) => row.about === "full-disk" && row.phase === phase);
    expect(found.length, phase).toBeGreaterThan(5);
  }
}, 900_000);
