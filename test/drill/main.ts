/**
 * `npm run drill`: causes each problem on a real cluster, and compares the program's signals with the truth. If
 * Prometheus is installed or can be downloaded, it scrapes the program, and the alerts that fire are also compared.
 *
 *   npm run drill                          all problems
 *   npm run drill -- --only down,slow      only these problems
 *   npm run drill -- --list                names and descriptions of the problems
 *   npm run drill -- --patience 3          signals may take three times as long, on a busy machine
 *
 * The exit status is 1 if a signal was wrong, and 2 for invalid usage.
 */

import { table } from "../../src/base/words/table.ts";
import { startKafka } from "../../tools/kafka/start.ts";
import { findPrometheus } from "../../tools/prometheus/find.ts";
import {
  flagsOf,
  oneOf,
  PATIENCE,
  patienceOf,
  printRows,
  runScript,
  say,
} from "../support/script/script.ts";
import { AlertWatch } from "./alerts.ts";
import { drill, drillTable } from "./drill.ts";
import { PROBLEMS } from "./problems.ts";

const SETTLED_LOOKS = 3;
const OPTIONS = {
  only: { type: "string" },
  list: { type: "boolean", default: false },
  patience: PATIENCE,
} as const;

await runScript(async () => {
  const { only, list, patience: text } = flagsOf({ options: OPTIONS }).values;
  if (list) {
    process.stdout.write(
      table(
        ["PROBLEM", "IS"],
        PROBLEMS.map((each) => [each.name, each.summary]),
      ),
    );
    return 0;
  }
  const healthProblems =
    only?.split(",").map((name) => oneOf(PROBLEMS, name, "--only")) ?? PROBLEMS;
  const patience = patienceOf(text);
  await using kafka = await startKafka({ log: say });
  const found = await findPrometheus(new AbortController().signal, say);
  if (found.kind === "none") say(`alerts are skipped: ${found.why}`);
  await using alerts = found.kind === "folder" ? new AlertWatch(found.folder, patience, say) : null;
  const signals = await drill(healthProblems, {
    brokers: kafka.brokers,
    patience,
    settledLooks: SETTLED_LOOKS,
    say,
    ...(alerts !== null && { hooks: alerts.hooks }),
  });
  const rows = [...signals, ...(alerts?.rows ?? [])];
  return printRows(drillTable(rows), rows, "signals were true");
});
