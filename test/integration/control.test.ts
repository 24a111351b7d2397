// A short `npm run test:control` on the Kafka of the tests: in two processes under load, destinations are paused,
// resumed, retried, drained, canceled and replayed, and each step is compared with the ledger.

import { expect, test } from "vitest";
import { control } from "../control/control.ts";
import { BROKERS } from "../support/kit/kafka.ts";

/** The times of the script apply to an idle machine. */
const PATIENCE = 5;

test("each step of controlling two processes is as in the ledger", async () => {
  const said: string[] = [];
  const say = (line: string) => said.push(line);
  const rows = await control({ brokers: BROKERS, patience: PATIENCE, isShort: true, say });
  expect(
    rows.filter(({ ok }) => !ok),
    said.join("\n"),
  ).toEqual([]);
  const steps = [...Map.groupBy(rows, ({ step }) => step)].map(([step, of]) => [step, of.length]);
  expect(steps).toEqual([
    ["pause", 14],
    ["retry", 9],
    ["cancel", 9],
    ["replay", 5],
    ["trace", 5],
  ]);
}, 600_000);
