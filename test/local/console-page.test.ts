// The console in a real Chromium: each view, the rules of WCAG, a thousand destinations, and data that contain scripts.

import { once } from "node:events";
import { createServer, request as httpRequest } from "node:http";
import type { AddressInfo } from "node:net";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { SKIP_REASONS } from "../../src/base/words/reasons.ts";
import { AT, DESTINATION_WIDTH, FLOW_AT } from "../../src/operator/console/counters.ts";
import type { DeadLetterView } from "../../src/operator/console/query-view.ts";
import { deliveringReport, pollOf } from "../support/build/console-poll.ts";
import { NO_CHROMIUM } from "../support/servers/chromium.ts";
import { startTestConsole, type TestConsole } from "../support/servers/console.ts";
import {
  brokenLooks,
  brokenRules,
  HOSTILE,
  LIVE,
  launchChromium,
  type OpenedView,
  openView,
  scriptsRun,
} from "../support/servers/page-views.ts";

const SINCE = "2026-03-01T08:00:00.000Z";

let browser: Browser | null = null;
let site: TestConsole;
beforeAll(async () => {
  site = await startTestConsole();
  browser = await launchChromium();
});
afterAll(async () => {
  await browser?.close();
  await site?.[Symbol.asyncDispose]();
});

function open(path: string): Promise<OpenedView> {
  if (browser === null) throw new Error(NO_CHROMIUM);
  return openView(browser, site.url, path);
}

const FAILING = deliveringReport("flaky-hook", {
  state: "on-hold",
  failingSince: SINCE,
  hold: { reason: "circuit-open", since: SINCE, until: SINCE },
  waiting: 1_204,
  awaitingRetry: 40,
  byDelay: { "10s": 40 },
  oldestMs: 3_600_000,
  last: { at: SINCE, outcome: "retry", cause: "503", endpoint: "flaky-hook[1] example.com" },
});

const EXPIRED: DeadLetterView = {
  at: SINCE,
  stage: "deliver",
  reason: "expired",
  error: "No endpoint accepted the delivery within its retry window.",
  destination: "flaky-hook",
  messageId: "m-1",
  from: "switchyard.delays.10s/0/7",
  payload: null,
  replayedAt: null,
};

function showEverything(): void {
  site.data.poll = pollOf(
    [
      FAILING,
      deliveringReport("crm-hook"),
      deliveringReport("paused-hook", {
        state: "on-hold",
        hold: { reason: "paused", since: SINCE, until: null },
      }),
    ],
    {
      healthProblems: [
        { level: "bad", text: "flaky-hook fails.", link: "/destinations/flaky-hook" },
        { level: "warn", text: "1 destination paused.", link: "/destinations?q=paused" },
      ],
    },
  );
  site.data.results["dead-letters"] = {
    counts: [{ destination: "flaky-hook", reason: "expired", count: 3, replayed: 1 }],
    total: 3,
    replayed: 1,
    samples: [EXPIRED, { ...EXPIRED, from: "switchyard.delays.10s/0/6", replayedAt: SINCE }],
    isCut: false,
  };
  site.data.results.call = {
    steps: [
      { at: SINCE, destination: null, kind: "received", text: "received: track", tone: "quiet" },
      {
        at: SINCE,
        destination: "flaky-hook",
        kind: "attempt",
        text: "attempt 1, retry: flaky-hook[1] 503",
        tone: "warn",
      },
    ],
    finalStates: [
      { destination: "flaky-hook", text: `waits, due at ${SINCE}, attempts: 1`, tone: "warn" },
    ],
    ...{ place: null, gaps: ["There is no topic of attempts."] },
    decisions: [
      { destination: "crm-hook", gets: true, reason: "by-default", text: "it is connected" },
      {
        ...{ destination: "flaky-hook", gets: false, reason: "filtered" },
        text: 'the filter "no tests" drops the call',
      },
    ],
    requests: [
      {
        destination: "flaky-hook",
        endpoint: "flaky-hook[1] example.com",
        method: "POST",
        origin: "https://example.com",
        headers: [
          ["User-Agent", "Switchyard/1.0"],
          ["X-Api-Key", null],
        ],
        body: null,
        bodyBytes: 1_234,
        note: null,
      },
    ],
  };
  const found = { at: SINCE, messageId: "m-1", type: "track", event: "Order Completed" };
  const calls = [{ ...found, source: "web" }];
  site.data.results.calls = { calls, scanned: 12_345, since: SINCE, isCut: false };
  const attempt = { at: SINCE, messageId: "m-1", attempt: 3, decision: "retry", retryAt: SINCE };
  const attempts = [{ ...attempt, text: "flaky-hook[1] 503 in 21 ms", tone: "warn" }] as const;
  site.data.results.attempts = { isOn: true, attempts, since: SINCE, isCut: false };
  site.data.results.audiences = [
    {
      ...{ id: "vip", name: "VIP", key: "vip", members: 12_000, openSyncId: null },
      last: { syncId: "s-1", endedAt: SINCE },
      awaitingApproval: {
        syncId: "s-2",
        since: SINCE,
        removals: 9_000,
        command: "switchyard audience approve vip",
      },
      syncs: [{ syncId: "s-1", endedAt: SINCE, members: 12_000 }],
      history: {
        fromMs: Date.parse(SINCE),
        stepMs: 60_000,
        values: { members: [null, 11_000, 12_000] },
      },
    },
  ];
}

/** Increases the counters, like a running process. */
function countOn(): void {
  const flow = Float64Array.from(site.data.counters.flow);
  for (const place of Object.values(FLOW_AT)) flow[place] = (flow[place] ?? 0) + 10;
  const row = Float64Array.from(
    site.data.counters.destinations.get("flaky-hook") ?? new Float64Array(DESTINATION_WIDTH),
  );
  row[AT.responses + 4] = (row[AT.responses + 4] ?? 0) + 10;
  row[AT.buckets + 2] = (row[AT.buckets + 2] ?? 0) + 10;
  const filtered = AT.skipped + SKIP_REASONS.indexOf("filtered");
  row[filtered] = (row[filtered] ?? 0) + 10;
  site.data.counters = {
    ...site.data.counters,
    flow,
    destinations: new Map([["flaky-hook", row]]),
  };
}

const VIEWS = [
  ["/", "flaky-hook fails."],
  ["/destinations", "flaky-hook"],
  ["/destinations/flaky-hook", "flaky-hook[1] example.com"],
  ["/dead-letters", "No endpoint accepted the delivery within its retry window."],
  ["/calls/m-1", "attempt 1, retry: flaky-hook[1] 503"],
  ["/calls/m-1", 'the filter "no tests" drops the call'],
  ["/calls?user=0a1b", "Order Completed"],
  ["/audiences", "9,000 of 12,000 members would be removed"],
  ["/configuration", "host-1:9464"],
] as const;

for (const [path, words] of VIEWS) {
  test(`${path} says its words, and breaks no rule of WCAG: light, dark, phone`, async ({
    skip,
  }) => {
    if (browser === null) return skip(NO_CHROMIUM);
    showEverything();
    await using opened = await open(path);
    const { page } = opened;
    await page.getByText(words).first().waitFor();
    await page.getByText(LIVE).waitFor();
    expect(await brokenLooks(page)).toEqual([]);
    expect(opened.errors).toEqual([]);
  });
}

test("a sync awaiting approval names the command where nobody may act; a plot says once what it counts", async ({
  skip,
}) => {
  if (browser === null) return skip(NO_CHROMIUM);
  showEverything();
  await using opened = await open("/audiences");
  await opened.page
    .getByText("If this is correct: switchyard audience approve vip")
    .first()
    .waitFor();
  const legend = opened.page.locator(".legend");
  expect(await legend.allTextContents()).toEqual(["members 12,000"]);
});

test("a view that breaks a rule of WCAG is found", async ({ skip }) => {
  if (browser === null) return skip(NO_CHROMIUM);
  await using opened = await open("/audiences");
  await opened.page.getByText(LIVE).waitFor();
  await opened.page.evaluate("document.querySelector('h1').style.color = '#ccc'");
  expect((await brokenRules(opened.page)).join()).toContain("color-contrast");
});

test("rates and plots follow the counters", async ({ skip }) => {
  if (browser === null) return skip(NO_CHROMIUM);
  showEverything();
  countOn();
  await using opened = await open("/");
  const rate = opened.page.locator('[data-node="calls"] .rate b');
  await rate.waitFor();
  const counting = setInterval(countOn, 500);
  try {
    await expect
      .poll(async () => Number((await rate.textContent())?.replace(/\D/g, "")))
      .toBeGreaterThan(60);
  } finally {
    clearInterval(counting);
  }
  await opened.page.getByText("flaky-hook fails.").click();
  await opened.page.getByRole("heading", { name: "flaky-hook", level: 1 }).waitFor();
  await expect
    .poll(
      async () => await opened.page.locator(".plot .legend li", { hasText: "5xx" }).textContent(),
    )
    .toMatch(/5xx [1-9]/);
  const skipped = opened.page.getByRole("region", { name: "Skipped calls per hour" });
  await skipped.waitFor();
  expect(await skipped.locator("thead th").allTextContents()).toEqual(["Hour from", "filtered"]);
  expect(await skipped.locator("tbody td").first().textContent()).toMatch(/^[1-9]/);
  await opened.page.getByText("a filter drops the call").waitFor();
  expect(await brokenRules(opened.page)).toEqual([]);
  await opened.page.goBack();
  await opened.page.getByRole("heading", { name: "Received" }).waitFor();
  expect(opened.errors).toEqual([]);
});

test("of a thousand destinations some are in the document, and all are found", async ({ skip }) => {
  if (browser === null) return skip(NO_CHROMIUM);
  const many = Array.from({ length: 1_000 }, (_, index) =>
    deliveringReport(`hook-${`${index}`.padStart(4, "0")}`, { waiting: index }),
  );
  site.data.poll = pollOf([FAILING, ...many]);
  await using opened = await open("/destinations");
  const { page } = opened;
  await page.getByText("1001 shown").waitFor();
  const names = page.locator("table.rows tbody th a");
  // Failing destinations are first.
  await expect.poll(() => names.first().textContent()).toBe("flaky-hook");
  expect(await names.count()).toBeLessThan(80);
  await page.keyboard.press("End");
  await page.getByRole("link", { name: "hook-0999" }).waitFor();
  expect(await names.count()).toBeLessThan(80);
  await page.evaluate("scrollTo(0, 0)");
  await page.getByRole("button", { name: "Queued" }).click();
  await expect.poll(() => names.first().textContent()).toBe("flaky-hook");
  await page.getByRole("button", { name: "Queued" }).click();
  await expect.poll(() => names.first().textContent()).toBe("hook-0000");
  expect(page.url()).toContain("sort=queued");
  await page.keyboard.press("/");
  await page.keyboard.type("hook-01 delivering");
  await page.getByText("100 of 1001 shown").waitFor();
  await using shared = await open(new URL(page.url()).pathname + new URL(page.url()).search);
  await shared.page.getByText("100 of 1001 shown").waitFor();
  expect([...opened.errors, ...shared.errors]).toEqual([]);
});

test.for([
  ["/calls", "Find a call"],
  ["/", "Find a call"],
  ["/destinations", "Search"],
] as const)(
  "on %s, the key / moves the focus to %s, and can be typed there",
  async ([path, label], { skip }) => {
    if (browser === null) return skip(NO_CHROMIUM);
    await using opened = await open(path);
    const { page } = opened;
    await page.getByLabel(label).waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("a/b");
    expect(await page.getByLabel(label).inputValue()).toBe("a/b");
  },
);

test.for([1_280, 1_440])("at %i pixels, no heading is cut off", async (width, { skip }) => {
  if (browser === null) return skip(NO_CHROMIUM);
  showEverything();
  await using opened = await open("/destinations?sort=delivered");
  const { page } = opened;
  await page.setViewportSize({ width, height: 900 });
  await page.locator("table.rows th button").first().waitFor();
  const cut = await page.evaluate(`[...document.querySelectorAll("table.rows thead th")]
    .filter((th) => {
      const range = document.createRange();
      range.selectNodeContents(th);
      const [text, cell] = [range.getBoundingClientRect(), th.getBoundingClientRect()];
      return text.left < cell.left - 0.5 || text.right > cell.right + 0.5;
    })
    .map((th) => th.textContent)`);
  expect(cut).toEqual([]);
});

test("a chart without data says so, and shows its lines when there are two points", async ({
  skip,
}) => {
  if (browser === null) return skip(NO_CHROMIUM);
  await using fresh = await startTestConsole();
  await using opened = await openView(browser, fresh.url, "/");
  const { page } = opened;
  await page.locator(".plot").getByText("No data yet.").waitFor();
  expect(await page.locator(".spark").first().textContent()).toBe("no data yet");
  expect(await brokenRules(page)).toEqual([]);
});

test("names, sentences and values that want to be scripts are only read", async ({ skip }) => {
  if (browser === null) return skip(NO_CHROMIUM);
  const hostile = deliveringReport(HOSTILE, {
    failingSince: SINCE,
    last: { at: SINCE, outcome: "retry", cause: HOSTILE, endpoint: HOSTILE },
    note: HOSTILE,
    endpoints: [
      {
        name: HOSTILE,
        id: "1",
        origin: `javascript:document.title='run'`,
        circuit: "open",
        failingSince: SINCE,
        failedShare: 1,
        unavailable: { reason: "circuit-open", since: SINCE, until: SINCE },
        last: { at: SINCE, outcome: "retry", cause: HOSTILE },
      },
    ],
  });
  site.data.poll = pollOf([hostile], {
    kafkaError: HOSTILE,
    healthProblems: [{ level: "bad", text: HOSTILE, link: null }],
    delayTopics: [
      { delay: HOSTILE, waiting: 1, oldestMs: null, dueInMs: null, retired: true, note: null },
    ],
    deadLetters: { retained: 1, lastDay: 1, byReason: { [HOSTILE]: 1 }, replayed: 0 },
    configured: { [HOSTILE]: { name: HOSTILE } },
  });
  const deadLetter = { ...EXPIRED, reason: HOSTILE, error: HOSTILE, destination: HOSTILE };
  site.data.results["dead-letters"] = {
    counts: [{ destination: HOSTILE, reason: HOSTILE, count: 1, replayed: 0 }],
    total: 1,
    replayed: 0,
    samples: [
      { ...deadLetter, messageId: HOSTILE, payload: HOSTILE, from: HOSTILE, stage: HOSTILE },
    ],
    isCut: false,
  };
  const audience = { id: HOSTILE, name: HOSTILE, key: HOSTILE, members: 1, openSyncId: null };
  const awaitingApproval = { syncId: HOSTILE, since: SINCE, removals: 1, command: HOSTILE };
  const last = { syncId: HOSTILE, endedAt: SINCE };
  const syncs = [{ ...last, members: 1 }];
  site.data.results.audiences = [{ ...audience, last, awaitingApproval, syncs, history: null }];
  const step = {
    at: SINCE,
    destination: HOSTILE,
    kind: HOSTILE,
    text: HOSTILE,
    tone: "bad",
  } as const;
  const request = {
    ...{ destination: HOSTILE, endpoint: HOSTILE, method: HOSTILE, origin: HOSTILE, note: null },
    ...{ headers: [[HOSTILE, HOSTILE] as const], body: HOSTILE, bodyBytes: 1 },
  };
  const call = { at: SINCE, messageId: HOSTILE, type: HOSTILE, event: HOSTILE, source: HOSTILE };
  site.data.results.calls = { calls: [call], scanned: 1, since: SINCE, isCut: true };
  const attempt = { at: SINCE, messageId: HOSTILE, attempt: 1, decision: HOSTILE, text: HOSTILE };
  site.data.results.attempts = {
    ...{ isOn: true, since: SINCE, isCut: true },
    attempts: [{ ...attempt, retryAt: SINCE, tone: "bad" }],
  };
  const decisions = [{ destination: HOSTILE, gets: false, reason: HOSTILE, text: HOSTILE }];
  const found = { steps: [step], finalStates: [step], gaps: [HOSTILE] };
  site.data.results.call = { place: null, ...found, decisions, requests: [request] };
  site.data.results.configuration = { yaml: HOSTILE, hash: "0123456789ab" };
  const paths = [
    ...["/", "/destinations", `/destinations/${encodeURIComponent(HOSTILE)}`, "/dead-letters"],
    ...["/audiences", "/configuration", `/calls/${encodeURIComponent(HOSTILE)}`],
    "/calls?user=0a1b",
    `/dead-letters?reason=${encodeURIComponent(HOSTILE)}`,
    `/destinations?q=${encodeURIComponent(HOSTILE)}&sort=${encodeURIComponent(HOSTILE)}`,
  ];
  for (const path of paths) {
    await using opened = await open(path);
    if (!path.includes("q="))
      await opened.page.getByText("onerror=").first().waitFor({ state: "attached" });
    expect(await scriptsRun(opened.page), path).toEqual([]);
    expect(opened.errors, path).toEqual([]);
  }
});

test("the calls of a user are found, and the id gets into no address", async ({ skip }) => {
  if (browser === null) return skip(NO_CHROMIUM);
  showEverything();
  await using opened = await open("/");
  const { page } = opened;
  const asked: string[] = [];
  page.on("request", (request) => asked.push(request.url()));
  await page.getByLabel("Calls of a user").fill(" ada@example.com ");
  await page.keyboard.press("Enter");
  await page.getByText("12,345 records were read.").waitFor();
  expect(page.url()).toMatch(/\/calls\?user=[\da-f]{32}$/);
  expect(asked.join()).not.toMatch(/ada|example\.com/);
  // The address can be shared: it opens the call.
  await page.reload();
  await page.getByRole("link", { name: "m-1" }).click();
  await page.getByText("flaky-hook[1] example.com").click();
  await page.getByText("X-Api-Key: (hidden)").waitFor();
  // Instants in sentences are also shown in the time zone of the user, which is Tokyo.
  const finalState = page.locator(".final-states li");
  expect(await finalState.textContent()).toMatch(/due at .*17:00:00, attempts/);
  expect(await finalState.locator("time").getAttribute("title")).toBe("2026-03-01 08:00:00 UTC");
  await page.getByText("(1,234 bytes, shown with console.showPayloads: true)").waitFor();
  expect(opened.errors).toEqual([]);
});

test("the latest calls appear while the list is open", async ({ skip }) => {
  if (browser === null) return skip(NO_CHROMIUM);
  showEverything();
  const call = { at: SINCE, messageId: "m-1", type: "track", event: null, source: "web" };
  site.data.results.calls = { calls: [call], scanned: 1, since: SINCE, isCut: false };
  await using opened = await open("/calls");
  const { page } = opened;
  await page.getByRole("link", { name: "m-1" }).waitFor();
  site.data.results.calls = {
    ...site.data.results.calls,
    calls: [{ ...call, messageId: "m-2" }, call],
  };
  await page.getByRole("link", { name: "m-2" }).waitFor();
  expect(opened.errors).toEqual([]);
});

test("the overview lists what needs attention, and an unknown address leads on", async ({
  skip,
}) => {
  if (browser === null) return skip(NO_CHROMIUM);
  showEverything();
  await using opened = await open("/nothing/here");
  const { page } = opened;
  await page.getByText("This page does not exist.").waitFor();
  await page.getByRole("link", { name: "overview", exact: true }).click();
  const worst = page.getByRole("region", { name: "Need attention", exact: true });
  await worst.getByRole("link", { name: "flaky-hook" }).waitFor();
  expect(await worst.getByRole("row").count()).toBe(2);
  expect(await worst.textContent()).toContain("503, will be retried");
});

test("on a phone no cell of a table covers another one", async ({ skip }) => {
  if (browser === null) return skip(NO_CHROMIUM);
  showEverything();
  await using opened = await open("/destinations");
  const { page } = opened;
  await page.setViewportSize({ width: 375, height: 700 });
  await page.getByRole("link", { name: "flaky-hook" }).waitFor();
  const overlaps =
    await page.evaluate(`[...document.querySelectorAll("table.rows tr")].flatMap((row) => {
    const cells = [...row.children].filter((cell) => cell.getClientRects().length > 0);
    return cells.flatMap((cell, index) => {
      const range = document.createRange();
      range.selectNodeContents(cell);
      const next = cells[index + 1]?.getBoundingClientRect().left ?? window.innerWidth;
      const isClipped = getComputedStyle(cell).overflow === "hidden";
      const { right } = (isClipped ? cell : range).getBoundingClientRect();
      return right > next + 1 ? [cell.textContent] : [];
    });
  })`);
  expect(overlaps).toEqual([]);
});

test("a destination whose attempts are not written down says so", async ({ skip }) => {
  if (browser === null) return skip(NO_CHROMIUM);
  showEverything();
  await using opened = await open("/destinations/flaky-hook");
  await opened.page.getByText("flaky-hook[1] 503 in 21 ms").waitFor();
  site.data.results.attempts = { isOn: false, attempts: [], since: null, isCut: false };
  await opened.page.getByRole("button", { name: "Refresh" }).click();
  await opened.page.getByText("Attempts are not recorded").waitFor();
});

test("Kafka unreachable is said on every view that needs it, and its end is seen", async ({
  skip,
}) => {
  if (browser === null) return skip(NO_CHROMIUM);
  const unreachable = {
    kafkaError: "no broker responds",
    deadLetters: null,
    stages: [],
    delayTopics: [],
  };
  site.data.poll = pollOf([FAILING], {
    ...unreachable,
    healthProblems: [
      { level: "bad", text: "Kafka is unreachable: no broker responds", link: null },
    ],
  });
  for (const path of ["/", "/destinations", "/destinations/flaky-hook"]) {
    await using opened = await open(path);
    await opened.page.getByText("Kafka is unreachable: no broker responds").waitFor();
    await opened.page.getByText(/^▲ Kafka is unreachable$/).waitFor();
  }
  site.data.poll = pollOf([deliveringReport("crm-hook")], unreachable);
  await using opened = await open("/");
  await opened.page.getByText(/^▲ Kafka is unreachable$/).waitFor();
  await opened.page.getByText("No destination is known to be failing or on hold.").waitFor();
  expect(await opened.page.locator('[data-node="endpoints"].good').count()).toBe(0);
  showEverything();
  await opened.page.getByText(LIVE).waitFor();
});

test("a token is asked for once, and nothing is seen before", async ({ skip }) => {
  if (browser === null) return skip(NO_CHROMIUM);
  await using guarded = await startTestConsole({ token: "0123456789abcdef" });
  guarded.data.poll = pollOf([deliveringReport("crm-hook")]);
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(new URL("/destinations", guarded.url).href);
  const field = page.getByLabel("Token");
  await field.waitFor();
  expect(guarded.data.polls).toBe(0);
  expect(await brokenRules(page)).toEqual([]);
  await field.fill("wrong");
  await page.keyboard.press("Enter");
  await page.getByText("The token is wrong.").waitFor();
  await field.fill("0123456789abcdef");
  await page.keyboard.press("Enter");
  await page.getByRole("link", { name: "crm-hook" }).waitFor();
  expect(await page.evaluate("document.cookie")).toBe("");
  await page.reload();
  await page.getByRole("link", { name: "crm-hook" }).waitFor();
  await page.getByRole("button", { name: "Sign out" }).click();
  await field.waitFor();
  await context.close();
});

test("a server that is gone is said, and found again by itself", async ({ skip }) => {
  if (browser === null) return skip(NO_CHROMIUM);
  const first = await startTestConsole();
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(first.url);
  await page.getByText(LIVE).waitFor();
  await first[Symbol.asyncDispose]();
  await page.getByText(/No connection, data from \d+s ago/).waitFor();
  expect(await page.locator("main.stale").count()).toBe(1);
  await using _second = await startTestConsole({ port: first.port });
  await page.getByText(LIVE).waitFor();
  expect(await page.locator("main.stale").count()).toBe(0);
  await context.close();
});

/** Serves the console below `/tools/switchyard/`, like a reverse proxy with a different `Host`. */
async function proxyBelowPath(target: string): Promise<Disposable & { readonly url: string }> {
  const prefix = "/tools/switchyard";
  const proxy = createServer((request, response) => {
    const { url = "/", method, headers } = request;
    if (!url.startsWith(`${prefix}/`)) return void response.writeHead(404).end();
    const own = { ...headers, host: new URL(target).host };
    const onward = httpRequest(
      new URL(url.slice(prefix.length), target),
      { method, headers: own },
      (upstream) => {
        response.writeHead(upstream.statusCode ?? 502, upstream.headers);
        upstream.pipe(response);
      },
    );
    onward.on("error", () => response.destroy());
    response.on("close", () => onward.destroy());
    request.pipe(onward);
  });
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  const { port } = proxy.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}${prefix}/`,
    [Symbol.dispose]: () => {
      proxy.closeAllConnections();
      proxy.close();
    },
  };
}

test("below a path of a reverse proxy all that its documents name is there", async () => {
  using proxy = await proxyBelowPath(site.url);
  for (const path of ["", "destinations", "destinations/crm", "calls/m-1"]) {
    const address = new URL(path, proxy.url);
    const text = await (await fetch(address)).text();
    const named = [...text.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, to = ""]) => to);
    expect(named).toHaveLength(3);
    for (const to of named) expect((await fetch(new URL(to, address))).status).toBe(200);
  }
});

test("below a path of a reverse proxy one can look, follow links, load again and act", async ({
  skip,
}) => {
  if (browser === null) return skip(NO_CHROMIUM);
  await using acting = await startTestConsole({ readOnly: false });
  acting.data.poll = pollOf([deliveringReport("crm-hook")]);
  using proxy = await proxyBelowPath(acting.url);
  await using view = await openView(browser, proxy.url, "destinations");
  const { page, errors } = view;
  await page.getByRole("link", { name: "crm-hook" }).click();
  await page.waitForURL(`${proxy.url}destinations/crm-hook`);
  await page.reload();
  await page.getByText(LIVE).waitFor();
  await page.getByRole("button", { name: "Pause" }).first().click();
  await page.getByRole("dialog").getByRole("button", { name: "Pause" }).click();
  await expect.poll(() => acting.data.acted.length).toBe(1);
  expect(errors).toEqual([]);
});
