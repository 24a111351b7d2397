/**
 * Runs `switchyard audit` as a contestant of `bench audit`, and prints its report with what the process used.
 *
 *   node bench/audit-work.ts audit --json ...
 */

import { processShell } from "../src/operator/connect/shell.ts";
import { runProgram } from "../src/program/cli/program.ts";
import { createMeter } from "./measure.ts";

export interface AuditRun extends ReturnType<ReturnType<typeof createMeter>["stop"]> {
  readonly report: {
    readonly calls: { readonly routed: number };
    readonly findings: readonly { readonly kind: string; readonly messageId: string }[];
    readonly unnamed: readonly string[];
  };
}

const meter = createMeter();
meter.start();
let json = "";
const shell = processShell(() => undefined);
const raw = (text: string) => {
  json += text;
};
const status = await runProgram(process.argv.slice(2), { ...shell, raw });
if (json === "") process.exit(status);
const report = JSON.parse(json) as AuditRun["report"];
process.stdout.write(`${JSON.stringify({ ...meter.stop(report.calls.routed), report })}\n`);
