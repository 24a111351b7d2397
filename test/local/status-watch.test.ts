// `status --watch` on a terminal (`script` of util-linux): the page, Ctrl-C, and the terminal after that.

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { stripVTControlCharacters } from "node:util";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { createMetrics } from "../../src/base/telemetry/instruments.ts";
import { startAdmin } from "../../src/program/run/admin-server.ts";
import { createHealth } from "../../src/program/run/health.ts";
import { DestinationHealth } from "../../src/router/deliver/destination-health.ts";
import { statusOf } from "../../src/router/deliver/status.ts";
import { freePort } from "../../tools/kafka/free-port.ts";
import { resultAt, webhookDestination } from "../support/build/webhook-destination.ts";

const MAIN = join(import.meta.dirname, "../../src/main.ts");
const folder = mkdtempSync(join(tmpdir(), "switchyard-watch-"));
const file = join(folder, "switchyard.yaml");
const children = new Set<ChildProcess>();
afterAll(() => {
  for (const child of children) child.kill("SIGKILL");
  rmSync(folder, { recursive: true });
});

/** Kafka is unreachable, so the page also shows this. */
writeFileSync(
  file,
  `kafka: { brokers: ["127.0.0.1:${await freePort()}"] }
sources: [{ id: web, destinations: [crm] }]
destinations: [{ id: crm, type: webhook, endpoints: [{ url: "https://crm.example.com/hook" }] }]
`,
);

/** Serves a process whose only destination has been failing since 09:00. */
async function failingProcess(): Promise<string> {
  const crm = webhookDestination({ urls: ["https://crm.example.com/hook"] });
  const condition = new DestinationHealth(crm, 0);
  condition.own(0);
  const result = { kind: "response", status: 410, retryAfter: null, durationMs: 1 } as const;
  const [endpoint] = crm.endpoints;
  const results = endpoint ? [resultAt(endpoint.key, result)] : [];
  condition.attempted({ delivery: { attempt: 0 }, results, endedAtMs: Date.UTC(2026, 2, 1, 9) });
  const status = () => ({
    version: "1.2.3",
    destinations: [statusOf(condition, null, [], Date.now())],
  });
  const sources = { health: createHealth(), metrics: createMetrics(), status };
  const admin = await startAdmin({ host: "127.0.0.1", port: 0 }, sources);
  onTestFinished(() => admin[Symbol.asyncDispose]());
  return `127.0.0.1:${admin.port}`;
}

function argsFor(admin: string): readonly string[] {
  return [MAIN, "status", "--watch", "--config", file, "--admin", admin];
}

const hasScript = spawnSync("script", ["--version"], { encoding: "utf8" }).stdout?.includes(
  "util-linux",
);

test.skipIf(!hasScript)(
  "it draws the page on the second screen, and leaves the first clean",
  async () => {
    const command = [process.execPath, ...argsFor(await failingProcess())].map(
      (each) => `'${each}'`,
    );
    const env = { ...process.env, TERM: "xterm", NO_COLOR: "1", COLUMNS: "", LINES: "" };
    const run = `stty rows 24 cols 300; exec ${command.join(" ")}`;
    const child = spawn("script", ["-q", "-e", "-f", "-c", run, "/dev/null"], { env });
    children.add(child);
    let shown = "";
    child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
      shown += chunk;
    });
    const plain = () => stripVTControlCharacters(shown);
    await expect.poll(plain).toContain("failing since 2026-03-01 09:00:00");
    expect(plain()).toContain("crm[1] crm.example.com");
    await expect.poll(plain).toContain("Kafka is unreachable: ");
    expect(shown.indexOf("\u001b[?1049h")).toBeGreaterThanOrEqual(0);
    // The page is redrawn.
    const pages = () => shown.split("Press Ctrl-C to stop.").length - 1;
    const before = pages();
    await expect.poll(pages).toBeGreaterThan(before);
    child.stdin.write("\u0003");
    const status = await new Promise((resolve) => child.once("close", resolve));
    expect(status).toBe(0);
    expect(shown.trimEnd().endsWith("\u001b[?25h\u001b[?1049l")).toBe(true);
    // Nothing was written to the main screen.
    expect(shown.slice(0, shown.indexOf("\u001b[?1049h")).trim()).toBe("");
  },
);

test("the admin ports of the configuration are read, and what only Kafka has is unknown because of it", async () => {
  const named = join(folder, "named.yaml");
  const admin = await failingProcess();
  writeFileSync(named, `${readFileSync(file, "utf8")}console: { adminAddresses: ["${admin}"] }\n`);
  const args = [MAIN, "status", "--config", named, "--kafka-timeout", "1s"];
  // Tests on Kafka set the variable for the whole run, and it takes precedence over the file.
  const env = { ...process.env, SWITCHYARD_KAFKA_BROKERS: "127.0.0.1:1" };
  const child = spawn(process.execPath, args, { env });
  children.add(child);
  const closed = new Promise((resolve) => child.once("close", resolve));
  const [out, status] = await Promise.all([text(child.stdout), closed]);
  expect(status).toBe(1);
  expect(out).toContain("failing since 2026-03-01 09:00:00");
  expect(out).toContain("Kafka is unreachable: ");
  expect(out).toContain("AWAITING RETRY are unknown, because Kafka is unreachable.");
  expect(out).not.toMatch(/too many records|--admin/);
});

test("without a terminal it is an error that says what to do", async () => {
  const child = spawn(process.execPath, argsFor("127.0.0.1:1"));
  children.add(child);
  const closed = new Promise((resolve) => child.once("close", resolve));
  const [out, err, status] = await Promise.all([text(child.stdout), text(child.stderr), closed]);
  expect({ out, status }).toEqual({ out: "", status: 2 });
  expect(err).toBe(
    "--watch: standard output is not a terminal. Without --watch the status is printed once.\n",
  );
});
