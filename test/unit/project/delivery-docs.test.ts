// The pages on delivery say what the code says.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";

import { judge } from "../../../src/deliver/outcome.ts";
import { DEAD_LETTER_REASONS } from "../../../src/domain/dead-letter.ts";
import { LAWS } from "../../chaos/violation.ts";

const ROOT = join(import.meta.dirname, "../../..");
const read = (page: string) =>
  readFileSync(join(import.meta.dirname, "../../../docs", page), "utf8");

test("docs/delivery.md lists every dead-letter reason, in order, with its sentence", () => {
  const [, rest = ""] = read("delivery.md").split("| Reason | Meaning |\n|---|---|\n");
  const [table = ""] = rest.split("\n\n");
  const rows = Object.entries(DEAD_LETTER_REASONS).map(
    ([name, text]) => `| \`${name}\` | ${text} |`,
  );
  expect(table.trim().split("\n")).toEqual(rows);
});

test.each(["delivery.md", "webhooks.md"])(
  "docs/%s names the statuses that are tried again",
  (page) => {
    const status = (code: number) =>
      judge({ kind: "response", status: code, retryAfter: null, durationMs: 0 }, 0).kind;
    const [, listed = ""] = /\| (408[^|]*) \|/.exec(read(page)) ?? [];
    const all = Array.from({ length: 400 }, (_, index) => 200 + index);
    const retried = all.filter((code) => status(code) === "retry" && code < 500).join(", ");
    expect(listed).toBe(`${retried}, 5xx`);
    expect(all.filter((code) => code >= 500).every((code) => status(code) === "retry")).toBe(true);
  },
);

test("the code for Node in docs/webhooks.md verifies the vector beside it", async () => {
  const page = read("webhooks.md");
  const [, code = ""] = /```js\n([\s\S]*?)```/.exec(page) ?? [];
  const url = `data:text/javascript,${encodeURIComponent(code)}`;
  const { isFromSwitchyard } = (await import(url)) as {
    isFromSwitchyard: (body: Buffer, header: string | undefined, secret: string) => boolean;
  };
  const body = Buffer.from('{"cool":true}');
  const [, signature = ""] = /\bgive `([0-9a-f]{40})`/.exec(page) ?? [];
  expect(isFromSwitchyard(body, signature, "abc123")).toBe(true);
  expect(isFromSwitchyard(body, signature, "abc124")).toBe(false);
  expect(isFromSwitchyard(Buffer.from('{"cool": true}'), signature, "abc123")).toBe(false);
  expect(isFromSwitchyard(body, undefined, "abc123")).toBe(false);
});

describe("the proofs of docs/delivery.md", () => {
  const [page = "", table = ""] = read("delivery.md").split("\n## Proofs\n");
  const rows = [...table.matchAll(/^\| \[([^\]]+)\]\(#[^)]+\) \| [^|]+ \| ([^|]+) \|$/gm)];

  test("have a row for every section, and none for another", () => {
    const sections = [...page.matchAll(/^##+ (.+)$/gm)].map(([, title]) => title);
    expect(new Set(rows.map(([, section]) => section))).toEqual(new Set(sections));
  });

  test("name files that are there", () => {
    const files = rows.flatMap(([, , held = ""]) => held.match(/(?:test|bench)\/[\w/.-]+\.ts/g));
    expect(files.length).toBeGreaterThan(rows.length);
    const missing = files.filter((file) => !existsSync(join(ROOT, file ?? "")));
    expect(missing).toEqual([]);
  });

  test("name laws that are checked, and all of them", () => {
    const named = rows.flatMap(([, , held = ""]) =>
      [...held.matchAll(/`([a-z ]+)`/g)].map(([, law]) => law),
    );
    expect(new Set(named)).toEqual(new Set<string>(LAWS));
  });

  test("have nothing but a law, a test or a bench in any row", () => {
    const empty = rows.filter(([, , held = ""]) => !/\blaws? `|(?:test|bench)\//.test(held));
    expect(empty).toEqual([]);
  });
});
