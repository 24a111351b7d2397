// The pages on delivery say what the code says.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { DEAD_LETTER_REASONS } from "../../../src/domain/dead-letter.ts";
import { judge } from "../../../src/router/destinations/webhook/judge.ts";
import { tableRows } from "../../support/build/table-rows.ts";

const ROOT = join(import.meta.dirname, "../../..");
const read = (page: string) =>
  readFileSync(join(import.meta.dirname, "../../../docs", page), "utf8");
const PAGES = readdirSync(join(ROOT, "docs")).filter((page) => page.endsWith(".md"));

test("docs/guarantees.md lists every dead-letter reason, in order, with its sentence", () => {
  const [, rest = ""] = read("guarantees.md").split("| Reason | Meaning |\n|---|---|\n");
  const [table = ""] = rest.split("\n\n");
  const rows = Object.entries(DEAD_LETTER_REASONS).map(
    ([name, text]) => `| \`${name}\` | ${text} |`,
  );
  expect(table.trim().split("\n")).toEqual(rows);
});

test("docs/webhooks.md names the statuses that are tried again", () => {
  const status = (code: number) =>
    judge({ kind: "response", status: code, retryAfter: null, durationMs: 0 }, 0).kind;
  const [, listed = ""] = /\| (408[^|]*) \|/.exec(read("webhooks.md")) ?? [];
  const all = Array.from({ length: 400 }, (_, index) => 200 + index);
  const retried = all.filter((code) => status(code) === "retry" && code < 500).join(", ");
  expect(listed).toBe(`${retried}, 5xx`);
  expect(all.filter((code) => code >= 500).every((code) => status(code) === "retry")).toBe(true);
});

/** Figures of the page, each with the line of code that makes it so. A change of one side shows the other. */
test.each([
  ["`UV_THREADPOOL_SIZE`, which is 12", "main.ts", 'UV_THREADPOOL_SIZE ??= "12"'],
  ...tableRows(`
at most 256 records of each partition | router/deliver/running-destination.ts | PARTITION_RECORDS_MAX = 256;
waits up to 20 s for a coordinator | kafka/consume/consumer-times.ts | COMMIT_OUTAGE_LIMIT_MS = 20_000;
At most the 500 records that were being written | operator/replay/replay.ts | BATCH_MAX = 500;
128 bytes are added for each read, and 32 | base/http/bound-response.ts | READ_BYTES = 128;
counts the encrypted bytes every 50 ms | base/http/bound-response.ts | LOOK_EVERY_MS = 50;
more than 256 KiB for one response | base/http/bound-response.ts | WIRE_MAX_BYTES = 262_144;
A response is kept for 10 s | base/http/lookup.ts | FRESH_MS = 10_000;
used for up to an hour when a lookup takes more than 1 s | base/http/lookup.ts | KEPT_MS = 3_600_000;
used for up to an hour when a lookup takes more than 1 s | base/http/lookup.ts | PATIENCE_MS = 1_000;
opens after 20 failures in a row | router/deliver/circuit-breaker.ts | FAILURES_TO_OPEN = 20;
at least a second ago | router/deliver/circuit-breaker.ts | FAILING_FOR_MS = 1_000;
After 5 s a probe is due | router/deliver/circuit-breaker.ts | OPEN_FIRST_MS = 5_000;
twice the previous wait, up to a minute | router/deliver/circuit-breaker.ts | OPEN_MAX_MS = 60_000;
is scheduled separately, with a delay of at most 2 minutes | router/deliver/choose-retry-delay.ts | SHARE_DELAY_MAX_MS = 120_000;
has not been writable for 2 s | kafka/produce/write-failures.ts | BLOCK_AFTER_MS = 2_000;
read again after 1 to 60 s | kafka/group/tenure.ts | HALT_MAX_MS = 60_000;
`),
])("the pages on delivery say: %s", (figure, file, line) => {
  expect(PAGES.map(read).join("\n").replace(/\s+/g, " ")).toContain(figure);
  expect(readFileSync(join(ROOT, "src", file), "utf8")).toContain(line);
});

test("the code for Node in docs/webhooks.md verifies the vector next to it", async () => {
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
