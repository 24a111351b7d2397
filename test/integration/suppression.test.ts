// Suppressed users, with the real program on a real Kafka: a row for each place where a call can be, what happens when
// users are lifted, bad records, a lost topic, and processes that are killed.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";

import { useKafka } from "../support/kit/kafka.ts";
import { useProgram } from "../support/kit/program.ts";
import { useReceiver } from "../support/kit/receiver.ts";
import { until } from "../support/kit/until.ts";

const WITHIN = { timeout: 20_000 };
/** The promise is 10 s, and most of the time it is far less. */
const BOUND_MS = 10_000;

/** A receiver that accepts everything, except that `/failing` responds 503 until `heal` is called. */
async function startWorld(name: string, stages?: string) {
  const state = { isHealed: false };
  const receiver = await useReceiver(({ path }) =>
    path === "/failing" && !state.isHealed ? 503 : 200,
  );
  const own = useKafka(name);
  const { prefix, brokers } = own;
  const hook = (path: string) => `${receiver.url}/${path}`;
  const world = useProgram({
    kafka: { brokers, topicPrefix: prefix, partitions: 2 },
    destinations: {
      fine: hook("fine"),
      failing: hook("failing"),
      hiding: {
        messageIdHeader: true,
        endpoints: [{ url: hook("hiding") }],
        map: [{ hash: "userId" }, { hash: "previousId" }],
      },
      batched: {
        endpoints: [{ url: hook("batched") }],
        batch: { calls: 50, wait: "2s" },
      },
      held: { messageIdHeader: true, endpoints: [{ url: hook("held") }] },
    },
    delivery: { retryDelays: ["2s"] },
    attempts: { enabled: true },
    audienceDefaults: { source: "web" },
  });
  const command = async (...args: readonly string[]) => {
    const ended = await world.inProcess(args);
    if (ended.status !== 0) throw new Error(`${args.join(" ")}: ${ended.err}`);
    return ended.out;
  };
  await command("topics", "--apply");
  const program = await world.ready(stages);
  const track = (userId: string, messageId: string) => {
    return { type: "track", event: "E", userId, anonymousId: `a-${userId}`, messageId };
  };
  const write = (...calls: readonly { userId: string }[]) =>
    own.write(
      "calls",
      calls.map((value) => ({ key: value.userId, value })),
    );
  /** Resolves when every process has read what was written before. */
  const settled = async (process = program) => {
    const size = (await command("suppressions", "list", "--json")).split("\n").length - 1;
    await expect.poll(() => process.sample("switchyard_suppressed_users"), WITHIN).toBe(size);
  };
  const suppress = async (...args: readonly string[]) => {
    await command("suppressions", "add", ...args);
    await settled();
  };
  const lift = async (...args: readonly string[]) => {
    await command("suppressions", "remove", ...args);
    await settled();
  };
  const bodies = (path: string) => receiver.at(path).map(({ body }) => body);
  const suppressed = (stage: string, destination = "") =>
    program.sample(`switchyard_suppressed_total{stage="${stage}",destination="${destination}"}`);
  return {
    ...own,
    state,
    receiver,
    world,
    program,
    command,
    track,
    writeCalls: write,
    ...{ suppress, lift, bodies, suppressed, settled },
  };
}

test("a suppressed user: ingest responds as always, route writes no delivery; others are not affected", async () => {
  const world = await startWorld("suppress-in");
  const { program, receiver, suppress, track, writeCalls, suppressed, writtenTo } = world;
  await suppress("u1", "--reason", "asked by email");
  expect(await program.post("/v1/track", track("u1", "in-1"))).toBe(200);
  const batch = { batch: [track("u1", "in-2"), track("u2", "in-3")] };
  expect(await program.post("/v1/batch", batch)).toBe(200);
  expect(await program.post("/v1/alias", { userId: "u9", previousId: "u1" })).toBe(200);
  await expect.poll(() => receiver.ids("/fine"), WITHIN).toEqual(["in-3"]);
  expect(await writtenTo("calls")).toBe(1);
  expect(await suppressed("ingest")).toBe(3);
  await writeCalls(track("u1", "r-1"), track("u2", "r-2"));
  await expect.poll(() => receiver.ids("/fine"), WITHIN).toEqual(["in-3", "r-2"]);
  await expect.poll(() => suppressed("route", "fine"), WITHIN).toBe(1);
  expect(
    await program.sample(
      'switchyard_route_calls_skipped_total{destination="fine",reason="suppressed"}',
    ),
  ).toBe(1);
  expect(await writtenTo("deliveries.fine")).toBe(2);
  const timeline = async () =>
    (await world.world.inProcess(["timeline", "r-1", "--since", "1h"])).out;
  // The route stage commits what it has processed a little later.
  await expect
    .poll(timeline, WITHIN)
    .toMatch(/skipped: the call's user has been suppressed since 20\d\d-/);
}, 60_000);

test("a suppressed user: what is queued, on hold, in a batch or awaits retry is not attempted, and a deletion is", async () => {
  const world = await startWorld("suppress-out");
  const { program, receiver, command, suppress, track, writeCalls, suppressed, bodies } = world;
  await command("pause", "held");
  const calls = ["u1", "u2"].map((userId) => track(userId, `m-${userId}`));
  await writeCalls(...calls);
  // The first attempt at `failing` has failed, and its retry waits.
  await expect.poll(() => receiver.ids("/failing").length, WITHIN).toBeGreaterThanOrEqual(2);
  await suppress("u1", "--delete");
  world.state.isHealed = true;
  const sinceMs = Date.now();
  await command("resume", "held");
  await writeCalls(track("u1", "late-u1"), track("u2", "late-u2"));
  await expect.poll(() => receiver.ids("/held"), WITHIN).toContain("late-u2");
  await expect
    .poll(() => receiver.accepted("/failing").map(({ id }) => id), WITHIN)
    .toContain("m-u2");
  await expect.poll(() => suppressed("deliver", "failing"), WITHIN).toBe(1);
  expect(await suppressed("deliver", "held")).toBe(1);
  // Delete notifications are sent.
  await expect.poll(() => bodies("/held").join(), WITHIN).toContain('"type":"delete"');
  const after = receiver.taken.filter(({ atMs }) => atMs > sinceMs);
  const ofU1 = after.filter(({ body }) => body.includes("u1") && !body.includes('"delete"'));
  expect(ofU1.map(({ path, body }) => `${path} ${body}`)).toEqual([]);
  expect(await world.writtenTo("dead-letters")).toBe(0);
  const json = await command("timeline", "m-u1", "--json", "--since", "1h");
  const lines = json
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(JSON.stringify(lines)).toMatch(/"kind":"suppressed"/);
  const status = await command("status", "--admin", await program.admin(), "--json");
  expect(JSON.stringify(JSON.parse(status))).toContain("suppressed");
  expect((await program.get("/readyz")).includes("u1")).toBe(false);
}, 90_000);

test("a suppressed user: a batch that waits is sent without the user's calls", async () => {
  const { suppress, track, writeCalls, bodies, suppressed } = await startWorld("suppress-batch");
  await writeCalls(track("u1", "b-1"), track("u2", "b-2"));
  await suppress("u1");
  await expect.poll(() => bodies("/batched").join(), WITHIN).toContain('"u2"');
  const stages = ["route", "deliver"].map((stage) => suppressed(stage, "batched"));
  const isOut = (await Promise.all(stages)).includes(1);
  // The call may be routed, or the batch sent, before the suppression is read.
  expect(bodies("/batched").join().includes('"u1"')).toBe(!isOut);
}, 60_000);

test("a suppressed user: rules that remove the user ID do not hide the user", async () => {
  const { command, receiver, suppress, track, writeCalls, suppressed, recordsIn, bodies } =
    await startWorld("suppress-hidden");
  await command("pause", "hiding");
  await writeCalls(
    track("u1", "h-1"),
    track("u2", "h-2"),
    { type: "alias", userId: "u3", previousId: "u1", messageId: "h-3" } as never,
    { type: "alias", userId: "u3", previousId: "u4", messageId: "h-4" } as never,
  );
  await expect.poll(() => receiver.ids("/fine").length, WITHIN).toBe(4);
  await suppress("u1");
  const queued = await recordsIn("deliveries.hiding");
  expect(queued).toHaveLength(4);
  expect(queued.map(({ key, value, headers }) => `${key} ${value} ${headers}`).join()).not.toMatch(
    /"u\d"|,u\d/,
  );
  await command("resume", "hiding");
  await expect.poll(() => receiver.ids("/hiding").toSorted(), WITHIN).toEqual(["h-2", "h-4"]);
  await expect.poll(() => suppressed("deliver", "hiding"), WITHIN).toBe(2);
  expect(bodies("/hiding").join()).not.toContain("u1");
}, 60_000);

test("a suppressed user: an audience forgets the user without a call, and has a new member when the user is lifted", async () => {
  const { command, receiver, suppress, lift, write, bodies } =
    await startWorld("suppress-audience");
  const sync = (syncId: string, userIds: readonly string[]) => {
    const value = { type: "snapshot", audienceId: "vip", audienceName: "VIP", syncId, userIds };
    return write("audience-syncs", [{ key: "vip", value }]);
  };
  const reported = () =>
    bodies("/fine")
      .map((body) => JSON.parse(body))
      .map(({ userId, traits }) => `${userId} ${traits.vip}`)
      .toSorted();
  await sync("s1", ["u1", "u2"]);
  await expect.poll(reported, WITHIN).toEqual(["u1 true", "u2 true"]);
  await suppress("u1");
  await sync("s2", ["u1", "u2", "u3"]);
  await expect.poll(reported, WITHIN).toEqual(["u1 true", "u2 true", "u3 true"]);
  await lift("u1");
  await sync("s3", ["u1", "u2"]);
  await expect
    .poll(reported, WITHIN)
    .toEqual(["u1 true", "u1 true", "u2 true", "u3 false", "u3 true"]);
  expect(receiver.at("/fine")).toHaveLength(5);
  expect(await command("dead-letters", "list")).toContain("No dead letters");
}, 60_000);

test("a suppressed user: replays and publish skip the user's calls, and say how many", async () => {
  const world = await startWorld("suppress-replay");
  const { command, receiver, suppress, lift, track, writeCalls } = world;
  await writeCalls(track("u1", "p-1"), track("u2", "p-2"));
  await expect.poll(() => receiver.ids("/held").length, WITHIN).toBe(2);
  await command("cancel", "failing", "--yes");
  await expect.poll(() => world.writtenTo("dead-letters"), WITHIN).toBe(2);
  await suppress("u1");
  const dry = JSON.parse(await command("replay", "held", "--since", "1h", "--json"));
  expect(dry).toMatchObject({ written: 1, skipped: { suppressed: 1 } });
  world.state.isHealed = true;
  const replay = ["dead-letters", "replay", "--json", "--yes"];
  const first = await world.world.inProcess(replay);
  expect(first.status).toBe(0);
  expect(JSON.parse(first.out)).toMatchObject({ replayed: 1, suppressed: 1, rejected: {} });
  const file = join(world.world.directory, "calls.json");
  writeFileSync(
    file,
    [track("u1", "f-1"), track("u2", "f-2")].map((each) => JSON.stringify(each)).join("\n"),
  );
  expect(await command("publish", file)).toContain("1 call of suppressed users skipped");
  await expect.poll(() => receiver.ids("/fine"), WITHIN).toContain("f-2");
  await lift("u1");
  const second = JSON.parse((await world.world.inProcess(replay)).out);
  expect(second).toMatchObject({ replayed: 1, rejected: {} });
  await expect
    .poll(
      () =>
        receiver
          .accepted("/failing")
          .map(({ id }) => id)
          .toSorted(),
      WITHIN,
    )
    .toContain("p-1");
}, 90_000);

test("a suppressed user: a replay to a topic destination, which is running, writes no more of the user's calls", async () => {
  const { prefix, brokers, write, idsIn } = useKafka("suppress-running");
  const { inProcess, spawn } = useProgram({
    kafka: { brokers, topicPrefix: prefix, partitions: 1 },
    destinations: { copies: { type: "topic", name: "COPIES" } },
  });
  expect(await inProcess(["topics", "--apply"])).toMatchObject({ status: 0 });
  const records = Array.from({ length: 800 }, (_, number) => {
    const userId = `u-${number % 2}`;
    const call = { type: "track", event: "E", userId, messageId: `${userId}-${number}` };
    return { key: userId, value: call };
  });
  await write("calls", records);
  const args = ["replay", "copies", "--since", "1h", "--per-second", "25", "--json"];
  const replay = spawn(args);
  const said = replay.stdout === null ? "" : text(replay.stdout);
  replay.stderr?.resume();
  const of = async (userId: string) =>
    (await idsIn("deliveries.copies")).filter((id) => id.startsWith(userId)).length;
  await expect.poll(() => of("u-1"), WITHIN).toBeGreaterThan(0);
  expect(await inProcess(["suppressions", "add", "u-1"])).toMatchObject({ status: 0 });
  await sleep(BOUND_MS);
  const [written, others] = [await of("u-1"), await of("u-0")];
  const counts = JSON.parse(await said);
  expect(await of("u-1")).toBe(written);
  expect(others).toBeLessThan(400);
  expect(await of("u-0")).toBe(400);
  expect(counts).toMatchObject({ written: 400 + written, skipped: { suppressed: 400 - written } });
}, 120_000);

test("a suppressed user: when the user is lifted, what still waits is delivered; what was skipped is not", async () => {
  const { command, receiver, suppress, lift, track, writeCalls, suppressed } =
    await startWorld("suppress-lift");
  await command("pause", "held");
  await writeCalls(track("u1", "l-1"));
  await expect.poll(() => receiver.ids("/fine"), WITHIN).toEqual(["l-1"]);
  await suppress("u1");
  await writeCalls(track("u1", "l-2"));
  await expect.poll(() => suppressed("route", "held"), WITHIN).toBe(1);
  await lift("u1");
  await command("resume", "held");
  await writeCalls(track("u1", "l-3"));
  await expect.poll(() => receiver.ids("/held"), WITHIN).toEqual(["l-1", "l-3"]);
}, 60_000);
test("the commands list, show and lift what they and deletion requests suppress", async () => {
  const { command, world, program, write, settled, recordsIn } =
    await startWorld("suppress-commands");
  const file = join(world.directory, "ids");
  writeFileSync(file, "f1\nf2\r\n\nü 3\n");
  expect(await command("suppressions", "add", "u1", "--file", file, "--reason", "asked")).toBe(
    "4 users suppressed.\n",
  );
  await command("delete", "u2", "--suppress");
  await write("deletion-requests", [
    { key: "u3", value: { userId: 3, suppress: true, timestamp: "2026-03-01T09:30:15.250Z" } },
  ]);
  const listed = async () =>
    (await command("suppressions", "list", "--json"))
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
  await expect.poll(listed, WITHIN).toHaveLength(6);
  await settled();
  expect(await command("status", "--admin", await program.admin())).toMatch(
    /^6 users suppressed, as of 20\d\d-\d\d-\d\d \d\d:\d\d:\d\d UTC\.$/m,
  );
  const all = await listed();
  expect(all.map(({ userId }) => userId).toSorted()).toEqual(["3", "f1", "f2", "u1", "u2", "ü 3"]);
  expect(all.find(({ userId }) => userId === "3")).toEqual({
    userId: "3",
    suppressedAt: "2026-03-01T09:30:15.250Z",
    reason: null,
  });
  expect(await command("suppressions", "show", "u1")).toMatch(
    /^u1 has been suppressed since .* UTC \(asked\)\.\n$/,
  );
  expect(await world.inProcess(["suppressions", "show", "u7"])).toMatchObject({
    status: 1,
    out: "u7 is not suppressed.\n",
  });
  expect(await command("suppressions", "remove", "u1", "f1", "f2")).toBe("3 users lifted.\n");
  expect(await command("suppressions", "list")).not.toContain("f1");
  for (const args of [
    ["add"],
    ["add", ""],
    ["add", "u", "--reason", "x".repeat(201)],
    ["add", "--file", "none"],
  ]) {
    expect((await world.inProcess(["suppressions", ...args])).status).not.toBe(0);
  }
  const requests = await recordsIn("deletion-requests");
  expect(requests.map(({ value }) => JSON.parse(`${value}`).suppress)).toEqual([true, true]);
}, 60_000);

test("bad records stop nothing: no JSON, an empty key, a megabyte, another user in the value", async () => {
  const { program, receiver, write, suppress, track, writeCalls } =
    await startWorld("suppress-bad");
  await write("suppressions", [
    { key: "u2", value: Buffer.from("{") },
    { key: "u2", value: { userId: "u1" } },
    { key: "u2", value: { userId: "u2x", pad: "x".repeat(1_000_000) } },
    { key: "", value: {} },
    { key: "x".repeat(900_000), value: {} },
  ]);
  await suppress("u3");
  await writeCalls(track("u3", "b-3"), track("u1", "b-1"), track("u2", "b-2"));
  await expect.poll(() => receiver.ids("/fine").toSorted(), WITHIN).toEqual(["b-1", "b-2"]);
  const logged = program.lines.filter(({ msg }) => msg === "suppressions.invalid-record");
  expect(logged).toHaveLength(4);
  expect(JSON.stringify(logged)).not.toMatch(/u[123]/);
}, 60_000);

test("a lost topic: what is known stays, and health, log and a metric say so within 15 s", async () => {
  const { kafka, topics, program, receiver, suppress, track, writeCalls } = await startWorld(
    "suppress-lost",
    "route,deliver,delay",
  );
  await suppress("u1");
  const since = () => program.sample("switchyard_suppressions_unreadable_since_timestamp_seconds");
  expect(await since()).toBe(0);
  const lostAtMs = Date.now();
  await kafka.admin.deleteTopics([topics.suppressions]);
  expect(await until(async () => (await since()) > 0, { limitMs: 15_000 })).toBe(true);
  expect(Date.now() - lostAtMs).toBeLessThan(15_000);
  expect(await program.get("/readyz")).toContain(topics.suppressions);
  const isLogged = () => program.lines.some(({ msg }) => `${msg}`.startsWith("suppressions."));
  await expect.poll(isLogged, WITHIN).toBe(true);
  await writeCalls(track("u1", "x-1"), track("u2", "x-2"));
  await expect.poll(() => receiver.ids("/fine"), WITHIN).toEqual(["x-2"]);
}, 60_000);

test("after the bound, no attempt starts for the user in any process, through kills and restarts", async () => {
  const world = await startWorld("suppress-kill");
  const { receiver, track, writeCalls, command } = world;
  const second = await world.world.ready("deliver,delay,route");
  let count = 0;
  const users = Array.from({ length: 40 }, (_, at) => `k${at}`);
  const publishing = setInterval(() => {
    const calls = users.map((userId) => track(userId, `${userId}-${count}`));
    count += 1;
    writeCalls(...calls).catch(() => undefined);
  }, 100);
  onTestFinished(() => clearInterval(publishing));
  await expect.poll(() => receiver.at("/fine").length, WITHIN).toBeGreaterThan(100);
  const suppressedAtMs = new Map<string, number>();
  for (const userId of users.slice(0, 20)) {
    await command("suppressions", "add", userId);
    suppressedAtMs.set(userId, Date.now());
    if (suppressedAtMs.size === 10) second.child.kill("SIGKILL");
  }
  const third = await world.world.ready("deliver,delay,route");
  await world.settled(third);
  const lifted = users[0] ?? "";
  await expect
    .poll(() => Date.now() - Math.max(...suppressedAtMs.values()), WITHIN)
    .toBeGreaterThan(BOUND_MS);
  await command("suppressions", "remove", lifted);
  const liftedAtMs = Date.now();
  await expect
    .poll(
      () =>
        receiver
          .at("/fine")
          .some(({ body, atMs }) => atMs > liftedAtMs && body.includes(`"${lifted}"`)),
      WITHIN,
    )
    .toBe(true);
  const late = receiver.taken.filter(({ path, body, atMs }) => {
    if (path === "/hiding" || path === "/batched") return false;
    const { userId } = JSON.parse(body);
    const sinceMs = suppressedAtMs.get(userId);
    if (sinceMs === undefined || (userId === lifted && atMs >= liftedAtMs)) return false;
    return atMs > sinceMs + BOUND_MS;
  });
  expect(late.map(({ path, body }) => `${path} ${body}`)).toEqual([]);
}, 120_000);
