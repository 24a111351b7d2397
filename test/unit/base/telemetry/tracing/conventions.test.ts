// Attributes have the names in the pinned version of OpenTelemetry's semantic conventions.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import * as names from "@opentelemetry/semantic-conventions/incubating";
import { expect, test } from "vitest";

import { CONVENTIONS } from "../../../../../src/base/telemetry/tracing/otlp.ts";

const ROOT = join(import.meta.dirname, "../../../../..");
const KNOWN: ReadonlySet<unknown> = new Set(Object.values(names));
const NAMED = /"((?:messaging|http|url|server|service|error)\.[a-z_.]+)"/g;

const files = readdirSync(join(ROOT, "src"), { recursive: true, encoding: "utf8" }).filter(
  (file) =>
    /(?:^|\/)(?:trace|attempt-trace)\.ts$/.test(file) || file.startsWith("base/telemetry/tracing/"),
);

test("every attribute that is not ours is one of the conventions", () => {
  const used = files.flatMap((file) => {
    const source = readFileSync(join(ROOT, "src", file), "utf8");
    return [...source.matchAll(NAMED)].map(([, name]) => `${name}`);
  });
  expect(used).toContain("messaging.destination.name");
  expect(used).toContain("error.type");
  expect(used.filter((name) => !KNOWN.has(name))).toEqual([]);
});

test("the version that spans name is the one they are compared with", () => {
  const lock = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
    readonly devDependencies: Readonly<Record<string, string>>;
  };
  expect(lock.devDependencies["@opentelemetry/semantic-conventions"]).toBe(CONVENTIONS);
});
