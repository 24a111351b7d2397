// The console of the real program on a real Kafka, in a real Chromium: each view while calls are published, a failing
// destination, values that contain scripts, a thousand destinations, and an outage of Kafka.

import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";

import type { RowsEvent } from "../../src/operator/console/view.ts";

import { NO_CHROMIUM } from "../support/servers/chromium.ts";
import {
  brokenLooks,
  HOSTILE,
  LIVE,
  launchChromium,
  type OpenedView,
  openView,
  scriptsRun,
} from "../support/servers/page-views.ts";
import { type ProgramWorld, programWorld } from "../support/servers/program.ts";
import { type PageOnKafka, pageOnKafka, SECRET } from "../support/worlds/page-on-kafka.ts";

const SOON = { timeout: 60_000, interval: 250 };
const USER = "ada@example.com";
const SCRIPT_ID = "m-<script>document.title='run'</script>";

/** The limit of a view that is not updated automatically. */
const RESPONSE_LIMIT_MS = 5_000;
const TRIES = 10;
const YES = () => true;
const NO = () => false;

let browser: Browser | null = null;
let site: PageOnKafka | null = null;

beforeAll(async () => {
  browser = await launchChromium();
  if (browser === null) return;
  site = await pageOnKafka();
  await site.sync("s-1", ["u-1", "u-2", "u-3"]);
  await site.call("m-1", USER);
  await site.call(SCRIPT_ID, USER);
});
afterAll(async () => {
  await browser?.close();
  await site?.[Symbol.asyncDispose]();
});

async function open(path: string): Promise<OpenedView> {
  if (browser === null || site === null) throw new Error(NO_CHROMIUM);
  return await openView(browser, site.url, path);
}

/** Reopens a view until it contains the words. */
async function opened(path: string, words: string | RegExp): Promise<OpenedView> {
  const view = await open(path);
  await view.page.getByText(LIVE).waitFor();
  // On a busy machine, every reading may take longer than its limit.
  const isThere = (timeout: number) =>
    view.page.getByText(words).first().waitFor({ timeout }).then(YES, NO);
  for (let tries = 0; !(await isThere((tries + 1) * RESPONSE_LIMIT_MS)); tries += 1) {
    if (tries === TRIES) throw new Error(`${path} has no ${words}: ${view.errors.join()}`);
    await view.page.reload();
  }
  return view;
}

/** Starts `switchyard console` in addition to the program. Resolves with the address that it prints. */
async function consoleOf(world: ProgramWorld, args: readonly string[]): Promise<string> {
  const child = world.spawn(["console", "--port", "0", ...args]);
  let said = "";
  child.stdout?.setEncoding("utf8").on("data", (piece: string) => {
    said += piece;
  });
  await expect.poll(() => said, SOON).toMatch(/Console: \S+/);
  return /Console: (\S+)/.exec(said)?.[1] ?? "";
}

function there(skip: (note: string) => never): PageOnKafka {
  return site ?? skip(NO_CHROMIUM);
}

const VIEWS = [
  ["/", /^down has been failing/],
  ["/destinations", "failing"],
  ["/destinations/down", "down[1] 127.0.0.1"],
  ["/calls", "Latest calls"],
  ["/calls/m-1", "received: track"],
  ["/dead-letters", "rejected"],
  ["/audiences", "s-1"],
  ["/configuration", "This file"],
] as const;

for (const [path, words] of VIEWS) {
  test(`${path} of the running program: legible, hostile values only read`, async ({ skip }) => {
    there(skip);
    await using view = await opened(path, words);
    expect(await brokenLooks(view.page)).toEqual([]);
    expect(await scriptsRun(view.page)).toEqual([]);
    expect(await view.page.content()).not.toContain(SECRET);
    expect(view.errors).toEqual([]);
  });
}

test("a call is followed from its user to its requests", async ({ skip }) => {
  const { admin } = there(skip);
  await using view = await open("/calls");
  const { page } = view;
  await page.getByLabel("Calls of a user").fill(USER);
  await page.keyboard.press("Enter");
  await page.getByRole("link", { name: "m-1" }).waitFor();
  expect(page.url()).not.toMatch(/ada|example/);
  await page.getByRole("link", { name: SCRIPT_ID }).click();
  await page.getByText(/attempt 1, accepted: good\[1\]/).waitFor();
  await page.getByText("good[1] 127.0.0.1").last().click();
  const request = page.locator("details[open] pre");
  await expect.poll(() => request.textContent()).toMatch(/^POST http:\/\/127\.0\.0\.1:\d+\/…\n/);
  const text = (await request.textContent()) ?? "";
  expect(text).toMatch(/^X-Signature: [\da-f]{40}$/m);
  expect(text).toContain("X-Api-Key: (hidden)");
  expect(text).toContain(JSON.stringify(HOSTILE));
  expect(await scriptsRun(page)).toEqual([]);
  expect(view.errors).toEqual([]);
  expect(admin).toBeGreaterThan(0);
});

test("a failing destination is shown with its attempts, its responses, and what waits until when", async ({
  skip,
}) => {
  there(skip);
  await using view = await opened("/destinations/down", /awaiting retry after 10m/);
  const { page } = view;
  await page.getByText(/^It has been failing for .*in the last minute/).waitFor();
  await page.getByText(/^Next retry in/).waitFor();
  await page
    .getByText(/down\[1\] 127\.0\.0\.1:\d+ 503 in/)
    .first()
    .waitFor();
  await page
    .getByText(/responded "no, because of <img/)
    .first()
    .waitFor();
  await expect
    .poll(() => page.locator(".legend li", { hasText: "5xx" }).count(), SOON)
    .toBeGreaterThan(0);
});

test("what is shown follows the program while somebody looks", async ({ skip }) => {
  const { call } = there(skip);
  await using view = await open("/");
  const delivered = view.page.locator('[data-node="endpoints"] .rate b');
  await view.page.getByText(LIVE).waitFor();
  let count = 0;
  const flowing = async () => {
    await call(`flow-${count}`, `user-${count}`);
    count += 1;
    return Number((await delivered.textContent())?.replace(/\D/g, ""));
  };
  await expect.poll(flowing, SOON).toBeGreaterThan(0);
  expect(view.errors).toEqual([]);
});

test("dead letters that were replayed differ from those that wait", async ({ skip }) => {
  const { world, responses } = there(skip);
  responses.set("picky", 200);
  const replayed = await world.command(["dead-letters", "replay", "--message-id", "m-1"]);
  expect(replayed).toMatchObject({ status: 0 });
  await using view = await opened(
    "/dead-letters?state=replayed",
    "1 dead letter: 0 not replayed, 1 replayed",
  );
  await view.page.getByText("● Replayed").waitFor();
  await view.page.getByRole("button", { name: "not replayed" }).click();
  await view.page.getByRole("link", { name: SCRIPT_ID }).waitFor();
  expect(await view.page.getByText("● Replayed").count()).toBe(0);
});

test("an audience shows its members over time, and a sync awaiting approval why", async ({
  skip,
}) => {
  const { sync } = there(skip);
  await sync("s-2", ["u-1", "u-2", "u-3", "u-4"]);
  await sync("s-3", []);
  await using view = await opened("/audiences", /4 of 4 members would be removed/);
  const rows = view.page.getByRole("region", { name: /^Last syncs of/ }).locator("tbody tr");
  await expect
    .poll(() => rows.allTextContents())
    .toEqual([expect.stringMatching(/^s-2.*4$/), expect.stringMatching(/^s-1.*3$/)]);
  await view.page.getByText("members: now 4, at most 4.").waitFor({ state: "attached" });
});

test("all of it is done by keyboard", async ({ skip }) => {
  there(skip);
  await using view = await open("/");
  const { page } = view;
  await page.getByText(LIVE).waitFor();
  const tabTo = async (name: string) => {
    const isThere = `document.activeElement?.textContent?.trim() === ${JSON.stringify(name)}`;
    for (let step = 0; step < 60; step += 1) {
      if (await page.evaluate(isThere)) return;
      await page.keyboard.press("Tab");
    }
    throw new Error(`${name} is not reached by Tab`);
  };
  await page.keyboard.press("Tab");
  await page.getByText("Skip to content").waitFor();
  await tabTo("Destinations");
  // The current view is marked.
  const outline = await page.evaluate("getComputedStyle(document.activeElement).outlineStyle");
  expect(outline).not.toBe("none");
  await page.keyboard.press("Enter");
  await page.getByRole("link", { name: "good", exact: true }).waitFor();
  await page.keyboard.press("/");
  await page.keyboard.type("good");
  await page.getByText("1 of 4 shown").waitFor();
  await tabTo("good");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "good", level: 1 }).waitFor();
  await tabTo("Refresh");
  await page.keyboard.press("Enter");
  await tabTo("Its dead letters");
  await page.keyboard.press("Enter");
  await tabTo("7d");
  await page.keyboard.press("Space");
  await expect.poll(() => page.url()).toContain("since=7d");
  expect(view.errors).toEqual([]);
});

test("times are in the zone of the reader, and the pointer shows UTC", async ({ skip }) => {
  there(skip);
  await using view = await opened("/calls/m-1", "received: track");
  const times = await view.page.locator("main time").evaluateAll((all) =>
    all.map((each) => {
      const { textContent } = each;
      return [each.getAttribute("datetime"), textContent, each.getAttribute("title")] as const;
    }),
  );
  expect(times.length).toBeGreaterThan(2);
  for (const [at = "", text, title] of times) {
    const tokyo = new Date(Date.parse(at ?? "") + 9 * 3_600_000).toISOString().slice(11, 19);
    expect(text).toContain(tokyo);
    expect(title).toContain(`${at?.slice(11, 19)} UTC`);
  }
});

test("a destination shows which calls it did not get, and why, per hour; a call shows the same of itself", async ({
  skip,
}) => {
  const { call } = there(skip);
  await using view = await open("/destinations/picky");
  const { page } = view;
  await page.getByText(LIVE).waitFor();
  await call("m-skipped", USER, "Skipped", { integrations: { All: false, Sheet: true } });
  await page.getByText("integrations exclude All and do not name it").waitFor();
  const table = page.getByRole("region", { name: "Skipped calls per hour" });
  expect(await table.locator("thead th").allTextContents()).toContain("all-false");
  await using ofCall = await opened("/calls/m-skipped", "integrations exclude All");
  const routing = ofCall.page.getByRole("region", { name: "Routing" }).last();
  expect(await routing.getByRole("row", { name: /^sheet Gets it named-true/ }).count()).toBe(1);
  expect(await brokenLooks(page)).toEqual([]);
  expect([...view.errors, ...ofCall.errors]).toEqual([]);
});

test("a thousand destinations are shown, sorted and found", async ({ skip }) => {
  const { admin, config } = there(skip);
  const many = Array.from({ length: 1_000 }, (_, index) => `hook-${`${index}`.padStart(4, "0")}`);
  const more = many.map((id) => `  - { id: ${id}, type: topic, name: ${id} }`).join("\n");
  await using world = programWorld(config.replace("destinations:\n", `destinations:\n${more}\n`));
  const url = await consoleOf(world, ["--admin", `127.0.0.1:${admin}`]);
  if (browser === null) return;
  await using view = await openView(browser, url, "/destinations");
  await view.page.getByText("1004 shown").waitFor();
  const names = view.page.locator("table.rows tbody th a");
  expect(await names.count()).toBeLessThan(80);
  await view.page.keyboard.press("End");
  await view.page.getByRole("link", { name: "hook-0999" }).waitFor();
  await view.page.keyboard.press("/");
  await view.page.keyboard.type("hook-0777");
  await view.page.getByText("1 of 1004 shown").waitFor();
  expect(view.errors).toEqual([]);
});

test("every view shows that Kafka is unreachable, and that it is back", async ({ skip }) => {
  const kafka = there(skip);
  await using flow = await open("/");
  await using destination = await open("/destinations/good");
  await flow.page.getByText(LIVE).waitFor();
  // A query in progress would count toward the limit of the queries below.
  await destination.page.locator('.scroll[aria-label="Last attempts"]').waitFor();
  kafka.disconnect();
  await flow.page.getByText(/^▲ Kafka is unreachable$/).waitFor({ timeout: SOON.timeout });
  await flow.page.getByText(/Kafka is unreachable: /).waitFor();
  await destination.page.getByText(/Kafka is unreachable: /).waitFor({ timeout: SOON.timeout });
  // The process's own data are still shown.
  await flow.page.locator('[data-node="endpoints"] .rate b').waitFor();
  const asking = ["/dead-letters", "/audiences", "/calls/m-1", "/calls?user=0a1b"];
  await Promise.all(
    asking.map(async (path) => {
      await using view = await open(path);
      const alert = view.page.getByRole("alert");
      await alert.waitFor({ timeout: SOON.timeout });
      expect(await alert.textContent(), path).toMatch(/Kafka/);
    }),
  );
  kafka.reconnect();
  await flow.page.getByText(LIVE).waitFor({ timeout: SOON.timeout });
  expect(await scriptsRun(flow.page)).toEqual([]);
});

/** Longer than the time between two readings. */
const RHYTHMS_MS = 4_000;

test("viewers see a change, and without viewers Kafka is not polled", async ({ skip }) => {
  const { config, program, asked, delivery } = there(skip);
  // From now on, nothing else sends requests to Kafka.
  await program.kill();
  await using world = programWorld(config);
  const url = await consoleOf(world, []);
  const isUnavailable = async () => {
    let before = Number.NaN;
    const askedMeanwhile = () => {
      const bytes = asked() - before;
      before = asked();
      return bytes;
    };
    await expect.poll(askedMeanwhile, { ...SOON, interval: RHYTHMS_MS }).toBe(0);
  };
  await isUnavailable();

  const closing = new AbortController();
  const path = "/api/events?of=destinations";
  const { body } = await fetch(new URL(path, url), { signal: closing.signal });
  const rows = waitingRows(body);
  const waits = async (before: number | null) => {
    for (;;) {
      const { value, done } = await rows.next();
      if (done === true) throw new Error("the stream has ended");
      if (value !== before) return value;
    }
  };
  const before = await waits(null);
  await delivery("good", USER);
  expect(await waits(before)).toBe((before ?? 0) + 1);
  closing.abort();
  await isUnavailable();
});

/** Yields the number of waiting deliveries for `good`, each time its row is sent. */
async function* waitingRows(body: ReadableStream<Uint8Array> | null) {
  if (body === null) throw new Error("there is no stream");
  let text = "";
  for await (const piece of body.pipeThrough(new TextDecoderStream())) {
    const lines = (text + piece).split("\n");
    text = lines.pop() ?? "";
    for (const line of lines.filter((each) => each.startsWith("data: "))) {
      const { changed } = JSON.parse(line.slice("data: ".length)) as RowsEvent;
      for (const { destination, waiting } of changed) if (destination === "good") yield waiting;
    }
  }
}
