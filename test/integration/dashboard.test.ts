// After the demonstration has run, there are values for the queries of the dashboard.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, test } from "vitest";

import { ROWS } from "../../tools/dashboard/render.ts";

const ROOT = join(import.meta.dirname, "../..");

/** These have no values while everything works, or they are not part of the demonstration. */
const OF_PROBLEMS = [
  // Shown since the first reading that found waiting records. The last calls of the demonstration have arrived.
  "switchyard_deliveries_awaiting_retry",
  "switchyard_deliveries_next_expiry_timestamp_seconds",
  "switchyard_ingest_calls_total",
  "switchyard_ingest_requests_total",
  // Only of destinations with a strict order.
  "switchyard_order_blocked_users",
  "switchyard_order_waiting_deliveries",
  "switchyard_produce_errors_total",
  "switchyard_topic_not_writable_since_timestamp_seconds",
];

test("each of its metrics is on /metrics, and has values there", async () => {
  const queries = ROWS.flatMap(({ panels }) =>
    panels.flatMap((panel) => (panel.look === "text" ? [] : Object.values(panel.queries))),
  );
  const used = new Set(
    queries.flatMap((expr) => expr.match(/\b(?:switchyard|process|nodejs)_\w+(?=\{)/g) ?? []),
  );
  expect(used.size).toBeGreaterThan(30);
  const metrics = await metricsOfDemonstration();
  const declared = (name: string) => metrics.includes(`# TYPE ${name.replace(/_bucket$/, "")} `);
  const hasValues = (name: string) => new RegExp(`^${name}[{ ]`, "m").test(metrics);
  expect([...used].filter((name) => !declared(name))).toEqual([]);
  const empty = [...used].filter((name) => !(hasValues(name) || OF_PROBLEMS.includes(name)));
  expect(empty).toEqual([]);
});

async function metricsOfDemonstration(): Promise<string> {
  const demo = spawn(process.execPath, ["tools/demo/main.ts"], {
    cwd: ROOT,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const lines: string[] = [];
  try {
    for await (const line of createInterface(demo.stdout)) {
      lines.push(line);
      const [, url] = /Metrics: (http\S+)/.exec(line) ?? [];
      if (url !== undefined) return await (await fetch(url)).text();
    }
    throw new Error(`the demonstration ended:\n${lines.join("\n")}`);
  } finally {
    demo.kill("SIGTERM");
    demo.stdout.resume();
    if (demo.exitCode === null) await once(demo, "exit");
  }
}
