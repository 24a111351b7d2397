// `config diff` for files: its output, its exit status, and that it shows no values.
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: it is the configuration's own syntax.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { diffText } from "../../../../../src/program/cli/config/diff.ts";
import { runProgram } from "../../../../../src/program/cli/program.ts";
import { fakeShell } from "../../../../support/worlds/fake-shell.ts";

const folder = mkdtempSync(join(tmpdir(), "switchyard-diff-"));
afterAll(() => rmSync(folder, { recursive: true }));

const IN_PLACE = `
kafka: { brokers: [a:1] }
sources:
  - { id: web, writeKey: "\${KEY}", destinations: [crm] }
destinations:
  - id: crm
    type: webhook
    sharedSecret: "\${file:crm}"
    endpoints: [{ url: "https://a.example.com/hunter2-path" }]
`;

function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

async function diff(given: string, more = "", stdin: readonly string[] = []) {
  file("crm", "hunter2-hunter2-hunter2\n");
  const inPlace = file("in-place.yaml", IN_PLACE);
  const other = stdin.length > 0 ? "" : file("new.yaml", given);
  const shell = fakeShell(stdin, { KEY: "hunter2-key" });
  const args = `config diff -c ${inPlace} ${more} ${other}`.split(" ").filter((arg) => arg !== "");
  const status = await runProgram(args, shell);
  expect(shell.output() + shell.errors()).not.toContain("hunter2");
  return { status, out: shell.output(), err: shell.errors() };
}

test("the same configuration: nothing changes, status 0", async () => {
  const said = await diff(`# another comment\n${IN_PLACE}`);
  expect(said).toMatchObject({ status: 0, err: "" });
  expect(said.out).toMatch(/^Nothing changes\.\nHash [\da-f]{12}\.\n$/);
});

const CHANGED = IN_PLACE.replace("hunter2-path", "hunter2-other")
  .replace("${file:crm}", "${file:crm}-hunter2")
  .replace("destinations: [crm]", "destinations: [crm, new]")
  .concat("  - { id: new, type: topic, name: New }\ndelivery: { retryWindow: 1h }\n");

test("changes are named by entry and path, with those that need a restart; status 1", async () => {
  const said = await diff(CHANGED);
  expect(said).toMatchObject({ status: 1, err: "" });
  expect(said.out.split("\n").slice(0, -2)).toEqual([
    "destinations",
    "  + new",
    "  ~ crm: sharedSecret, endpoints[0].url",
    "sources",
    "  ~ web: destinations",
    "needs a restart",
    "  ~ delivery.retryWindow",
    "",
    "3 changes immediately, 1 after a restart.",
  ]);
});

test("standard input is compared without FILE, with paths of the file in place", async () => {
  const said = await diff("", "", [CHANGED]);
  expect(said.status).toBe(1);
  expect(said.out).toContain("  ~ crm: sharedSecret, endpoints[0].url\n");
});

test("--json has the changes and both hashes", async () => {
  const { status, out } = await diff(CHANGED, "--json");
  expect(status).toBe(1);
  expect(JSON.parse(out)).toMatchObject({
    changes: {
      destinations: { added: ["new"], removed: [] },
      needsRestart: ["delivery.retryWindow"],
    },
    processes: [],
  });
});

test.each([
  ["kafka: {}", "new.yaml cannot be used"],
  [IN_PLACE.replace("file:crm", "file:none"), "there is no such file"],
])("a file that cannot be used is reported with its problems; status 2", async (given, problem) => {
  const said = await diff(given);
  expect(said).toMatchObject({ status: 2, out: "" });
  expect(said.err).toContain(problem);
});

test("the page on changes shows what is printed", () => {
  const page = readFileSync(
    join(import.meta.dirname, "../../../../../docs/change-configuration.md"),
    "utf8",
  );
  const none = { added: [], removed: [], changed: [] };
  const shown = diffText(
    {
      changes: {
        destinations: {
          added: ["billing"],
          removed: [],
          changed: [{ id: "crm-hook", settings: ["sharedSecret", "endpoints[0].url"] }],
        },
        sources: { ...none, changed: [{ id: "web", settings: ["destinations"] }] },
        audiences: none,
        atOnce: [],
        needsRestart: ["delivery.retryWindow"],
      },
      hashes: { current: "4f1c0b7a92de", proposed: "90ab3e11c2d4" },
      processes: [{ admin: "host-1:9464", runs: "current", hash: "4f1c0b7a92de", error: null }],
    },
    fakeShell().colors,
  );
  expect(page).toContain(`\`\`\`\n${shown}\`\`\``);
});
