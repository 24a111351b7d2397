// What a file would change, shown to a user who may not see values from the environment or other files.

import { expect, test } from "vitest";
import { configHash } from "../../../../src/config/hash.ts";
import type { Loaded } from "../../../../src/config/load.ts";
import { changesView, hiding, knownForms } from "../../../../src/console/read/changes.ts";
import { config, parse, SMALL } from "../../../support/build/config-source.ts";

const SECRET = "hunter2-hunter2-hunter2";
const ENV = { STOLEN: SECRET };

function reported(yaml: string) {
  const parsed = parse(yaml, ENV);
  const loaded = (
    parsed.kind === "config"
      ? { ...parsed, files: [], hash: configHash(parsed.config) }
      : {
          ...parsed,
          files: [],
          problems: parsed.problems.map((problem) => ({ ...problem, line: 3, file: null })),
        }
  ) satisfies Loaded;
  return changesView(config(SMALL), loaded, hiding(knownForms(loaded.taken, yaml)));
}

test("the same file changes nothing", () => {
  expect(reported(SMALL)).toMatchObject({
    kind: "changes",
    isSame: true,
    atOnce: [],
    needsRestart: [],
  });
});

test("what is added, removed and changed is said in words, and what needs a restart next to it", () => {
  const view = reported(`
kafka: { brokers: [kafka-1:9092], topicPrefix: other. }
sources:
  - { id: web, writeKey: k2, destinations: [crm] }
  - { id: app, writeKey: k3, destinations: [crm] }
destinations:
  - { id: crm, type: webhook, endpoints: [{ url: "https://b.example.com/" }] }
`);
  expect(view).toMatchObject({
    isSame: false,
    atOnce: [
      { title: "Destinations", lines: ["crm is added", "hook is removed"] },
      { title: "Sources", lines: ["app is added", expect.stringContaining("web changes: ")] },
    ],
    needsRestart: ["kafka.topicPrefix"],
  });
  // No value is shown.
  expect(JSON.stringify(view)).not.toMatch(/k2|b\.example\.com|other\./);
});

test("a file that cannot be used is reported with each problem, its place and its line", () => {
  const view = reported(SMALL.replace("type: webhook", "type: webhok"));
  expect(view).toEqual({
    kind: "unusable",
    problems: [
      { where: "destinations[0].type", line: 3, text: expect.stringContaining('found "webhok"') },
    ],
  });
});

/** A reference, quoted as in YAML. */
const TAKEN = "'$" + "{STOLEN}'";
const STEALING = [
  ["an id", SMALL.replaceAll("id: hook", `id: ${TAKEN}`).replace("[hook]", `[${TAKEN}]`)],
  ["a choice of a problem", SMALL.replaceAll("id: hook", `id: ${TAKEN}`)],
  ["a value that is wrong", SMALL.replace("[hook]", `[${TAKEN}]`)],
  ["a value twice", SMALL.replace("[hook]", `[hook, ${TAKEN}, ${TAKEN}]`)],
  ["a part of a value", SMALL.replace("type: webhook", `type: ${TAKEN.replace("'", "'web")}`)],
  ["a default", SMALL.replace("[hook]", `[${TAKEN.replace("}", ":-x}")}]`)],
] as const;

test.each(STEALING)("what the file takes from a variable is not shown by %s", (_, yaml) => {
  expect(parse(yaml, ENV).taken).toContain(SECRET);
  expect(JSON.stringify(reported(yaml))).not.toContain(SECRET.slice(0, 12));
});

test("a value that is in the file itself is no secret", () => {
  const hide = hiding(knownForms(["crm"], "id: crm"));
  expect(hide("crm is added")).toBe("crm is added");
  expect(hiding(knownForms(["crm"], "id: X"))("crm is added")).toBe("(hidden)");
});

test("a long value is known by its beginning, and with the escapes of JSON", () => {
  const hide = hiding(knownForms([`${"x".repeat(100)}`, 'a"b'], ""));
  expect(hide(`found "${"x".repeat(80)}..."`)).toBe("(hidden)");
  expect(hide(String.raw`found "a\"b"`)).toBe("(hidden)");
  expect(hide("found nothing")).toBe("found nothing");
});
