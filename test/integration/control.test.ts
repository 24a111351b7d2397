// `npm run test:control`, cut down, on the tests' Kafka: two processes under load are paused, resumed,
// retried, drained, cancelled, replayed and traced, and each step is compared with the ledger.

import { expect, test } from "vitest";

import { control } from "../control/control.ts";

const brokers = (process.env.SWITCHYARD_KAFKA_BROKERS ?? "").split(",");
/** The script has its times on a machine that does nothing else. */
const PATIENCE = 5;

test("each step of controlling two processes is as in the ledger", async () => {
  const said: string[] = [];
  const say = (line: string) => said.push(line);
  const rows = await control({ brokers, patience: PATIENCE, isShort: true, say });
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
