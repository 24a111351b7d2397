// The pages on delivery say what the code says.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { judge } from "../../../src/deliver/outcome.ts";
import { DEAD_LETTER_REASONS } from "../../../src/domain/dead-letter.ts";

const read = (page: string) =>
  readFileSync(join(import.meta.dirname, "../../../docs", page), "utf8");

test("docs/delivery.md lists every dead-letter reason, in order, with its sentence", () => {
  const [, table = ""] = read("delivery.md").split("| Reason | Meaning |\n|---|---|\n");
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
