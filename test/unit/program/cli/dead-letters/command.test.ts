// `switchyard dead-letters` on a Kafka in memory: the output, and the exit status.

import { expect, test } from "vitest";
import { deliveryHeaders } from "../../../../../src/domain/delivery.ts";
import type { DestinationId } from "../../../../../src/domain/ids.ts";
import type { DestinationRules } from "../../../../../src/domain/rules.ts";
import {
  type DeadLetterFilter,
  EVERY_DEAD_LETTER,
} from "../../../../../src/operator/replay/dead-letter-record.ts";
import { listDeadLetters } from "../../../../../src/program/cli/dead-letters/list.ts";
import type { ReplayOptions } from "../../../../../src/program/cli/dead-letters/replay.ts";
import { runProgram } from "../../../../../src/program/cli/program.ts";
import { suppressionOf } from "../../../../support/build/suppressions.ts";
import { deliveryOf } from "../../../../support/build/webhook-destination.ts";
import { fakeShell } from "../../../../support/worlds/fake-shell.ts";
import {
  deadLetterRecord,
  newReplay,
  ReplayWorld,
  replayCommand,
  resumedReplay,
  topics,
} from "../../../../support/worlds/replay-world.ts";

const AT_MS = Date.UTC(2026, 2, 1, 9, 30, 15);
const never = new AbortController().signal;

async function list(
  world: ReplayWorld,
  given: { limit?: number; json?: boolean; filter?: Partial<DeadLetterFilter> } = {},
) {
  const shell = fakeShell();
  const { limit = null, json = false, filter } = given;
  const options = {
    filter: { ...EVERY_DEAD_LETTER, ...filter },
    limit,
    json,
    topics,
    destinations: world.destinations,
    registry: null,
    signal: never,
  };
  const status = await world.finish(listDeadLetters(world.cluster.connect(), options, shell));
  return { status, lines: shell.output().split("\n"), err: shell.errors() };
}

async function replay(world: ReplayWorld, given: Partial<ReplayOptions> = {}) {
  const { shell, ended } = replayCommand(world, given);
  const status = await world.finish(ended);
  return { status, out: shell.output(), err: shell.errors() };
}

async function mixed(): Promise<ReplayWorld> {
  const world = new ReplayWorld();
  await world.fill(2, () => ({ failedAtMs: AT_MS, error: "every endpoint rejected it" }));
  await world.clock.advance(1);
  const gone = "gone" as DestinationId;
  world.cluster.append(deadLetterRecord({ destination: gone }, { failedAtMs: AT_MS + 1_000 }));
  await world.clock.advance(1);
  world.cluster.append(
    deadLetterRecord(
      {},
      {
        stage: "route",
        reason: "unknown-source",
        topic: topics.calls,
        headers: [],
        error: "no source\u001b[31m",
        failedAtMs: AT_MS + 2_000,
      },
    ),
  );
  return world;
}

test("list prints a table that lines up, the counts, and what a replay would do", async () => {
  const { status, lines } = await list(await mixed());
  expect(status).toBe(0);
  expect(lines).toEqual([
    "TIME (UTC)           STAGE    REASON          DESTINATION  MESSAGE ID  FROM                    REPLAYED  ERROR",
    "2026-03-01 09:30:15  deliver  rejected        crm          m-0         sw.deliveries.crm/1/7   -         every endpoint rejected it",
    "2026-03-01 09:30:15  deliver  rejected        crm          m-1         sw.deliveries.crm/1/7   -         every endpoint rejected it",
    "2026-03-01 09:30:16  deliver  rejected        gone         m-1         sw.deliveries.gone/1/7  -         every endpoint rejected it",
    // Data from outside cannot control the terminal.
    "2026-03-01 09:30:17  route    unknown-source  -            -           sw.calls/1/7            -         no source\\u001b[31m",
    "",
    "DESTINATION  REASON          COUNT  REPLAY",
    "crm          rejected        2      sw.deliveries.crm",
    "gone         rejected        1      no: the destination gone is not configured",
    "-            unknown-source  1      sw.calls",
    "",
    "4 dead letters match.",
    "",
  ]);
});

test("list shows the newest where there are more, counts all, and filters", async () => {
  const world = new ReplayWorld();
  await world.fill(120, () => ({ failedAtMs: AT_MS }));
  const all = await list(world);
  expect(all.lines.at(-2)).toBe("120 dead letters match; the newest 50 are shown (--limit).");
  expect(all.lines.filter((line) => line.startsWith("2026"))).toHaveLength(50);
  const two = await list(world, { limit: 2 });
  expect(two.lines.slice(1, 3).map((line) => /m-\d+/.exec(line)?.[0])).toEqual(["m-118", "m-119"]);
  const one = await list(world, { filter: { messageIds: ["m-7"] } });
  expect(one.lines.at(-2)).toBe("1 dead letter matches.");
  const none = await list(world, { filter: { reasons: ["expired"] } });
  expect(none.lines).toEqual(["No dead letters match.", ""]);
});

test("an unknown destination is named, also if others match; a removed one is explained", async () => {
  const destinations = (...ids: readonly string[]) => ({ ...EVERY_DEAD_LETTER, destinations: ids });
  const plan = (ids: readonly string[], limit: number | null = null) => {
    return { chosen: newReplay({ filter: destinations(...ids), limit }) };
  };
  const unknown =
    'no destination has the ID "crn", and no dead letter that matches is for it. Configured: crm. ' +
    "Did you mean crm?";
  for (const ids of [["crn"], ["crm", "crn"]]) {
    const world = await mixed();
    await expect(list(world, { filter: destinations(...ids) })).rejects.toThrow(unknown);
    await expect(replay(world, plan(ids))).rejects.toThrow(unknown);
    expect(world.cluster.records(topics.deliveries("crm" as DestinationId))).toEqual([]);
  }
  const removed = await replay(await mixed(), plan(["gone"]));
  expect(removed.status).toBe(1);
  expect(removed.err).toContain("1 not replayed: the destination gone is not configured");
  expect(await replay(await mixed(), plan(["crm", "gone"], 1))).toMatchObject({ status: 0 });
  const world = await mixed();
  await replay(world);
  const done = await replay(world, plan(["crm"]));
  expect(done.status).toBe(0);
  expect(done.out).toContain("--include-replayed");
  const other = { ...destinations("crm"), reasons: ["expired"] } as const;
  expect((await list(world, { filter: other })).lines).toEqual(["No dead letters match.", ""]);
});

test("list --json prints one object a line with all that is known", async () => {
  const world = await mixed();
  const { lines } = await list(world, { json: true });
  const deadLetters = lines
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as unknown);
  expect(deadLetters).toHaveLength(4);
  expect(deadLetters[0]).toEqual({
    failedAt: "2026-03-01T09:30:15.000Z",
    stage: "deliver",
    reason: "rejected",
    error: "every endpoint rejected it",
    destination: "crm",
    endpoint: null,
    endpointName: null,
    messageId: "m-0",
    from: { topic: "sw.deliveries.crm", partition: 1, offset: 7 },
    deadLetter: { topic: topics.deadLetters, partition: 1, offset: 0 },
    replayed: null,
    bytes: 16,
  });
  expect((await list(world, { json: true, limit: 1 })).lines).toHaveLength(2);
});

test("replay says before it sends that newer rules do not apply, if there are rules", async () => {
  const world = await mixed();
  const notice = "Deliveries are sent as they were written";
  expect((await replay(world, { dryRun: true })).out).not.toContain(notice);
  const rules: Partial<DestinationRules> = {
    consent: { categories: ["Ads"], match: "all", required: true },
  };
  const destinations = (id: string) =>
    world.destinations.map((each) => (each.id === id ? { ...each, ...rules } : each));
  const { out } = await replay(world, { dryRun: true, destinations: destinations("crm") });
  expect(out).toContain(notice);
  expect((await replay(world, { destinations: destinations("crm") })).out).toContain(notice);
});

test("replay --dry-run counts and sends nothing", async () => {
  const world = await mixed();
  const { status, out, err } = await replay(world, { dryRun: true });
  expect(status).toBe(0);
  expect(out).toContain("4 dead letters to replay; 1 cannot be replayed.");
  expect(out).toContain("routed again");
  expect(out).toContain("Nothing was replayed (--dry-run).");
  expect(err).toBe("");
  expect(world.delivered()).toEqual([]);
});

test("replay sends, and says what it did not send and why", async () => {
  const world = await mixed();
  const { status, out, err } = await replay(world);
  expect(status).toBe(1);
  expect(world.delivered()).toEqual(["m-0", "m-1"]);
  expect(world.cluster.records(topics.calls)).toHaveLength(1);
  expect(out).toContain("3 of 4 replayed, 1 rejected.");
  expect(err).toContain("1 not replayed: the destination gone is not configured");
});

test("a second replay sends nothing, --include-replayed sends; list and --json distinguish replayed from waiting", async () => {
  const world = new ReplayWorld();
  await world.fill(5, (number) => ({ reason: number < 2 ? "rejected" : "expired" }));
  const rejected = { ...EVERY_DEAD_LETTER, reasons: ["rejected" as const] };
  await replay(world, { chosen: newReplay({ filter: rejected }) });
  const listed = await list(world);
  expect(listed.lines.slice(-3)).toEqual([
    "5 dead letters match.",
    "2 have been replayed, 3 have not.",
    "",
  ]);
  const deadLetters = (await list(world, { json: true })).lines.slice(0, 5);
  const replayed = deadLetters.map((line) => (JSON.parse(line) as { replayed: unknown }).replayed);
  const mark = { at: expect.any(String), replay: expect.any(String) };
  expect(replayed).toEqual([mark, mark, null, null, null]);

  const rest = await replay(world);
  expect(rest.out).toContain(
    "3 dead letters to replay. 2 were replayed before and will be skipped (--include-replayed).",
  );
  expect(world.delivered()).toHaveLength(5);
  const nothing = await replay(world);
  expect(nothing).toMatchObject({
    status: 0,
    out: "0 dead letters to replay. 5 were replayed before and will be skipped (--include-replayed).\n",
  });
  expect(world.delivered()).toHaveLength(5);
  const again = await replay(world, { chosen: newReplay({ includeReplayed: true }) });
  expect(again).toMatchObject({ status: 0, out: expect.stringContaining("5 of 5 replayed.") });
  expect(world.delivered()).toHaveLength(10);
});

test("a replay whose marks nobody could keep does not begin", async () => {
  const world = await mixed();
  await world.finish(world.cluster.connect().admin.deleteTopics([topics.deadLetterReplays]));
  await expect(replay(world)).rejects.toThrow("the topic sw.dead-letter-replays does not exist");
  expect(world.delivered()).toEqual([]);
  expect((await list(world)).lines.at(-2)).toBe("4 dead letters match.");
});

test.each([
  ["y\n", 2],
  ["no\n", 0],
  ["", 0],
])("asked, with the reply %j: sends %i", async (response, sent) => {
  const world = new ReplayWorld();
  await world.fill(2);
  const shell = fakeShell([response]);
  const status = await world.finish(replayCommand(world, { asks: true }, { shell }).ended);
  expect(status).toBe(sent > 0 ? 0 : 1);
  expect(shell.errors()).toContain("Replay 2 dead letters? [y/N] ");
  expect(world.delivered()).toHaveLength(sent);
});

test("a user who is suppressed after the dead letters were counted is skipped", async () => {
  const world = new ReplayWorld();
  world.cluster.createTopic(topics.suppressions, 1);
  const value = (number: number) =>
    JSON.stringify({ type: "track", event: "e", userId: `u${number}` });
  await world.fill(2, (number) => ({ value: value(number) }));
  const shell = fakeShell();
  const err = (text: string) => {
    if (/Replay \S+ started\./.test(text)) world.cluster.append(suppressionOf("u1"));
    shell.err(text);
  };
  await world.finish(replayCommand(world, {}, { shell: { ...shell, err } }).ended);
  expect(shell.errors()).toContain("started.");
  expect(world.delivered()).toEqual(["m-0"]);
});

test("an interrupted replay says how to continue, and that continues", async () => {
  const world = new ReplayWorld();
  await world.fill(600);
  const stop = new AbortController();
  const { shell, ended: running } = replayCommand(world, { signal: stop.signal });
  // At this point, the first batch is being written.
  await world.clock.advanceUntil(() => world.delivered().length > 0, 60_000);
  stop.abort();
  expect(await world.finish(running)).toBe(1);
  const hint = /Resume with: switchyard dead-letters replay --resume (\S+) --config a.yaml\n/;
  const name = hint.exec(shell.errors())?.[1];
  if (name === undefined) throw new Error(shell.errors());
  expect(shell.output()).toContain("500 of 600 replayed.");

  const left = await replay(world, { chosen: resumedReplay(name), dryRun: true });
  expect(left.out).toContain("100 dead letters to replay.");
  const resumed = await replay(world, { chosen: resumedReplay(name) });
  expect(resumed).toMatchObject({
    status: 0,
    out: expect.stringContaining("100 of 100 replayed."),
  });
  expect(world.delivered()).toHaveLength(600);
  const again = await replay(world, { chosen: resumedReplay(name) });
  expect(again).toMatchObject({ status: 2, err: expect.stringContaining("cannot be resumed") });
});

test("what is missing is said before anything is sent", async () => {
  const world = await mixed();
  const admin = world.cluster.connect().admin;
  await world.finish(admin.deleteTopics([topics.calls]));
  await expect(replay(world)).rejects.toThrow("the topic sw.calls does not exist");
  expect(world.delivered()).toEqual([]);
  await world.finish(admin.deleteTopics([topics.deadLetters]));
  await expect(list(world)).rejects.toThrow("the topic sw.dead-letters does not exist");
});

test("more filters than a replay can keep are rejected", async () => {
  const messageIds = Array.from({ length: 40 }, (_, number) => `${number}`.padEnd(100, "x"));
  const chosen = newReplay({ filter: { ...EVERY_DEAD_LETTER, messageIds } });
  const { status, err } = await replay(new ReplayWorld(), { chosen });
  expect(status).toBe(2);
  expect(err).toContain("Use fewer --message-id");
});

test.each([
  [["list", "--since", "yesterday"], "is not a time. Expected a time such as"],
  [["list", "--reason", "unlucky"], "is not a reason. Expected one of undecodable, "],
  [["list", "--limit", "0"], "not an integer from 1 to 999999999999"],
  [["replay", "--per-second", "many"], "not an integer from 1 to 1000000"],
  [["replay", "--per-second", "1000001"], "not an integer from 1 to 1000000"],
  [["replay", "--resume", "a b"], "not the name of a replay"],
  [["replay", "--resume", "replay-1", "--since", "2h"], "Omit --destination"],
  [["replay"], "without a filter, all dead letters would be replayed"],
  [
    ["replay", "--resume", "replay-1", "--include-replayed"],
    "--include-replayed cannot be changed with --resume",
  ],
  [["replay", "--yes"], "no configuration file is set, and there is no"],
  [["replay", "--dry-run"], "no configuration file is set, and there is no"],
  [["replay", "--limit", "3"], "no configuration file is set, and there is no"],
])("dead-letters %j is wrong usage", async (args, text) => {
  const shell = fakeShell();
  expect(await runProgram(["dead-letters", ...args], shell)).toBe(2);
  expect(shell.errors()).toContain(text);
});

test("as JSON a replay prints one object, counted or sent", async () => {
  const world = await mixed();
  const counted = await replay(world, { dryRun: true, json: true });
  expect(counted.status).toBe(0);
  expect(JSON.parse(counted.out)).toMatchObject({ end: "counted", toReplay: 4, replayed: 0 });
  const { status, out } = await replay(world, { json: true });
  expect(status).toBe(1);
  const reported = JSON.parse(out) as Record<string, unknown>;
  expect(reported).toMatchObject({ end: "done", error: null, resume: null, replayed: 3 });
  expect(Object.values(reported.rejected as object)).toEqual([1]);
  expect(reported.counts).toContainEqual(
    expect.objectContaining({ destination: "crm", reason: "rejected", count: 2 }),
  );
  const rest = await replay(world, { json: true });
  expect(JSON.parse(rest.out)).toMatchObject({ end: "done", replayedBefore: 3, replayed: 0 });
});

test("calls of suppressed users are skipped and counted, which is not a failure", async () => {
  const world = new ReplayWorld();
  world.cluster.createTopic(topics.suppressions, 1);
  world.cluster.append(suppressionOf("u1"));
  const of = (userId: string) => JSON.stringify({ type: "track", event: "e", userId });
  await world.fill(3, (number) => ({ value: of(`u${number}`) }));
  const { status, out, err } = await replay(world);
  expect({ status, err }).toMatchObject({
    status: 0,
    err: expect.not.stringContaining("not replayed"),
  });
  expect(out).toContain("2 dead letters to replay. 1 of suppressed users will be skipped.");
  expect(out).toContain("2 of 2 replayed.");
  expect(world.delivered()).toEqual(["m-0", "m-2"]);
  const again = await replay(world, { json: true });
  expect(again.status).toBe(0);
  expect(JSON.parse(again.out)).toMatchObject({ toReplay: 0, replayedBefore: 2, suppressed: 1 });
});

test("cancel writes for those that block their users that they are settled, and skips the others", async () => {
  const world = new ReplayWorld();
  world.cluster.createTopic(topics.order("crm" as DestinationId), 1);
  const place = ["switchyard-queue-place", Buffer.from("0/7")] as const;
  const headers = [...deliveryHeaders(deliveryOf()), place];
  await world.fill(3, (number) => (number === 1 ? { headers } : {}));
  const chosen = newReplay({ cancels: true });
  expect(await replay(world, { chosen })).toMatchObject({
    status: 0,
    out: [
      "DESTINATION  REASON    COUNT  CANCEL",
      "crm          rejected  1      sw.order.crm",
      "",
      "1 dead letter to cancel.",
      "1 of 1 canceled.",
      "",
    ].join("\n"),
  });
  expect(world.delivered()).toEqual([]);
  expect(await replay(world, { chosen })).toMatchObject({
    status: 0,
    out: "0 dead letters to cancel. 1 were replayed before and will be skipped (--include-replayed).\n",
  });
});
