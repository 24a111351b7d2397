// Runs the tests of the alert rules (deploy/prometheus/tests) with Prometheus' tool, and checks that the tool can parse
// the queries of the dashboard and of docs/metrics.md.

import { execFile } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";

import { ROWS } from "../../tools/dashboard/render.ts";
import { findPrometheus } from "../../tools/prometheus/find.ts";
import { QUERIES } from "../support/project/metric-queries.ts";

const execute = promisify(execFile);
const RULES = join(import.meta.dirname, "../../deploy/prometheus");
const TESTS = readdirSync(join(RULES, "tests"));

const found = await findPrometheus(new AbortController().signal, () => undefined);
const folder = found.kind === "folder" ? found.folder : null;

/** Returns its exit status and its whole output. */
async function promtool(...args: readonly string[]): Promise<{ status: number; said: string }> {
  try {
    const { stdout, stderr } = await execute(join(folder ?? "", "promtool"), args);
    return { status: 0, said: stdout + stderr };
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
    return { status: code, said: stdout + stderr };
  }
}

const title = found.kind === "none" ? ` (left out: ${found.why})` : "";

test.skipIf(folder === null)(`Prometheus takes the rules${title}`, async () => {
  expect(await promtool("check", "rules", join(RULES, "rules.yaml"))).toMatchObject({ status: 0 });
});

test.skipIf(folder === null).each(TESTS)(
  `%s: each alert fires, and stays quiet${title}`,
  async (name) => {
    const { status, said } = await promtool("test", "rules", join(RULES, "tests", name));
    expect(said).not.toContain("FAILED");
    expect(status).toBe(0);
  },
);

test.skipIf(folder === null)(`a rule that no longer fires is found${title}`, async () => {
  const copy = mkdtempSync(join(tmpdir(), "switchyard-rules-"));
  try {
    cpSync(RULES, copy, { recursive: true });
    const rules = readFileSync(join(copy, "rules.yaml"), "utf8");
    const planted = rules.replaceAll(
      "switchyard_kafka_broker_reachable",
      "switchyard_kafka_conected",
    );
    writeFileSync(join(copy, "rules.yaml"), planted);
    const { status, said } = await promtool("test", "rules", join(copy, "tests/kafka.yaml"));
    expect(status).toBe(1);
    expect(said).toContain("alertname: SwitchyardKafkaUnreachable");
  } finally {
    rmSync(copy, { recursive: true });
  }
});

test.skipIf(folder === null)(`every query of pages and panels can be read${title}`, async () => {
  const panels = ROWS.flatMap(({ panels: own }) =>
    own.flatMap((panel) => (panel.look === "text" ? [] : Object.values(panel.queries))),
  );
  const rules = [...panels, ...QUERIES].map((query, at) => ({
    record: `query:${at}`,
    expr: query.replaceAll(/\$__\w+/g, "5m"),
  }));
  expect(rules.length).toBeGreaterThan(60);
  const copy = mkdtempSync(join(tmpdir(), "switchyard-queries-"));
  try {
    const file = join(copy, "rules.yaml");
    writeFileSync(file, JSON.stringify({ groups: [{ name: "queries", rules }] }));
    expect(await promtool("check", "rules", file)).toMatchObject({ status: 0 });
    const broken = [{ record: "query:0", expr: "sum by (destination" }];
    writeFileSync(file, JSON.stringify({ groups: [{ name: "queries", rules: broken }] }));
    expect(await promtool("check", "rules", file)).toMatchObject({ status: 1 });
  } finally {
    rmSync(copy, { recursive: true });
  }
});
