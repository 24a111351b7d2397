// Actions in the console, in a real Chromium, with an action runner that the test controls: dialogs by keyboard, the
// rules of WCAG, a read-only console, and requests from other sites.

import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";

import type { Action } from "../../src/operator/console/action-view.ts";
import type { WorkOutcome } from "../../src/operator/console/ports.ts";
import { deliveringReport, pollOf } from "../support/build/console-poll.ts";
import { NO_CHROMIUM } from "../support/servers/chromium.ts";
import { startTestConsole, type TestConsole } from "../support/servers/console.ts";
import {
  brokenRules,
  launchChromium,
  type OpenedView,
  openView,
} from "../support/servers/page-views.ts";

const SINCE = "2026-03-01T08:00:00.000Z";
const WAIT_MS = 60_000;
const POLL = { timeout: WAIT_MS };
const DONE: WorkOutcome = { isDone: true, count: null, unfinished: null };

let browser: Browser | null = null;
let site: TestConsole;
beforeAll(async () => {
  browser = await launchChromium();
});
afterAll(() => browser?.close());
beforeEach(async () => {
  site = await startTestConsole({ readOnly: false });
  site.data.poll = pollOf([deliveringReport("crm"), deliveringReport("lake")], {
    configured: { lake: { kind: "topic", isAttempted: false } },
  });
  return () => site[Symbol.asyncDispose]();
});

function open(url: string): Promise<OpenedView> {
  if (browser === null) throw new Error(NO_CHROMIUM);
  return openView(browser, site.url, url);
}

function at(path: string): string {
  return new URL(path, site.url).href;
}

/** Counts return 12, and every action succeeds immediately. */
function countTwelve(): void {
  site.data.work = (action) => (progress) => {
    const isCount = "dryRun" in action && action.dryRun;
    progress.report(isCount ? "12 would be done." : "12 are done.");
    return Promise.resolve({ ...DONE, count: isCount ? 12 : null });
  };
}

test("a dialog is opened, filled in and closed by keyboard, and the focus comes back", async ({
  skip,
}) => {
  if (browser === null) return skip(NO_CHROMIUM);
  countTwelve();
  await using opened = await open(at("/destinations/crm"));
  const { page } = opened;
  const cancel = page.getByRole("button", { name: "Cancel…" });
  await cancel.focus();
  await page.keyboard.press("Enter");
  const dialog = page.getByRole("dialog", { name: "Cancel deliveries to crm" });
  await dialog.waitFor();
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  expect(await page.evaluate("document.activeElement.textContent")).toBe("Cancel…");
  expect(site.data.acted).toEqual([]);

  await page.keyboard.press("Enter");
  await dialog
    .getByLabel("Calls that were received")
    .selectOption({ label: "more than 2 days ago" });
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await dialog.getByText("12 would be done.").waitFor();
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await page.getByRole("list", { name: "Actions" }).getByText("12 are done.").waitFor();
  const [counted, done] = site.data.acted as Extract<Action, { action: "cancel" }>[];
  expect(counted).toMatchObject({ action: "cancel", destination: "crm", dryRun: true });
  expect(done).toEqual({ ...counted, dryRun: false });
  expect(Date.now() - Date.parse(done?.before ?? "")).toBeGreaterThanOrEqual(2 * 86_400_000);
  expect(opened.errors).toEqual([]);
});

test("a destination with an endpoint that is gone can be resumed and paused", async ({ skip }) => {
  if (browser === null) return skip(NO_CHROMIUM);
  countTwelve();
  const gone = { reason: "gone", since: SINCE, until: null } as const;
  const [endpoint] = deliveringReport("crm").endpoints;
  if (endpoint === undefined) throw new Error("no endpoint");
  const endpoints = [{ ...endpoint, unavailable: gone }];
  site.data.poll = pollOf([deliveringReport("crm", { state: "on-hold", hold: gone, endpoints })]);
  await using opened = await open(at("/destinations/crm"));
  const { page } = opened;
  await page.getByText("its endpoints have responded 410").waitFor();
  await page.getByRole("cell", { name: /^410 Gone, \S.* ago$/ }).waitFor();
  await page.getByRole("button", { name: "Pause…" }).waitFor();
  await page.getByRole("button", { name: "Resume" }).click();
  await page.getByRole("list", { name: "Actions" }).getByText("12 are done.").waitFor();
  expect(site.data.acted).toEqual([{ action: "resume", destination: "crm" }]);
  expect(await brokenRules(page)).toEqual([]);
});

test("each dialog breaks no rule of WCAG, in light and dark", async ({ skip }) => {
  if (browser === null) return skip(NO_CHROMIUM);
  countTwelve();
  for (const scheme of ["light", "dark"] as const) {
    await using opened = await open(at("/destinations/crm"));
    const { page } = opened;
    await page.emulateMedia({ colorScheme: scheme });
    for (const name of ["Pause…", "Cancel…", "Replay…"]) {
      await page.getByRole("button", { name }).click();
      expect(await brokenRules(page)).toEqual([]);
      if (name !== "Pause…") {
        await page.getByRole("button", { name: "Count first" }).click();
        await page.getByText("12 would be done.").waitFor();
        expect(await brokenRules(page)).toEqual([]);
      }
      await page.keyboard.press("Escape");
    }
    await page.getByRole("button", { name: "Retry now" }).click();
    await page.getByRole("list", { name: "Actions" }).getByText("12 are done.").first().waitFor();
    expect(await brokenRules(page)).toEqual([]);
    expect(opened.errors).toEqual([]);
  }
});

test("a count that is closed is stopped; nothing to do can only be closed", async ({ skip }) => {
  if (browser === null) return skip(NO_CHROMIUM);
  const aborted = Promise.withResolvers<void>();
  site.data.work = () => async (progress, signal) => {
    progress.follow(() => "7 counted");
    await once(signal, "abort");
    aborted.resolve();
    return { ...DONE, isDone: false };
  };
  await using opened = await open(at("/destinations/crm"));
  const { page } = opened;
  await page.getByRole("button", { name: "Replay…" }).click();
  await page.getByRole("button", { name: "Count first" }).click();
  await page.getByText("Counting. 7 counted").waitFor();
  await page.getByRole("button", { name: "Close" }).click();
  await aborted.promise;
  site.data.work = () => () => Promise.resolve({ ...DONE, count: 0 });
  await page.getByRole("button", { name: "Cancel…" }).click();
  await page.getByRole("button", { name: "Count first" }).click();
  await page.getByRole("dialog").getByRole("status").waitFor({ state: "attached" });
  await expect
    .poll(() => page.getByRole("dialog").getByRole("button").allTextContents(), POLL)
    .toEqual(["Close"]);
});

test("a time that ends before it begins is rejected in the dialog's words", async ({ skip }) => {
  if (browser === null) return skip(NO_CHROMIUM);
  await using opened = await open(at("/destinations/crm"));
  const { page } = opened;
  await page.getByRole("button", { name: "Replay…" }).click();
  const dialog = page.getByRole("dialog", { name: "Replay calls to crm" });
  await dialog.getByLabel("Until (your time zone").fill("2020-01-01T00:00");
  await dialog.getByRole("button", { name: "Count first" }).click();
  const problem = dialog.getByText(
    "The range ends before it starts, so there is nothing to replay.",
  );
  await problem.waitFor();
  expect(await dialog.textContent()).not.toMatch(/--|since/);
  expect(site.data.acted).toEqual([]);
});

test("a replay that was stopped can be resumed, and a refusal is said", async ({ skip }) => {
  if (browser === null) return skip(NO_CHROMIUM);
  site.data.work = () => async (progress, signal) => {
    progress.follow(() => "5 of 9 read");
    await once(signal, "abort");
    return { isDone: false, count: null, unfinished: { kind: "calls", replay: "r-1" } };
  };
  await using opened = await open(at("/destinations/crm"));
  const { page } = opened;
  await page.getByRole("button", { name: "Wait" }).click();
  await page.getByText("5 of 9 read").waitFor();
  await page.getByRole("button", { name: "Wait", exact: true }).click();
  await page.getByText("Already in progress: wait of crm.").waitFor();
  await page.getByRole("button", { name: "Stop Wait" }).click();
  await page.getByRole("button", { name: "Resume replay r-1" }).click();
  await expect
    .poll(() => site.data.acted.at(-1), POLL)
    .toEqual({ action: "resume-replay", destination: "crm", kind: "calls", replay: "r-1" });
});

test("a sync is approved as it was shown; dead letters are those of the filters", async ({
  skip,
}) => {
  if (browser === null) return skip(NO_CHROMIUM);
  countTwelve();
  const awaitingApproval = { syncId: "s-2", since: SINCE, removals: 9_000, command: "" };
  const vip = { id: "vip", name: "VIP", key: "vip", members: 12_000, openSyncId: null };
  site.data.results.audiences = [
    { ...vip, last: null, awaitingApproval, syncs: [], history: null },
  ];
  await using opened = await open(at("/audiences"));
  const { page } = opened;
  await page.getByText("If this is correct, press Approve…").waitFor();
  expect(await page.getByText("switchyard audience approve").count()).toBe(0);
  await page.getByRole("button", { name: "Approve… vip" }).click();
  expect(await brokenRules(page)).toEqual([]);
  // The buttons are separate from the sentence.
  const dialog = page.getByRole("dialog");
  const sentence = await dialog.getByText(/of vip leave/).boundingBox();
  const button = await dialog.getByRole("button", { name: "Close" }).boundingBox();
  const bottom = (sentence?.y ?? 0) + (sentence?.height ?? 0);
  expect((button?.y ?? 0) - bottom).toBeGreaterThan(10);
  await page.getByRole("button", { name: "Approve: 9,000 members leave" }).click();
  await page.getByRole("list", { name: "Actions" }).getByText("12 are done.").waitFor();
  await page.goto(at("/dead-letters?destination=crm&reason=expired&since=7d"));
  await page.getByRole("button", { name: "Replay these…" }).click();
  expect(await brokenRules(page)).toEqual([]);
  await page.getByRole("button", { name: "Count first" }).click();
  await page.getByRole("button", { name: "Replay 12 dead letters" }).click();
  await page.getByRole("list", { name: "Actions" }).getByText("12 are done.").waitFor();
  expect(site.data.acted).toMatchObject([
    { action: "approve", audience: "vip", syncId: "s-2" },
    { action: "replay-dead-letters", destination: "crm", reason: "expired", dryRun: true },
    { action: "replay-dead-letters", destination: "crm", reason: "expired", dryRun: false },
  ]);
});

test("a topic that others read can be replayed to alone; a read-only page has no buttons", async ({
  skip,
}) => {
  if (browser === null) return skip(NO_CHROMIUM);
  await using opened = await open(at("/destinations/lake"));
  const actions = opened.page.getByRole("group", { name: "Actions on lake" });
  await actions.waitFor();
  expect(await actions.getByRole("button").allTextContents()).toEqual(["Replay…"]);
  await using guarded = await startTestConsole();
  guarded.data.poll = site.data.poll;
  for (const path of ["/destinations/crm", "/dead-letters"]) {
    await using shown = await open(new URL(path, guarded.url).href);
    await shown.page.getByText("This console is read-only").waitFor();
    expect(await shown.page.getByRole("button", { name: /…$/ }).count()).toBe(0);
  }
});

test("another site that is open in the same browser cannot act", async ({ skip }) => {
  if (browser === null) return skip(NO_CHROMIUM);
  const other = createServer((_, response) => {
    response.writeHead(200, { "content-type": "text/html" }).end("<title>other</title>");
  });
  other.listen(0, "127.0.0.1");
  await once(other, "listening");
  const { port } = other.address() as AddressInfo;
  // Another port or another name is another origin. The name belongs to the same site.
  await using opened = await open(`http://localhost:${port}/`);
  const tried = await opened.page.evaluate(
    `(async () => {
      const url = ${JSON.stringify(at("/api/actions"))};
      const body = JSON.stringify({ action: "retry", destination: "crm" });
      const json = { "content-type": "application/json", "x-switchyard-console": "1" };
      const tries = [
        { method: "POST", body, headers: json },
        { method: "POST", body, mode: "no-cors", headers: { "content-type": "text/plain" } },
        { method: "POST", body, credentials: "include" },
      ];
      return await Promise.all(tries.map((each) =>
        fetch(url, each).then((response) => response.type, () => "refused")));
    })()`,
  );
  expect(tried).toEqual(["refused", "refused", "refused"]);
  await opened.page.evaluate(`(() => {
    const form = document.createElement("form");
    form.method = "post";
    form.enctype = "text/plain";
    form.action = ${JSON.stringify(at("/api/actions"))};
    document.body.append(form);
    form.submit();
  })()`);
  await opened.page.getByText("Only the console's own pages may send this request.").waitFor();
  expect([site.data.acted, site.log.seen.includes("console.action.started")]).toEqual([[], false]);
  other.close();
  other.closeAllConnections();
});

test("a call is sent again from its page and from its dead letter, after a count", async ({
  skip,
}) => {
  if (browser === null) return skip(NO_CHROMIUM);
  countTwelve();
  const step = { at: SINCE, destination: null, kind: "received", text: "received" } as const;
  site.data.results.call = {
    ...{ place: { partition: 2, offset: 7 }, gaps: [], decisions: [], requests: [] },
    steps: [{ ...step, tone: "quiet" }],
    finalStates: [
      { destination: "crm", text: "delivered", tone: "good" },
      { destination: "ads", text: "dead-lettered", tone: "bad" },
      { destination: "wait", text: "awaiting retry", tone: "warn" },
    ],
  };
  await using opened = await open(at("/calls/m-1"));
  const { page } = opened;
  const again = async (name: string) => {
    await page.getByRole("button", { name }).click();
    const dialog = page.getByRole("dialog", { name: "Send again" });
    await dialog.getByRole("button", { name: "Count first" }).click();
    await dialog.getByRole("button", { name: "Send 12 calls again" }).click();
    await dialog.waitFor({ state: "detached" });
  };
  await page.getByText("awaiting retry").waitFor();
  expect(await page.getByRole("button", { name: "Send again…" }).count()).toBe(2);
  await again("Send again… to crm");
  await page.getByRole("list", { name: "Actions" }).getByText("12 are done.").waitFor();
  await again("Send again… to ads");
  const letter = { messageId: "m-1", reason: "expired", destination: "ads", stage: "deliver" };
  site.data.results["dead-letters"] = {
    ...{ counts: [], total: 1, replayed: 0, isCut: false },
    samples: [{ ...letter, at: SINCE, error: "", from: "x/0/1", payload: null, replayedAt: null }],
  };
  await page.goto(at("/dead-letters"));
  await again("Send again… m-1");
  expect(site.data.acted.filter((action) => "dryRun" in action && !action.dryRun)).toMatchObject([
    { action: "send-again", destination: "crm", partition: 2, offset: 7 },
    { action: "replay-dead-letters", messageId: "m-1", destination: "ads", reason: null },
    { action: "replay-dead-letters", messageId: "m-1", reason: "expired", since: SINCE },
  ]);
  expect(opened.errors).toEqual([]);
});
