// Operator actions while processes are killed and restarted, on a real Kafka, compared with what was published. In
// control.test.ts, both processes keep running.

import { expect, test } from "vitest";

import type { StatusReport } from "../../src/operator/look/status-report.ts";
import { controlledPrograms, inOrder, STAGES } from "../support/worlds/controlled-programs.ts";
import { createTopics } from "../support/worlds/test-kafka.ts";

test("a pause with an end is over although no process ran then, and one without stays over a restart", async () => {
  const { receiver, worldOf, publish, ledger } = await controlledPrograms();
  const world = worldOf("1s");
  const first = await world.ready(STAGES);
  await world.inProcess(["pause", "crm"]);
  await first.logged("destination.paused");
  expect(await world.inProcess(["pause", "other", "--for", "3s"])).toMatchObject({ status: 0 });
  const untilMs = Date.now() + 3_000;
  await first.kill();
  await publish(20);
  await expect.poll(() => Date.now()).toBeGreaterThan(untilMs);
  const second = world.begin(STAGES);
  await expect.poll(() => receiver.accepted("other").length).toBe(ledger.length);
  expect(receiver.accepted("crm")).toEqual([]);
  expect(second.lines.filter(({ msg }) => msg === "destination.paused")).toEqual([
    expect.objectContaining({ destination: "crm", by: "command" }),
  ]);
  await world.inProcess(["resume", "crm"]);
  await expect.poll(() => receiver.accepted("crm").length).toBe(ledger.length);
  expect(inOrder(receiver.accepted("crm"))).toEqual(inOrder(ledger));
});

test("a second pause keeps the end of the first one, unless it sets another or none", async () => {
  const { kafka, prefix, worldOf } = await controlledPrograms();
  const world = worldOf("10s");
  const name = `${prefix}operator-actions`;
  await createTopics(kafka, [name]);
  const pause = async (...args: string[]) =>
    JSON.parse((await world.inProcess(["pause", "crm", "--json", ...args])).out);
  const first = await pause("--for", "2h");
  expect(first).toMatchObject({ paused: true, until: expect.any(String), before: null });
  const { until } = first;
  const again = await pause();
  expect(again).toMatchObject({ until, before: { until, by: "command" } });
  const said = await world.inProcess(["pause", "crm"]);
  expect(said.out).toMatch(/^Already paused: crm until .* Use --for to change the end/);
  const longer = await pause("--for", "3h");
  expect(Date.parse(longer.until)).toBeGreaterThan(Date.parse(until));
  expect(longer.before).toEqual(again.before);
  const endless = await pause("--until-resumed");
  expect(endless).toMatchObject({ until: null, before: { until: longer.until } });
  expect(await pause()).toMatchObject({ until: null, before: { until: null } });
  const both = await world.inProcess(["pause", "crm", "--for", "1h", "--until-resumed"]);
  expect([both.status, both.err]).toEqual([2, expect.stringContaining("cannot be combined")]);
});

const idsOf = (all: readonly { readonly id: string }[]) => all.map(({ id }) => id);
const sortedSet = (ids: readonly (string | null | undefined)[]) => [...new Set(ids)].sort();

test("retry sends what waits for one destination, through the death of a process; drain waits for it", async () => {
  const { receiver, twoProcesses, ledger, publish, headersIn } = await controlledPrograms();
  const { world, second, programs } = await twoProcesses("10m");
  for (const id of ["crm", "other"]) receiver.refusing.add(id);
  await publish(150, 150);
  for (const id of ["crm", "other"]) {
    await expect.poll(() => receiver.refused(id).length).toBeGreaterThan(10);
  }
  receiver.refusing.clear();
  // Its queue continues without an action; deliveries that failed wait for ten minutes.
  const waits = (id: string) => sortedSet(idsOf(receiver.refused(id)));
  const line = (id: string) => ledger.length - waits(id).length;
  for (const id of ["crm", "other"]) {
    await expect.poll(() => new Set(idsOf(receiver.accepted(id))).size).toBe(line(id));
    // If a process is killed before it has scheduled the retry of a failed delivery, the other process attempts the
    // delivery.
    const scheduled = async () => {
      const all = await headersIn("delays.10m");
      const own = all.filter((headers) => headers["switchyard-destination"] === id);
      return sortedSet(own.map((headers) => headers["switchyard-message-id"]));
    };
    await expect.poll(scheduled).toEqual(waits(id));
  }
  const retried = world.inProcess(["retry", "crm"]);
  await programs[1]?.kill();
  expect(await retried).toMatchObject({ status: 0, err: "" });
  expect((await retried).out).toBe(
    `Retrying ${waits("crm").length} deliveries of crm now. Run \`switchyard wait crm\` to wait until they are processed.\n`,
  );
  const drained = await world.inProcess(["wait", "crm", "--timeout", "60s"]);
  expect([drained.status, drained.out]).toEqual([0, "No deliveries are left for crm.\n"]);
  expect(sortedSet(idsOf(receiver.accepted("crm")))).toEqual(sortedSet(idsOf(ledger)));
  const late = await second.inProcess(["wait", "other", "--timeout", "1s"]);
  expect(late.status).toBe(1);
  expect(late.err).toContain(`${waits("other").length} awaiting retry`);
});

test("cancel makes dead letters of all that waits, through the death of a process; a replay sends them", async () => {
  const programs = await controlledPrograms();
  const { receiver, worldOf, ledger, publish, headersIn, committedBy, groups } = programs;
  const world = worldOf("10m");
  const first = await world.ready(STAGES);
  receiver.refusing.add("crm");
  await publish(50, 50);
  await expect.poll(() => receiver.refused("crm").length).toBeGreaterThan(10);
  await world.inProcess(["pause", "crm"]);
  await first.logged("destination.paused");
  receiver.refusing.clear();
  await publish(600);
  await expect.poll(() => new Set(idsOf(receiver.accepted("other"))).size).toBe(ledger.length);
  const wanted = sortedSet(
    idsOf(ledger).filter((id) => !idsOf(receiver.accepted("crm")).includes(id)),
  );
  const dry = async () => (await world.inProcess(["cancel", "crm", "--dry-run"])).out;
  // The route stage may write the last deliveries of one destination after those of the other have arrived.
  await expect.poll(dry).toBe(`${wanted.length} deliveries of crm would be cancelled.\n`);
  // Calls that are routed again after a kill become new deliveries, to which the cancellation does not apply.
  await expect.poll(() => committedBy(groups.route, "calls")).toBe(ledger.length);
  const done = await world.inProcess(["cancel", "crm", "--yes"]);
  expect([done.status, done.err]).toEqual([0, ""]);
  await first.kill();
  world.begin(STAGES);
  const cancelled = async () =>
    (await headersIn("dead-letters"))
      .filter((deadLetter) => deadLetter["switchyard-reason"] === "cancelled")
      .map((deadLetter) => deadLetter["switchyard-message-id"]);
  await expect.poll(async () => new Set(await cancelled()).size).toBe(wanted.length);
  expect(sortedSet(await cancelled())).toEqual(wanted);
  expect((await world.inProcess(["resume", "crm"])).status).toBe(0);
  const before = ledger.length;
  await publish(10);
  const fresh = idsOf(ledger.slice(before));
  await expect.poll(() => sortedSet(idsOf(receiver.accepted("crm")))).toEqual(sortedSet(fresh));
  const replay = ["dead-letters", "replay", "--destination", "crm", "--reason", "cancelled"];
  expect((await world.inProcess(replay)).status).toBe(0);
  await expect.poll(() => new Set(idsOf(receiver.accepted("crm"))).size).toBe(ledger.length);
});

test("the calls in a deleted queue are counted as lost, and shown with the command that sends them again", async () => {
  const { kafka, prefix, receiver, worldOf, publish, ledger } = await controlledPrograms();
  const world = worldOf("1s");
  const program = await world.ready(STAGES);
  await publish(10);
  await expect.poll(() => receiver.accepted("crm").length).toBe(ledger.length);
  await world.inProcess(["pause", "crm"]);
  await program.logged("destination.paused");
  await publish(54);
  await expect.poll(() => receiver.accepted("other").length).toBe(ledger.length);
  const admin = await program.admin();
  const status = async (...args: string[]) =>
    (await world.inProcess(["status", "--admin", admin, ...args])).out;
  const queued = async () =>
    (await world.inProcess(["wait", "crm", "--timeout", "1ms", "--json"])).out;
  await expect.poll(queued).toContain('"queued":54');
  const topic = `${prefix}deliveries.crm`;
  await kafka.admin.deleteTopics([topic]);
  const lost = { stage: "deliver", destination: "crm", topic, records: 54 };
  const seen = async () => (JSON.parse(await status("--json")) as StatusReport).recordsLost;
  await expect.poll(seen).toEqual([lost]);
  expect(await status()).toContain("`switchyard replay crm --since <time>`");
  expect(await program.get("/readyz")).toContain("At most 54 records of");
  const metrics = await program.get("/metrics");
  const resets = /offset_resets_total.*destination="crm".* (\d+)/.exec(metrics)?.[1];
  expect(Number(resets)).toBeGreaterThan(0);
  expect(program.lines.filter(({ msg }) => msg === "stage.records-lost")).toMatchObject([
    { destination: "crm", topic, records: 54 },
  ]);
  await world.inProcess(["resume", "crm"]);
  await world.inProcess(["replay", "crm", "--since", "10m"]);
  const all = () => new Set(receiver.accepted("crm").map(({ id }) => id)).size;
  await expect.poll(all).toBe(ledger.length);
});
