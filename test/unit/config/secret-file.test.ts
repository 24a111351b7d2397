// `${file:/path}`: how the file is read, and that its content is never shown.
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: it is the configuration's own syntax.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { pathText, problemText } from "../../../src/base/settings/problem.ts";
import { type Loaded, loadConfig } from "../../../src/config/load.ts";
import { printConfig } from "../../../src/config/print.ts";
import { SECRET_FILE_BYTES_MAX } from "../../../src/config/secret-file.ts";
import type { WebhookDestination } from "../../../src/router/destinations/webhook/settings.ts";

const folder = mkdtempSync(join(tmpdir(), "switchyard-secrets-"));
const SECRETS = join(folder, "secrets");
mkdirSync(SECRETS);
afterAll(() => rmSync(folder, { recursive: true }));

/** Loads a destination with a header and a shared secret, which are given as YAML. */
function load(secret: string, header = "plain", more = ""): Loaded {
  const file = join(folder, "switchyard.yaml");
  writeFileSync(
    file,
    `kafka: { brokers: [a:1] }
destinations:
  - id: hook
    type: webhook
    sharedSecret: ${secret}
    endpoints:
      - url: https://a.example.com/
        headers: { Authorization: "${header}" }
${more}`,
  );
  return loadConfig({ file, env: { HALF: "from-env" } });
}

function everything(loaded: Loaded): string {
  if (loaded.kind === "config") return `${printConfig(loaded.given)}\n${loaded.warnings.join()}`;
  return loaded.problems.map((problem) => problemText(problem)).join("\n");
}

function sharedSecret(loaded: Loaded): unknown {
  if (loaded.kind === "invalid") throw new Error(everything(loaded));
  const [hook] = loaded.config.destinations;
  return hook?.kind === "webhook" ? (hook as WebhookDestination).sharedSecret : null;
}

test.each([
  ["hunter2-hunter2-hunter2", "hunter2-hunter2-hunter2"],
  ["hunter2-hunter2\n", "hunter2-hunter2"],
  ["hunter2-hunter2\r\n", "hunter2-hunter2"],
  ["hunter2-hunter2\n\n", "hunter2-hunter2\n"],
  ["\nhunter2-hunter2", "\nhunter2-hunter2"],
  [" hunter2 \n", " hunter2 "],
  ["hünter2", "hünter2"],
  ["${HALF}", "${HALF}"],
  ["x".repeat(SECRET_FILE_BYTES_MAX), "x".repeat(SECRET_FILE_BYTES_MAX)],
])("of a file with %.20j one newline at its end is no part", (content, taken) => {
  writeFileSync(join(SECRETS, "crm"), content);
  expect(sharedSecret(load(`\${file:${SECRETS}/crm}`))).toBe(taken);
});

test("a relative path starts at the configuration's folder", () => {
  writeFileSync(join(SECRETS, "crm"), "hunter2-hunter2-a\n");
  expect(sharedSecret(load("${file:secrets/crm}"))).toBe("hunter2-hunter2-a");
});

test("a reference may stand inside a text, next to variables", () => {
  writeFileSync(join(SECRETS, "crm"), "hunter2\n");
  const secret = '"a-${file:secrets/crm}-${HALF}-${file:secrets/crm}-$${file:secrets/crm}"';
  expect(sharedSecret(load(secret))).toBe("a-hunter2-from-env-hunter2-${file:secrets/crm}");
});

test.each([
  ["${file:secrets/none}", "cannot be read: there is no such file", "folder of the configuration"],
  ["${file:secrets}", "cannot be read: it is a folder", "folder of the configuration"],
  ["${file:/dev/null}", "an empty file", "write the value into it"],
  ["${file:secrets/newline}", "an empty file", "write the value into it"],
  ["${file:secrets/large}", "a larger file", "only the value into the file"],
  ["${file:secrets/latin1}", "bytes that are not UTF-8", "save the file as UTF-8"],
  ["${file:}", "${file:} without a path", "name the file"],
  ["${file:secrets/crm:-none}", "a default in ${file:...}", "remove `:-`"],
  ['"${file:${HALF}/crm}"', "${ in the path of ${file:...}", "without variables"],
  ["${file:secrets/crm", "${file: without its brace", "end it with a brace"],
])("%s is a problem with its path and a hint", (secret, found, hint) => {
  writeFileSync(join(SECRETS, "newline"), "\n");
  writeFileSync(join(SECRETS, "large"), "hunter2".repeat(SECRET_FILE_BYTES_MAX / 7 + 1));
  writeFileSync(join(SECRETS, "latin1"), Buffer.from("hunter2é", "latin1"));
  const loaded = load(secret);
  if (loaded.kind === "config") throw new Error("accepted");
  expect(loaded.problems.map(({ path }) => pathText(path))).toEqual([
    "destinations[0].sharedSecret",
  ]);
  expect(loaded.problems[0]).toMatchObject({ line: 5 });
  expect(loaded.problems[0]?.found).toContain(found);
  expect(loaded.problems[0]?.hint).toContain(hint);
  expect(everything(loaded)).not.toContain("hunter2");
});

test("the printed configuration has the references, and none of the content", () => {
  writeFileSync(join(SECRETS, "crm"), "hunter2-hunter2-hunter2");
  const more = `
sources:
  - { id: web, writeKeys: ["\${file:secrets/crm}", literal-hunter2], destinations: [hook] }
delivery: { retryDelays: ["\${file:secrets/delay}"] }
`;
  writeFileSync(join(SECRETS, "delay"), "10s");
  const printed = everything(load("${file:secrets/crm}", "Bearer ${file:secrets/crm}", more));
  expect(printed).toContain("sharedSecret: ${file:secrets/crm}");
  expect(printed).toContain("Authorization: (hidden)");
  expect(printed).toContain("- ${file:secrets/crm}");
  expect(printed).toContain("- ${file:secrets/delay}");
  expect(printed).not.toContain("hunter2");
  const whole = everything(load('"a-${file:secrets/crm}"', "${file:secrets/crm}"));
  expect(whole).toContain("sharedSecret: (hidden)");
  expect(whole).toContain("Authorization: ${file:secrets/crm}");
});

// Each case uses the secret for another setting. The problem shows only the reference.
test.each([
  ['kafka2: "${file:secrets/crm}"', "kafka2"],
  ['defaultSource: "${file:secrets/crm}"', "defaultSource"],
  ['delivery: { ca: "${file:secrets/crm}" }', "delivery.ca"],
  ['delivery: { allowNetworks: "${file:secrets/crm}" }', "delivery.allowNetworks[0]"],
  ['delivery: { allowNetworks: ["${file:secrets/crm}"] }', "delivery.allowNetworks[0]"],
  ['log: { level: "${file:secrets/crm}" }', "log.level"],
  ['sources: [{ id: web, destinations: ["${file:secrets/crm}"] }]', "sources[0].destinations[0]"],
  ['sources: [{ id: web, destinations: "${file:secrets/crm}" }]', "sources[0].destinations[0]"],
])("%s shows nothing of the file", (more, path) => {
  writeFileSync(join(SECRETS, "crm"), "hunter2-hunter2-hunter2");
  const loaded = load("plain-plain-plain", "plain", more);
  if (loaded.kind === "config") throw new Error("accepted");
  expect(loaded.problems.map((problem) => pathText(problem.path))).toContain(path);
  expect(everything(loaded)).not.toContain("hunter2");
});

test("a setting that the environment overrides needs no file", () => {
  const file = join(folder, "overridden.yaml");
  writeFileSync(file, 'kafka: { brokers: [a:1], topicPrefix: "${file:secrets/none}" }');
  const loaded = loadConfig({ file, env: { SWITCHYARD_KAFKA_TOPIC_PREFIX: "x." } });
  expect(loaded).toMatchObject({ kind: "config", config: { kafka: { topicPrefix: "x." } } });
});

test("the files of a configuration are listed, also those that are missing", () => {
  writeFileSync(join(SECRETS, "crm"), "hunter2-hunter2-hunter2");
  const loaded = load("${file:secrets/crm}", "${file:secrets/none}", "delivery: { ca: ca.pem }");
  expect(loaded.kind).toBe("invalid");
  expect(loaded.files.toSorted()).toEqual([
    join(folder, "ca.pem"),
    join(SECRETS, "crm"),
    join(SECRETS, "none"),
    join(folder, "switchyard.yaml"),
  ]);
  const file = join(folder, "none.yaml");
  expect(loadConfig({ file, env: {} }).files).toEqual([file]);
});
