// The configurations of docs/cookbook.md can be used as they are, and the page leads to each.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";

import { parseConfig } from "../../../src/config/parse.ts";
import { ROOT } from "../../support/project/tracked-texts.ts";

const FOLDER = join(ROOT, "examples/cookbook");
const FILES = readdirSync(FOLDER);
const text = (file: string) => readFileSync(join(FOLDER, file), "utf8");

const TLS = join(ROOT, "test/golden/tls");

/** With a value for each variable, and a certificate and its key in the files of those names. */
function parsed(yaml: string) {
  const names = [...yaml.matchAll(/\$\{([A-Z_]+)\}/g)].map(([, name = ""]) => name);
  const env = Object.fromEntries(names.map((name) => [name, `a-long-value-for-${name}`]));
  return parseConfig(parse(yaml), env, (path) => {
    const file = path.endsWith("key.pem") ? "key.pem" : "cert.pem";
    return { kind: "bytes", bytes: readFileSync(join(TLS, file)) };
  });
}

test.each(FILES)("%s has no problem and no warning", (file) => {
  expect(parsed(text(file))).toMatchObject({ kind: "config", warnings: [] });
});

test("a recipe with a mistake is found", () => {
  const wrong = text("rate-limits.yaml").replace("requestsPerSecond", "requestPerSecond");
  expect(parsed(wrong).kind).toBe("invalid");
});

test("the page leads to each recipe", () => {
  const page = readFileSync(join(ROOT, "docs/cookbook.md"), "utf8");
  expect(FILES.length).toBeGreaterThan(4);
  expect(FILES.filter((file) => !page.includes(`](../examples/cookbook/${file})`))).toEqual([]);
});
