/**
 * `npm run test:control`: pauses, resumes, retries, drains, cancels and replays on a real cluster, shows timelines,
 * with two processes under load, and compares each step with what was published and received.
 *
 *   npm run test:control                    all steps
 *   npm run test:control -- --short         the steps of `npm test`
 *   npm run test:control -- --patience 3    everything may take three times as long, on a busy machine
 *
 * Exit status 1 if anything differs from the ledger, 2 for wrong usage.
 */

import { startKafka } from "../../tools/kafka/start.ts";
import {
  flagsOf,
  PATIENCE,
  patienceOf,
  printRows,
  runScript,
  say,
} from "../support/script/script.ts";
import { control, controlTable } from "./control.ts";

await runScript(async () => {
  const options = { short: { type: "boolean", default: false }, patience: PATIENCE } as const;
  const { short: isShort, patience: text } = flagsOf({ options }).values;
  const patience = patienceOf(text);
  await using kafka = await startKafka({ log: say });
  const rows = await control({ brokers: kafka.brokers, patience, isShort, say });
  return printRows(controlTable(rows), rows, "lines are as the ledger says");
});
