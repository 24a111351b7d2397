// Actions in the console, in a real Chromium, with the program as a child process and a real Kafka, compared with what
// the receiver gets.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";

import { freePort } from "../../tools/kafka/free-port.ts";
import { buildPage } from "../../tools/page/build.ts";
import { NO_CHROMIUM } from "../support/servers/chromium.ts";
import { launchChromium, openView } from "../support/servers/page-views.ts";
import { controlledPrograms } from "../support/worlds/controlled-programs.ts";

/** Much more than is needed, because the machine may be busy. */
const SOON = { interval: 50 };

let browser: Browser | null = null;
beforeAll(async () => {
  browser = await launchChromium();
  if (browser !== null) await buildPage();
});
afterAll(() => browser?.close());

const idsOf = (all: readonly { readonly id: string }[]) => all.map(({ id }) => id);
const numberOf = (all: readonly { readonly id: string }[]) => new Set(idsOf(all)).size;

/** Resolves when the last action with this name has ended with these words. */
function ended(page: Page, name: string, words: string) {
  const jobs = page.getByRole("list", { name: "Actions" }).getByRole("listitem");
  return jobs.filter({ hasText: name }).first().filter({ hasText: words }).waitFor();
}

function press(page: Page, name: string) {
  return page.getByRole("button", { name, exact: true }).click();
}

/** Starts a process with all stages that deliver, which also serves the console. It ends with the test. */
async function startActing(more: object = {}) {
  const programs = await controlledPrograms();
  const port = await freePort();
  const console = { port, readOnly: false };
  const world = programs.worldOf("10m", { console, ...more });
  const program = await world.ready("route,audience,deliver,delay,console");
  const open = async (within: Browser, path: string) => {
    const view = await openView(within, `http://127.0.0.1:${port}`, path);
    onTestFinished(() => view[Symbol.asyncDispose]());
    return view;
  };
  return { ...programs, world, program, open };
}

async function openCrm(within: Browser) {
  const programs = await startActing();
  const { program } = programs;
  const { page, errors } = await programs.open(within, "/destinations/crm");
  const accepted = (id: string) => numberOf(programs.receiver.accepted(id));
  const state = page.locator(".head .state");
  return { ...programs, program, page, state, errors, accepted };
}

test("pause, resume, retry and wait act on their destination as documented, and on no other", async ({
  skip,
}) => {
  if (browser === null) return skip(NO_CHROMIUM);
  const opened = await openCrm(browser);
  const { receiver, publish, ledger, program, page, state, errors, accepted } = opened;
  await press(page, "Pause…");
  await page.getByLabel("For").selectOption({ label: "1 hour" });
  await press(page, "Pause");
  await ended(page, "Pause for 1h", "Paused: crm until");
  await state.filter({ hasText: "paused" }).waitFor();
  await publish(20);
  await expect.poll(() => accepted("other"), SOON).toBe(ledger.length);
  expect(accepted("crm")).toBe(0);
  await press(page, "Resume");
  await ended(page, "Resume", "Resumed: crm.");
  await expect.poll(() => accepted("crm"), SOON).toBe(ledger.length);
  await page.getByRole("button", { name: "Pause…" }).waitFor();

  receiver.refusing.add("crm");
  await publish(10, 10);
  await expect.poll(() => numberOf(receiver.refused("crm")), SOON).toBeGreaterThan(5);
  receiver.refusing.clear();
  const isIdle = () => accepted("crm") + numberOf(receiver.refused("crm")) >= ledger.length;
  await expect.poll(isIdle, SOON).toBe(true);
  expect(accepted("crm")).toBeLessThan(ledger.length);
  await press(page, "Retry now");
  await ended(page, "Retry now", "Retrying now:");
  await expect.poll(() => accepted("crm"), SOON).toBe(ledger.length);
  await press(page, "Wait");
  await ended(page, "Wait", "Nothing is left.");

  expect(program.lines.find(({ msg }) => msg === "console.action.started")).toMatchObject({
    action: { action: "pause", destination: "crm", pauseForMs: 3_600_000 },
    by: "no token required",
    from: "127.0.0.1",
  });
  expect(errors).toEqual([]);
});

test("cancel and replays count first, and do what was counted", async ({ skip }) => {
  if (browser === null) return skip(NO_CHROMIUM);
  const opened = await openCrm(browser);
  const { receiver, publish, ledger, headersIn, page, state, errors, accepted } = opened;
  await publish(20);
  await expect.poll(() => accepted("crm"), SOON).toBe(ledger.length);
  await press(page, "Pause…");
  await press(page, "Pause");
  await state.filter({ hasText: "paused" }).waitFor();
  const before = accepted("crm");
  await publish(30);
  await expect.poll(() => accepted("other"), SOON).toBe(ledger.length);
  // The route stage may write the last deliveries of one destination after those of the other have arrived.
  await page.getByText("30 queued, not attempted yet").waitFor();
  await press(page, "Cancel…");
  await press(page, "Count first");
  await page.getByText("30 deliveries would be cancelled.").waitFor();
  expect(await headersIn("dead-letters")).toEqual([]);
  await press(page, "Cancel 30 deliveries");
  await ended(page, "Cancel", "Cancelled: 30 deliveries.");
  await expect.poll(async () => (await headersIn("dead-letters")).length, SOON).toBe(30);
  await press(page, "Resume");
  await page.getByRole("button", { name: "Pause…" }).waitFor();
  expect(accepted("crm")).toBe(before);

  await page.getByRole("link", { name: "Its dead letters" }).click();
  await press(page, "Replay these…");
  await press(page, "Count first");
  await page.getByText("30 dead letters to replay.").waitFor();
  await press(page, "Replay 30 dead letters");
  await ended(page, "Replay of dead letters", "30 of 30 replayed.");
  await expect.poll(() => accepted("crm"), SOON).toBe(ledger.length);

  await page.goBack();
  const whole = receiver.accepted("crm").length;
  await press(page, "Replay…");
  await page.getByLabel("Type").selectOption("track");
  await press(page, "Count first");
  await page.getByText(`${ledger.length} would be written.`).waitFor();
  expect(receiver.accepted("crm").length).toBe(whole);
  await press(page, `Replay ${ledger.length} calls`);
  await ended(page, "Replay of calls", `${ledger.length} written.`);
  await expect.poll(() => receiver.accepted("crm").length, SOON).toBe(whole + ledger.length);
  expect(numberOf(receiver.accepted("crm"))).toBe(ledger.length);
  expect(accepted("other")).toBe(ledger.length);
  expect(receiver.accepted("other").length).toBe(ledger.length);
  expect(errors).toEqual([]);
});

test("a sync is approved by its button, once, and the users are removed", async ({ skip }) => {
  if (browser === null) return skip(NO_CHROMIUM);
  const audienceDefaults = { source: "web", approvalShare: 0.1, approvalMinimum: 0 };
  const { world, receiver, open, program } = await startActing({ audienceDefaults });
  const users = join(world.directory, "users.txt");
  const sync = async (...ids: readonly string[]) => {
    writeFileSync(users, ids.join("\n"));
    const publish = ["audience", "publish", "--name", "VIP", "--file", users];
    expect(await world.command(publish)).toMatchObject({ status: 0 });
  };
  const reported = () => receiver.accepted("crm").map(({ user }) => user);
  const four = ["u-1", "u-2", "u-3", "u-4"];
  await sync(...four);
  await expect.poll(() => reported().toSorted(), SOON).toEqual(four);
  await sync("u-1", "u-4");
  // The first sync needed no approval.
  await program.logged("audience.sync.ended", 2);

  const { page, errors } = await open(browser, "/audiences");
  await page.getByText("2 of 4 members would be removed").waitFor();
  await press(page, "Approve… vip");
  const dialog = page.getByRole("dialog", { name: "Approve the sync of vip" });
  await dialog.getByText("2 members of vip leave, and each destination is notified.").waitFor();
  expect(reported()).toHaveLength(4);
  await press(page, "Approve: 2 members leave");
  await ended(page, "Approval of vip", "Approved: 2 users will be removed.");
  for (const destination of ["crm", "other"]) {
    const all = () => receiver.accepted(destination).map(({ user }) => user);
    await expect.poll(() => all().slice(4).toSorted(), SOON).toEqual(["u-2", "u-3"]);
  }
  // The calls for users are sent before the topic of audiences shows that the sync has ended.
  const readAgain = async () => {
    await press(page, "Refresh");
    return page.getByText(/Up to date$/).count();
  };
  await expect.poll(readAgain, { ...SOON, interval: 500 }).toBe(1);
  expect(await page.getByRole("button", { name: "Approve…" }).count()).toBe(0);
  expect((await world.command(["audience", "members", "vip"])).out).toBe("u-1\nu-4\n");
  expect(program.lines.find(({ msg }) => msg === "console.action.started")).toMatchObject({
    action: { action: "approve", audience: "vip" },
  });
  expect(errors).toEqual([]);
});
