// Configurations on pages and of the cookbook can be used, and JSON on pages can be read.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";

import { parseConfig } from "../../../src/config/parse.ts";
import { SETTINGS } from "../../../src/config/settings.ts";
import { type FencedBlock, fencedBlocks } from "../../support/project/fenced-blocks.ts";
import { projectTexts, ROOT } from "../../support/project/tracked-texts.ts";

const PAGES = projectTexts().filter(({ path }) => path.endsWith(".md"));

/** What a page's example leaves out. */
const REST = {
  kafka: { brokers: "kafka-1:9092" },
  sources: [{ id: "web", writeKey: "k", destinations: [] }],
  defaultSource: "web",
  destinations: ["crm-hook", "engagement", "warehouse"].map((id) => ({
    id,
    type: "topic",
    name: id,
  })),
};

const SIGNING_KEY = `whsk_${Buffer.alloc(32).toString("base64")}`;

function blocksOf(language: string): readonly (readonly [path: string, block: FencedBlock])[] {
  return PAGES.flatMap(({ path, text }) =>
    fencedBlocks(text.replace(/^ +(?=```)/gm, ""))
      .filter((block) => block.language === language)
      .map((block) => [path, block] as const),
  );
}

/** What is wrong with the example of a configuration; null: it is another program's. */
function problemsOf(yaml: string): readonly string[] | null {
  const example: unknown = parse(yaml);
  if (typeof example !== "object" || example === null) return null;
  if (!Object.keys(example).some((key) => key in SETTINGS.fields)) return null;
  const whole = { ...REST, ...example, kafka: { ...REST.kafka, ...(parse(yaml).kafka ?? {}) } };
  const names = [...yaml.matchAll(/\$\{([A-Z_]+)\}/g)].map(([, name = ""]) => [
    name,
    `value-${name}`,
  ]);
  const parsed = parseConfig(whole, Object.fromEntries(names), (path) => ({
    kind: "bytes",
    bytes: Buffer.from(path.includes("signing-key") ? SIGNING_KEY : "content-of-a-file"),
  }));
  if (parsed.kind === "config") return [];
  return parsed.problems.map(
    ({ path, found, expected }) => `${path.join(".")}: ${found}, ${expected}`,
  );
}

test("each example of a configuration can be used", () => {
  const found = blocksOf("yaml").map(([path, { text }]) => [path, problemsOf(text)] as const);
  expect(found.filter(([, problems]) => problems !== null).length).toBeGreaterThan(5);
  expect(found.filter(([, problems]) => problems !== null && problems.length > 0)).toEqual([]);
});

test.each([
  ["destinations: [{ id: crm-hook, type: webhok }]"],
  ["delivery: { timout: 5s }"],
  ["kafka: { onCorruptBatch: { calls: pass } }"],
])("in %j a problem is found", (yaml) => {
  expect(problemsOf(yaml)).toHaveLength(1);
});

const COOKBOOK = join(ROOT, "examples/cookbook");

test.each(readdirSync(COOKBOOK))("the recipe %s has no problem and no warning", (file) => {
  const yaml = readFileSync(join(COOKBOOK, file), "utf8");
  const names = [...yaml.matchAll(/\$\{([A-Z_]+)\}/g)].map(([, name = ""]) => name);
  const env = Object.fromEntries(names.map((name) => [name, `a-long-value-for-${name}`]));
  const parsed = parseConfig(parse(yaml), env, (path) => {
    const pem = path.endsWith("key.pem") ? "key.pem" : "cert.pem";
    return { kind: "bytes", bytes: readFileSync(join(ROOT, "test/golden/tls", pem)) };
  });
  expect(parsed).toMatchObject({ kind: "config", warnings: [] });
});

test("JSON on pages can be read, whole or line by line", () => {
  const blocks = blocksOf("json");
  expect(blocks.length).toBeGreaterThan(4);
  const read = (text: string) => {
    try {
      JSON.parse(text);
      return true;
    } catch {
      return false;
    }
  };
  const lines = (text: string) => text.trim().split("\n");
  const wrong = blocks.filter(([, { text }]) => !read(text) && !lines(text).every(read));
  expect(wrong).toEqual([]);
});
