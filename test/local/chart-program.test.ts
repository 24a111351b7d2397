// The containers of the chart, started with the arguments and the environment that Kubernetes would pass, with the
// program of this checkout. No Kafka responds, so each of them ends.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeEach, expect, test } from "vitest";

import { NO_HELM, only, type Resource, resources } from "../support/chart/helm.ts";

beforeEach((context) => {
  if (NO_HELM !== null) context.skip(NO_HELM);
});

const MAIN = join(import.meta.dirname, "../../src/main.ts");
const folder = mkdtempSync(join(tmpdir(), "switchyard-pod-"));
afterAll(() => rmSync(folder, { recursive: true }));

const OPTIONS = [
  "--set-json",
  'config.kafka.brokers=["127.0.0.1:1"]',
  "--set",
  "config.kafka.startTimeout=0ms,containerPorts.ingest=18080,containerPorts.admin=19464,topicsJob.enabled=true,topicsJob.wait=0ms",
];

async function run(container: Resource, configMap: Resource) {
  const file = join(folder, "switchyard.yaml");
  for (const [name, content] of Object.entries<string>(configMap.data)) {
    writeFileSync(join(folder, name), content);
  }
  const given = container.env.map(({ name, value }: { name: string; value: string }) => [
    name,
    value,
  ]);
  const env = { ...Object.fromEntries(given), SWITCHYARD_CONFIG: file, PATH: process.env.PATH };
  const child = spawn(process.execPath, [MAIN, ...container.args], { env });
  const [out, err, [status]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, "close"),
  ]);
  return { status, out: out + err };
}

test("every container's arguments are taken by the program", async () => {
  const all = await resources("defaults", ...OPTIONS);
  const configMap = only(all, "ConfigMap", "rel-switchyard-config");
  const main = await run(only(all, "Deployment").spec.template.spec.containers[0], configMap);
  expect(main.out).toContain('"port":19464');
  expect(main.out).toContain("127.0.0.1:1");
  expect(main.status).toBe(1);
  const topics = await run(only(all, "Job").spec.template.spec.containers[0], configMap);
  expect(topics.out).toContain("127.0.0.1:1");
  expect(topics.status).toBe(1);
  const check = await run(only(all, "Pod").spec.containers[0], configMap);
  expect(check).toMatchObject({ status: 0 });
});

test("files of teams are mounted next to the configuration, which includes them", async () => {
  const crm = {
    destinations: [{ id: "crm", type: "webhook", endpoints: [{ url: "https://crm.example.com" }] }],
  };
  const app = { sources: [{ id: "app", writeKey: "app-key", destinations: ["crm"] }] };
  const files = [
    "--set-json",
    `configFiles=${JSON.stringify({ "crm.yaml": crm, "app.yaml": app })}`,
  ];
  const all = await resources("defaults", ...OPTIONS, ...files);
  const configMap = only(all, "ConfigMap", "rel-switchyard-config");
  const check = await run(only(all, "Pod").spec.containers[0], configMap);
  expect(check.out).toMatch(/The configuration is valid.*: 2 sources, /);
});
