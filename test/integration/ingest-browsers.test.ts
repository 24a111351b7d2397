// Unmodified browser libraries in a real Chromium send to the ingest stage, and each of their calls arrives once.

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import type { RunningIngest } from "../../src/router/ingest/stage.ts";
import {
  BROWSER_LIBRARIES,
  type BrowserLibrary,
  LEAVING,
  SNIPPET,
} from "../support/servers/browser-libraries.ts";
import { findChromium, NO_CHROMIUM, openPage } from "../support/servers/chromium.ts";
import { failingGate } from "../support/servers/failing-gate.ts";
import {
  asJson,
  type CallsTopic,
  callsTopic,
  ingestOn,
  KEY,
} from "../support/worlds/ingest-on-kafka.ts";

const chromium = findChromium();
let calls: CallsTopic;
let ingest: RunningIngest;
beforeAll(async () => {
  calls = await callsTopic("browsers");
  ingest = await ingestOn(calls, { corsOrigins: ["*"] });
});
afterAll(async () => {
  await ingest[Symbol.asyncDispose]();
  await calls[Symbol.asyncDispose]();
});

const withMark = (mark: string) =>
  calls.taker.taken
    .map(asJson)
    .filter(({ context }) => (context as { mark?: string })?.mark === mark);

async function checkArrival(library: BrowserLibrary, path: string, endpoint: string) {
  const mark = `${library.name} ${endpoint}`;
  const script = library.script(endpoint, KEY, mark);
  await using page = await openPage(path, library.file, script, library.loadsIt);
  const failures = await page.done;
  if (Array.isArray(failures)) expect(failures.filter((reason) => reason !== null)).toEqual([]);
  await calls.taker.until(() => withMark(mark).length >= library.types.length);
  const values = withMark(mark);
  expect(values.map(({ type }) => type).toSorted()).toEqual(library.types.toSorted());
  const of = (type: string) => values.find((value) => value.type === type);
  expect(of("track")).toMatchObject({
    ...{ event: "Order Completed", userId: "u-1" },
    ...{ properties: { total: 12.5, items: [1, 2] }, integrations: { Webhooks: true } },
  });
  const traits = { plan: "pro", Größe: "☕" };
  const identify = of("identify") ?? {};
  // RudderStack's library adds them to the context.
  expect("traits" in identify ? identify : identify.context).toMatchObject({ traits });
  expect(of("page")).toMatchObject({ name: "Home", properties: { tab: 1 } });
  expect(of("group")).toMatchObject({ groupId: "g-1" });
  // Segment's library keeps the known user in `userId`.
  expect(of("alias")).toMatchObject({ previousId: "u-1" });
  for (const value of values) expect(JSON.stringify(value)).not.toContain(KEY);
}

describe.each([...BROWSER_LIBRARIES, SNIPPET, LEAVING])("$name", (library) => {
  test("every call arrives as it was made", async ({ skip }) => {
    if (chromium === null) return skip(NO_CHROMIUM);
    await checkArrival(library, chromium, `http://127.0.0.1:${ingest.port}`);
  });
});

test("a 503 with Retry-After costs no call of the batching mode", async ({ skip }) => {
  if (chromium === null) return skip(NO_CHROMIUM);
  const library = BROWSER_LIBRARIES.find(({ name }) => name.includes("next 1.84.3 with batching"));
  if (library === undefined) throw new Error("there is no such library");
  await using gate = await failingGate(ingest.port, [503, 503]);
  await checkArrival(library, chromium, gate.endpoint);
});
