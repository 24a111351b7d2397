/** Opens views of the console in one Chromium, each in a separate context, and records their errors. */

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { type Browser, chromium, type Page } from "playwright-core";

import { findChromium } from "./chromium.ts";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
/** Long enough that only a page that hangs exceeds it. */
const WAIT_MS = 60_000;
const SCREEN = { width: 1_400, height: 900 };
const PHONE = { width: 390, height: 800 };
/** What the console shows when it is connected and everything is reachable. */
export const LIVE = /^● Live$/;
/** This code would run if a text were interpreted as HTML. */
export const HOSTILE = `<img src=x onerror="document.title='run'"><script>document.title='run'</script>`;

export interface OpenedView extends AsyncDisposable {
  readonly page: Page;
  /** Errors of the page, including violations of its content security policy. */
  readonly errors: readonly string[];
}

/** Null if the machine has no Chromium. */
export async function launchChromium(): Promise<Browser | null> {
  const executablePath = findChromium();
  if (executablePath === null) return null;
  return await chromium.launch({ executablePath, args: ["--no-sandbox"] });
}

/** Opens a view for a user in Tokyo. @param path the path and query below the site. */
export async function openView(browser: Browser, site: string, path: string): Promise<OpenedView> {
  const look = { colorScheme: "light", viewport: SCREEN, timezoneId: "Asia/Tokyo" } as const;
  const context = await browser.newContext(look);
  context.setDefaultTimeout(WAIT_MS);
  const page = await context.newPage();
  const errors: string[] = [];
  page.on("pageerror", ({ message }) => errors.push(message));
  page.on("console", (message) => {
    if (message.type() === "error") errors.push(message.text());
  });
  await page.goto(new URL(path, site).href);
  return { page, errors, [Symbol.asyncDispose]: () => context.close() };
}

/** The rules of WCAG 2.2 AA that the page breaks. */
export async function brokenRules(page: Page): Promise<readonly string[]> {
  // The page's policy forbids injected scripts, except those of the test tools.
  await page.evaluate(AXE);
  const found = await page.evaluate(`axe.run(document, {
    runOnly: { type: "tag", values: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"] },
  }).then(({ violations }) => violations.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary }) => id + ": " + target + ": " + failureSummary)))`);
  return found as readonly string[];
}

/**
 * The rules that the page breaks in light mode, in dark mode and on a phone, and whether it is wider than the phone.
 */
export async function brokenLooks(page: Page): Promise<readonly string[]> {
  const light = await brokenRules(page);
  await page.emulateMedia({ colorScheme: "dark" });
  const dark = await brokenRules(page);
  await page.setViewportSize(PHONE);
  const phone = await brokenRules(page);
  const over = await page.evaluate("document.documentElement.scrollWidth - innerWidth");
  const wide = Number(over) > 0 ? [`${String(over)} pixels wider than a phone`] : [];
  return [...light, ...dark.map((rule) => `dark: ${rule}`), ...phone, ...wide];
}

/** The signs that a text was interpreted as HTML; empty if it was not. */
export async function scriptsRun(page: Page): Promise<readonly string[]> {
  const title = await page.title();
  const made = await page.locator('img, #app script, a[href^="javascript"]').count();
  return [...(title === "run" ? ["a script has run"] : []), ...(made > 0 ? ["elements"] : [])];
}
