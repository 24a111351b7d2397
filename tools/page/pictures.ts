/**
 * `npm run pictures`: takes screenshots of the console for the README and its page, during the demonstration with
 * a stream of calls and one failing destination. Needs a Chromium, and what `npm start` needs.
 */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";

import { chromium, type Page } from "playwright-core";

import { findChromium, NO_CHROMIUM } from "../../test/support/servers/chromium.ts";

const ROOT = join(import.meta.dirname, "../..");
const FOLDER = join(ROOT, "docs/pictures");
/** The time to wait, so that the plots have some history. */
const FLOW_MS = Number(process.env.SWITCHYARD_PICTURES_MS ?? 240_000);
const CALLS_EVERY_MS = 400;

/** The message ID of the first call, whose timeline is in a screenshot. */
const CALL = "first-call";

interface Picture {
  readonly name: string;
  readonly path: string;
  /** What to do on the page before the screenshot. */
  readonly act?: (tab: Page) => Promise<void>;
}

const HEIGHT = 850;
const PICTURES: readonly Picture[] = [
  { name: "overview", path: "/" },
  { name: "destination", path: "/destinations/flaky-hook" },
  { name: "replay", path: "/destinations/flaky-hook", act: countReplay },
  { name: "call", path: `/calls/${CALL}` },
];

const executablePath = findChromium();
if (executablePath === null) throw new Error(NO_CHROMIUM);
const demo = spawn(process.execPath, [join(ROOT, "tools/demo/main.ts")], {
  cwd: ROOT,
  stdio: ["ignore", "pipe", "inherit"],
});
try {
  const { page, ingest } = await addresses();
  const flowing = new AbortController();
  const calls = flow(ingest, flowing.signal);
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  const context = await browser.newContext({
    viewport: { width: 1_300, height: HEIGHT },
    timezoneId: "Europe/Berlin",
  });
  const tab = await context.newPage();
  await tab.goto(page);
  await sleep(FLOW_MS);
  mkdirSync(FOLDER, { recursive: true });
  for (const { name, path, act } of PICTURES) {
    await tab.goto(new URL(path, page).href);
    await tab.getByText(/^● Live$/).waitFor();
    await sleep(4_000);
    await act?.(tab);
    await tab.screenshot({ path: join(FOLDER, `${name}.png`) });
  }
  flowing.abort();
  await calls;
  await browser.close();
} finally {
  demo.kill("SIGTERM");
  await once(demo, "exit");
}

/** Opens the dry run of a replay of one day. */
async function countReplay(tab: Page): Promise<void> {
  await tab.getByRole("button", { name: "Replay…" }).click();
  await tab.getByLabel("Type").selectOption("track");
  await tab.getByRole("button", { name: "Count first" }).click();
  await tab.getByRole("button", { name: /^Replay [\d,]+ calls$/ }).waitFor();
}

/** Reads the addresses of the console and of ingest from the output of the demonstration. */
async function addresses(): Promise<{ readonly page: string; readonly ingest: string }> {
  let page = "";
  for await (const line of createInterface({ input: demo.stdout })) {
    page = /Console: (\S+)/.exec(line)?.[1] ?? page;
    const ingest = /(http:\S+)\/v1\/track/.exec(line)?.[1];
    if (ingest === undefined || page === "") continue;
    // The demonstration continues to write, so its output has to be consumed.
    demo.stdout.resume();
    return { page, ingest };
  }
  throw new Error("the demonstration ended before it printed its addresses");
}

async function flow(ingest: string, signal: AbortSignal): Promise<void> {
  const authorization = `Basic ${Buffer.from("demo-write-key:").toString("base64")}`;
  for (let user = 0; !signal.aborted; user += 1) {
    const messageId = user === 0 ? CALL : undefined;
    const body = JSON.stringify({ messageId, userId: `user-${user}`, event: "Order Completed" });
    await fetch(`${ingest}/v1/track`, { method: "POST", headers: { authorization }, body });
    await sleep(CALLS_EVERY_MS, undefined, { signal }).catch(() => undefined);
  }
}
