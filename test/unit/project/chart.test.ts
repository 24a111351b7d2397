// The Helm chart and the rest of the project say the same.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { INGEST_PORT } from "../../../src/config/ingest-settings.ts";
import { kafkaSettings } from "../../../src/config/kafka-settings.ts";
import { ADMIN_PORT, CONSOLE_PORT } from "../../../src/config/settings.ts";
import { STAGE_NAMES, STAGES } from "../../../src/domain/stages.ts";
import { renderChartSchema } from "../../../tools/docs/chart-config.ts";
import { valuesTable } from "../../../tools/docs/chart-values.ts";

const CHART = join(import.meta.dirname, "../../../deploy/helm/switchyard");
const read = (path: string) => readFileSync(join(CHART, path), "utf8");
const chart = parse(read("Chart.yaml"));
const values = parse(read("values.yaml"));
const manifest = JSON.parse(read("../../../package.json"));

test("the chart installs this version", () => {
  expect(chart.appVersion).toBe(manifest.version);
  expect(chart.description).toBe(manifest.description);
  expect(chart.kubeVersion).toBe(">=1.27.0-0");
});

test("its icon is the one in its folder", () => {
  const [, base64 = ""] = chart.icon.split("data:image/svg+xml;base64,");
  expect(Buffer.from(base64, "base64").toString()).toBe(read("icon.svg").trim());
});

test("stages, ports and partitions are those of the product", () => {
  const { separate, ...stages } = values.stages;
  expect(separate).toBe(false);
  // The page has a value of its own, `console`.
  const inPods = STAGE_NAMES.filter((name) => STAGES[name].isDefault);
  expect(Object.keys(stages)).toEqual(inPods);
  expect(read("templates/_components.tpl")).toContain(`\n${inPods.join(",")}\n`);
  const ports = { ingest: INGEST_PORT, admin: ADMIN_PORT, console: CONSOLE_PORT };
  expect(values.containerPorts).toEqual(ports);
  const { partitions } = kafkaSettings.kind === "section" ? kafkaSettings.fields : {};
  const fallback = partitions?.kind === "setting" ? partitions.fallback : null;
  expect(read("templates/_validate.tpl")).toContain(`{{ default ${fallback} $configured }}`);
});

test("what runs in a pod lies where the image has it", () => {
  const dockerfile = read("../../Dockerfile");
  expect(dockerfile).toContain("VOLUME /app/state");
  expect(dockerfile).toContain("WORKDIR /app");
  expect(dockerfile).toContain("/usr/local/bin/switchyard");
  expect(read("templates/NOTES.txt")).toContain("-- switchyard status");
  const { runAsUser, runAsGroup } = values.podSecurityContext;
  expect(dockerfile).toContain(`\nUSER ${runAsUser}:${runAsGroup}\n`);
  expect(read("templates/_pod.tpl")).toContain("mountPath: /app/state");
});

test("each value has a comment, and one without is found", () => {
  expect(valuesTable("# One.\na: 1\nb:\n  # Two.\n  c: x\n")).toBe(
    '| Value | Default | Meaning |\n|---|---|---|\n| `a` | `1` | One. |\n| `b.c` | `"x"` | Two. |\n',
  );
  expect(() => valuesTable("# One.\na: 1\nb: 2\n")).toThrow("has no comment for b");
});

test("the schema knows every value and no other, to the last key", () => {
  const schema = JSON.parse(renderChartSchema());
  const keysOf = (
    value: unknown,
    node: { $ref?: string; properties?: object; additionalProperties?: unknown },
    path: string,
  ): string[] => {
    const found = node.$ref ? schema.definitions[node.$ref.replace("#/definitions/", "")] : node;
    if (typeof value !== "object" || value === null || Array.isArray(value)) return [];
    if (found.additionalProperties !== false) return [];
    const known = Object.keys(found.properties);
    const unknown = Object.keys(value).filter((key) => !known.includes(key));
    return [
      ...unknown.map((key) => `${path}${key}`),
      ...Object.entries(value).flatMap(([key, inner]) =>
        keysOf(inner, found.properties[key] ?? {}, `${path}${key}.`),
      ),
    ];
  };
  expect(keysOf(values, schema, "")).toEqual([]);
  expect(keysOf({ image: { repo: 1 } }, schema, "")).toEqual(["image.repo"]);
  // `global` is Helm's own; the rest has a default.
  expect(Object.keys(schema.properties).filter((key) => !(key in values))).toEqual(["global"]);
});

test("no value is a credential, and values that tools install are not those that must fail", () => {
  expect(JSON.stringify(values)).not.toMatch(/password|changeme|placeholder/i);
  expect(read("ci/must-fail.yaml")).toContain("# Each of these is rejected");
});
