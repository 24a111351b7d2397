// Every value set of the chart, with Helm 3 and 4: it passes the linter, is rendered the same each time, and its
// configuration is accepted by the program.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { parse } from "yaml";

import { loadConfig } from "../../src/config/load.ts";
import { issue } from "../support/build/certificates.ts";
import {
  CHART,
  HELM_MAJORS,
  helm,
  NO_HELM,
  only,
  rendered,
  resources,
  resourcesOf,
  VALUE_SETS,
  valuesFile,
} from "../support/chart/helm.ts";

beforeEach((context) => {
  if (NO_HELM !== null) context.skip(NO_HELM);
});

const folder = mkdtempSync(join(tmpdir(), "switchyard-chart-"));
afterAll(() => rmSync(folder, { recursive: true }));

test("there is a value set for each feature", () => {
  expect(VALUE_SETS.length).toBeGreaterThan(15);
});

describe.each(HELM_MAJORS)("Helm %i", (major) => {
  test("is that version", async () => {
    expect((await helm(major, "version", "--short")).out).toMatch(new RegExp(`^v${major}\\.`));
  });

  test.each(VALUE_SETS)("lints %s strictly", async (set) => {
    const ran = await helm(major, "lint", "--strict", CHART, "--values", valuesFile(set));
    expect(ran.out + ran.err).toContain("1 chart(s) linted, 0 chart(s) failed");
    expect(ran.status).toBe(0);
  });

  test("packages it without tests and value sets", async () => {
    const ran = await helm(major, "package", CHART, "--destination", folder);
    expect(ran).toMatchObject({ status: 0 });
    const { version } = parse(readFileSync(join(CHART, "Chart.yaml"), "utf8"));
    const archive = join(folder, `switchyard-${version}.tgz`);
    const listed = gunzipSync(readFileSync(archive)).toString("latin1");
    expect(listed).toContain("switchyard/templates/tests/ready.yaml");
    expect(listed).not.toMatch(/switchyard\/(?:ci|tests)\//);
    expect(listed).toContain(readFileSync("LICENSE", "utf8"));
  });
});

/** Removes empty lines, whose number differs between the versions of Helm. */
function withoutGaps(text: string): string {
  return `${text.trim()}\n`.replace(/\n+---\n/g, "\n---\n");
}

test.each(VALUE_SETS)("%s is rendered the same by both, and each time", async (set) => {
  const [three, four, again] = await Promise.all([
    rendered(set, 3),
    rendered(set, 4),
    rendered(set, 4),
  ]);
  expect(withoutGaps(four)).toBe(withoutGaps(three));
  expect(again).toBe(four);
  const all = resourcesOf(four);
  const ids = all.map((r) => `${r.apiVersion} ${r.kind} ${r.metadata.name}`);
  expect(new Set(ids).size).toBe(ids.length);
  // No value is left empty, and no name is too long for Kubernetes.
  expect(four).not.toMatch(/<no value>|%!|<nil>|^ *[\w.-]+: null$/m);
  expect(all.filter((r) => r.metadata.name.length > 63)).toEqual([]);
});

const { key, cert } = issue({ name: "switchyard" });

/** Returns the configuration of a pod, with each file that it names in a local folder. */
function standIns(text: string): string {
  const named = /\/run\/secrets\/[\w./-]+/g;
  return text.replace(named, (path) => {
    const file = join(folder, path.replaceAll("/", "_"));
    writeFileSync(
      file,
      path.endsWith("key") ? key : path.endsWith("crt") ? cert : "a-secret-of-16-bytes",
    );
    return file;
  });
}

test.each(VALUE_SETS.filter((set) => set !== "existing-configmap"))(
  "the product takes the configuration of %s",
  async (set) => {
    const all = await resources(set);
    const map = all.find((r) => r.kind === "ConfigMap" && r.metadata.name.endsWith("-config"));
    const file = join(folder, `${set}.yaml`);
    writeFileSync(file, standIns(map?.data["switchyard.yaml"]));
    const pod = all.find((r) => /^(Deployment|StatefulSet)$/.test(r.kind))?.spec.template.spec;
    const env = Object.fromEntries(
      pod.containers[0].env.map(({ name, value }: { name: string; value?: string }) => {
        return [name, value ?? "a-secret"];
      }),
    );
    const loaded = loadConfig({ file, env });
    expect(loaded).toMatchObject({ kind: "config", warnings: [] });
    expect(loaded).toMatchObject({ config: { ingest: { port: 8080 }, admin: { port: 9464 } } });
  },
);

test("the schema takes every setting of the example, and the ConfigMap holds it unchanged", async () => {
  const example = parse(readFileSync(join(CHART, "../../../examples/switchyard.yaml"), "utf8"));
  const values = join(folder, "example-values.yaml");
  // The ports of the pod are set by the chart.
  writeFileSync(
    values,
    JSON.stringify({ config: { ...example, kafka: { ...example.kafka, brokers: ["k:9092"] } } }),
  );
  const all = await resources("defaults", "--values", values);
  const text = only(all, "ConfigMap").data["switchyard.yaml"];
  expect(parse(text)).toEqual({ ...example, kafka: { ...example.kafka, brokers: ["k:9092"] } });
});
