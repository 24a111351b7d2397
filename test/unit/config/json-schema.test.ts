// The schema of the configuration file accepts what the program accepts, and finds typing errors.

import { readFileSync } from "node:fs";

import { Ajv } from "ajv";
import { expect, test } from "vitest";
import { parse } from "yaml";
import type { Node } from "../../../src/base/settings/setting.ts";
import { configurationSchema, configurationSchemaText } from "../../../src/config/json-schema.ts";
import { SETTINGS } from "../../../src/config/settings.ts";

const ajv = new Ajv({ strict: false, allErrors: true });
const isValid = ajv.compile(configurationSchema());

const EXAMPLE = parse(readFileSync("examples/switchyard.yaml", "utf8"));

function problemsOf(config: unknown): readonly string[] {
  isValid(config);
  return (isValid.errors ?? []).map(({ instancePath }) => instancePath);
}

test("the schema is a valid JSON Schema", () => {
  expect(ajv.validateSchema(JSON.parse(configurationSchemaText()))).toBe(true);
});

test("the example is accepted", () => {
  expect(problemsOf(EXAMPLE)).toEqual([]);
});

test.each([
  ["nothing", {}],
  ["null in place of a value", { kafka: { tls: null }, sources: null }],
  ["a variable in place of a number", { kafka: { partitions: `\${PARTITIONS}` } }],
  ["brokers as a text with commas", { kafka: { brokers: "a:9092,b:9092" } }],
  ["brokers as a list", { kafka: { brokers: ["a:9092", "b:9092"] } }],
  ["a flag in place of a section", { kafka: { tls: true } }],
  ["a topic destination", { destinations: [{ id: "dwh", type: "topic", name: "DWH" }] }],
])("%s is accepted", (_, config) => {
  expect(problemsOf(config)).toEqual([]);
});

const WEBHOOK = { id: "crm", type: "webhook", endpoints: [{ url: "https://crm.example.com" }] };

test.each([
  ["an unknown setting", { kafak: {} }, ""],
  ["a text in place of a number", { kafka: { partitions: "many" } }, "/kafka/partitions"],
  ["a number out of range", { kafka: { partitions: 0 } }, "/kafka/partitions"],
  ["a duration without a unit", { drainTimeout: 25 }, ""],
  ["no destination type", { destinations: [{ id: "crm" }] }, "/destinations/0"],
  ["another type", { destinations: [{ ...WEBHOOK, type: "hook" }] }, "/destinations/0/type"],
  ["no endpoints", { destinations: [{ id: "crm", type: "webhook" }] }, "/destinations/0"],
  [
    "a setting of another type",
    { destinations: [{ id: "dwh", type: "topic", name: "DWH", concurrency: 2 }] },
    "/destinations/0",
  ],
  [
    "a value that is not one of the choices",
    { destinations: [{ ...WEBHOOK, payload: "fulll" }] },
    "/destinations/0/payload",
  ],
])("%s is rejected", (_, config, path) => {
  expect(problemsOf(config)).toContain(path);
});

/** Returns the names of settings whose decoder has no JSON form, so that an editor could not check them. */
function unknownIn(node: Node, name: string): readonly string[] {
  if (node.kind === "setting") return node.decoder.json === undefined ? [name] : [];
  if (node.kind === "list") return unknownIn(node.item, `${name}[]`);
  const sections = node.kind === "section" ? [node] : Object.values(node.sections);
  return sections.flatMap(({ fields }) =>
    Object.entries(fields).flatMap(([key, each]) => unknownIn(each, `${name}.${key}`)),
  );
}

test("every setting has a JSON form", () => {
  expect(unknownIn(SETTINGS, "")).toEqual([]);
});
