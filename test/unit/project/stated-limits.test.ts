// Numbers that pages state in sentences and tables written by hand are those of the code.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { OTHER_MAX_BYTES } from "../../../src/base/http/bound-response.ts";
import { parseConfig } from "../../../src/config/parse.ts";
import { REFERENCES_MAX, TEXT_MAX_CHARACTERS } from "../../../src/registry/client.ts";
import { EXCHANGE_LIMIT_MS, RESPONSE_MAX_BYTES } from "../../../src/registry/registry-request.ts";
import { RESPONSE_BODY_MAX_BYTES } from "../../../src/router/destinations/webhook/http.ts";
import { ACKNOWLEDGE_LIMIT_MS, BODY_MAX_BYTES } from "../../../src/router/ingest/handle-request.ts";
import {
  CALL_MAX_BYTES,
  CALLS_MAX,
  ENVELOPE_MAX_BYTES,
} from "../../../src/router/ingest/read-body.ts";
import { ONE_GO_BYTES } from "../../../src/router/ingest/unpack.ts";
import {
  BATCH_MAX_BYTES,
  CALL_MAX_BYTES as CLIENT_CALL_MAX_BYTES,
} from "../../../src/sdk/client/encode.ts";
import { readOptions } from "../../../src/sdk/client/options.ts";
import { ROOT } from "../../support/project/tracked-texts.ts";

const page = (name: string) =>
  readFileSync(join(ROOT, "docs", name), "utf8").replace(/\s*\n(?!\n|[|#-])/g, " ");

const parsed = parseConfig({ kafka: { brokers: "b:1" } }, {}, () => {
  throw new Error("the defaults name no file");
});
if (parsed.kind !== "config") throw new Error(JSON.stringify(parsed.problems));
const { delivery } = parsed.config;
const client = readOptions("k", {}, { endpoint: undefined, debug: undefined });

const KIB = 1_024;
const count = (value: number) => value.toLocaleString("en-US");
const wait = (ms: number) => (ms < 60_000 ? `${ms / 1_000} s` : `${ms / 60_000} min`);
const waits = delivery.retryDelaysMs.map(wait);

/** With the delays of the default settings, and endpoints that fail at once. */
const lastAttempt = (() => {
  let [number, afterMs] = [1, 0];
  for (;;) {
    const delayMs =
      delivery.retryDelaysMs[Math.min(number, delivery.retryDelaysMs.length) - 1] ?? 0;
    if (afterMs + delayMs > delivery.retryWindowMs) break;
    afterMs += delayMs;
    number += 1;
  }
  const minutes = Math.round(afterMs / 60_000);
  return { number, after: `${Math.floor(minutes / 60)} h ${minutes % 60} min` };
})();

test.each([
  ["webhooks.md", `Respond within ${delivery.timeoutMs / 1_000} seconds,`],
  [
    "webhooks.md",
    `for up to ${["zero", "one", "two", "three", "four"][delivery.retryWindowMs / 3_600_000]} hours`,
  ],
  [
    "retries.md",
    `${lastAttempt.number === 10 ? "ten" : lastAttempt.number} attempts over ${lastAttempt.after}`,
  ],
  ["retries.md", `| wait | ${waits.join(" | ")} |`],
  ["retries.md", `| the body | ${RESPONSE_BODY_MAX_BYTES / KIB} KiB |`],
  ["retries.md", `each line of a long part | ${OTHER_MAX_BYTES / KIB} KiB |`],
  ["http-apis.md", `| a body, before and after decompression | ${BODY_MAX_BYTES / KIB / KIB} MiB;`],
  ["http-apis.md", `| a gzipped body after decompression | ${ONE_GO_BYTES / KIB} KiB,`],
  ["http-apis.md", `| a call | ${CALL_MAX_BYTES / KIB} KB as sent |`],
  ["http-apis.md", `| the members other than \`batch\` | ${ENVELOPE_MAX_BYTES / KIB} KB |`],
  ["http-apis.md", `| calls in a body | ${count(CALLS_MAX)} |`],
  ["http-apis.md", `or of an earlier one, within ${ACKNOWLEDGE_LIMIT_MS / 1_000} s`],
  ["client.md", `| \`flushAt\`, also \`size\` | ${client.flushAt} |`],
  ["client.md", `| \`flushAfter\` | ${count(client.flushAfterMs)} ms |`],
  ["client.md", `else \`${client.url.replace("/v1/batch", "")}\` |`],
  ["client.md", `| \`disable\` | \`${client.disable}\` |`],
  ["client.md", `| \`attemptsMax\` | ${client.attemptsMax} |`],
  ["client.md", `| \`requestTimeoutMs\` | ${count(client.requestTimeoutMs)} |`],
  ["client.md", `| \`queueCallsMax\` | ${count(client.queue.callsMax)} |`],
  ["client.md", `| \`queueBytesMax\` | ${client.queue.maxBytes / KIB / KIB} MiB |`],
  ["client.md", `| one call | ${CLIENT_CALL_MAX_BYTES / KIB} KB,`],
  ["client.md", `| one request | at most ${BATCH_MAX_BYTES / KIB} KB including the envelope`],
  [
    "registry.md",
    `| one response | ${RESPONSE_MAX_BYTES / KIB / KIB} MiB, ${EXCHANGE_LIMIT_MS / 1_000} s |`,
  ],
  [
    "registry.md",
    `${REFERENCES_MAX}; together with that schema, ${TEXT_MAX_CHARACTERS / KIB / KIB} MiB |`,
  ],
])("docs/%s says: %s", (name, sentence) => {
  expect(page(name)).toContain(sentence);
});

test("the window is the four hours that pages speak of", () => {
  expect(delivery.retryWindowMs).toBe(4 * 3_600_000);
});
