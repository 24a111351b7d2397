// Destinations that are paused, resumed and steered otherwise while two processes deliver under load
// on a real Kafka, compared with what was published.

import { expect, test } from "vitest";

import { freePort } from "../../tools/kafka/free-port.ts";
import { inOrder, STAGES, steeredPrograms } from "../support/worlds/steered-programs.ts";

/** Far above what it takes: a loaded machine, and the brokers' initial rebalance delay. */
const SOON = { timeout: 40_000, interval: 50 };
const TIMEOUT_MS = 120_000;
/** Of a pause, until all processes go by it; what is on its way then may still arrive. */
const PAUSED_WITHIN_MS = 2_000;

test(
  "pause stops a destination in both processes while others go on; resume sends all in order, once",
  async () => {
    const { receiver, twoProcesses, ledger, start } = await steeredPrograms();
    const { world, ports } = await twoProcesses("1s, 2s");
    const stop = start();
    await expect.poll(() => receiver.at("crm").length, SOON).toBeGreaterThan(50);
    const paused = await world.command(["pause", "crm", "--for", "1h"]);
    expect(paused.err).toBe("");
    expect(paused.out).toMatch(/^Paused: crm until 20.* UTC\. `switchyard resume crm` ends it\.\n/);
    expect(paused.out).toMatch(/^In its line: \d+\. They wait without a window\.$/m);
    expect(paused.status).toBe(0);
    const pausedAtMs = Date.now();
    await expect
      .poll(async () => {
        const held = await Promise.all(ports.map(heldBy));
        return held.every((each) => each === "command");
      }, SOON)
      .toBe(true);
    const before = receiver.at("other").length;
    await expect
      .poll(
        () => receiver.at("other").length > before + 50 && Date.now() > pausedAtMs + 4_000,
        SOON,
      )
      .toBe(true);
    const late = receiver.at("crm").filter(({ atMs }) => atMs > pausedAtMs + PAUSED_WITHIN_MS);
    expect(late).toEqual([]);
    await stop();
    const admin = ports.map((port) => `127.0.0.1:${port}`).join();
    const status = async () => (await world.command(["status", "--admin", admin])).out;
    await expect.poll(status, SOON).toMatch(/^crm .*held since .*: paused by command until/m);
    expect(receiver.at("crm").length).toBeLessThan(ledger.length);
    const resumed = await world.command(["resume", "crm"]);
    expect([resumed.status, resumed.out, resumed.err]).toEqual([0, "Resumed: crm.\n", ""]);
    for (const path of ["crm", "other"]) {
      await expect.poll(() => receiver.at(path).length, SOON).toBe(ledger.length);
      expect(inOrder(receiver.at(path))).toEqual(inOrder(ledger));
    }
  },
  TIMEOUT_MS,
);

/** Who paused `crm`, as the process says. */
async function heldBy(port: number): Promise<string | undefined> {
  const answer = await fetch(`http://127.0.0.1:${port}/status`);
  const { destinations } = (await answer.json()) as {
    readonly destinations: readonly {
      readonly id: string;
      readonly held: { by?: string } | null;
    }[];
  };
  return destinations.find(({ id }) => id === "crm")?.held?.by;
}

test(
  "a pause with an end is over although no process ran then, and one without stays over a restart",
  async () => {
    const { receiver, worldOf, publish, ledger } = await steeredPrograms();
    const world = worldOf(await freePort(), "1s");
    const first = world.start(STAGES);
    await first.logged("ready");
    await world.command(["pause", "crm"]);
    await world.command(["pause", "other", "--for", "3s"]);
    await first.logged("destination.paused", 2);
    const untilMs = Date.now() + 3_000;
    await first.kill();
    await publish(20);
    await expect.poll(() => Date.now(), SOON).toBeGreaterThan(untilMs);
    const second = world.start(STAGES);
    await expect.poll(() => receiver.at("other").length, SOON).toBe(ledger.length);
    expect(receiver.at("crm")).toEqual([]);
    expect(second.lines.filter(({ msg }) => msg === "destination.paused")).toEqual([
      expect.objectContaining({ destination: "crm", by: "command" }),
    ]);
    await world.command(["resume", "crm"]);
    await expect.poll(() => receiver.at("crm").length, SOON).toBe(ledger.length);
    expect(inOrder(receiver.at("crm"))).toEqual(inOrder(ledger));
  },
  TIMEOUT_MS,
);

const idsOf = (all: readonly { readonly id: string }[]) => all.map(({ id }) => id);
const sortedSet = (ids: readonly (string | undefined)[]) => [...new Set(ids)].sort();

test(
  "retry sends what waits for one destination, through the death of a process; drain waits for it",
  async () => {
    const { receiver, twoProcesses, ledger, publish } = await steeredPrograms();
    const { world, second, programs } = await twoProcesses("10m");
    for (const id of ["crm", "other"]) receiver.refusing.add(id);
    await publish(150, 150);
    for (const id of ["crm", "other"]) {
      await expect.poll(() => receiver.refused(id).length, SOON).toBeGreaterThan(10);
    }
    receiver.refusing.clear();
    // Its line goes on by itself; what was refused waits for ten minutes.
    const waits = (id: string) => sortedSet(idsOf(receiver.refused(id)));
    const line = (id: string) => ledger.length - waits(id).length;
    for (const id of ["crm", "other"]) {
      await expect.poll(() => new Set(idsOf(receiver.at(id))).size, SOON).toBe(line(id));
    }
    const retried = world.command(["retry", "crm"]);
    await programs[1]?.kill();
    expect(await retried).toMatchObject({ status: 0, err: "" });
    expect((await retried).out).toBe(
      `Returned at once: ${waits("crm").length} deliveries of crm that wait in tiers. \`switchyard drain crm\` waits until they are gone.\n`,
    );
    const drained = await world.command(["drain", "crm", "--timeout", "60s"]);
    expect([drained.status, drained.out]).toEqual([0, "Nothing is left for crm.\n"]);
    expect(sortedSet(idsOf(receiver.at("crm")))).toEqual(sortedSet(idsOf(ledger)));
    const late = await second.command(["drain", "other", "--timeout", "1s"]);
    expect(late.status).toBe(1);
    expect(late.err).toContain(`${waits("other").length} in tiers`);
  },
  TIMEOUT_MS,
);

test(
  "cancel makes dead letters of all that waits, through the death of a process; a replay sends them",
  async () => {
    const programs = await steeredPrograms();
    const { receiver, worldOf, ledger, publish, headersIn } = programs;
    const world = worldOf(await freePort(), "10m");
    const first = world.start(STAGES);
    await first.logged("ready");
    receiver.refusing.add("crm");
    await publish(50, 50);
    await expect.poll(() => receiver.refused("crm").length, SOON).toBeGreaterThan(10);
    await world.command(["pause", "crm"]);
    await first.logged("destination.paused");
    receiver.refusing.clear();
    await publish(600);
    await expect.poll(() => new Set(idsOf(receiver.at("other"))).size, SOON).toBe(ledger.length);
    const wanted = sortedSet(idsOf(ledger).filter((id) => !idsOf(receiver.at("crm")).includes(id)));
    const dry = async () => (await world.command(["cancel", "crm", "--dry-run"])).out;
    // Route may write the last copies of one destination after those of the other have arrived.
    await expect.poll(dry, SOON).toBe(`${wanted.length} deliveries of crm would be cancelled.\n`);
    const done = await world.command(["cancel", "crm", "--yes"]);
    expect([done.status, done.err]).toEqual([0, ""]);
    await first.kill();
    world.start(STAGES);
    const cancelled = async () =>
      (await headersIn("dead-letters"))
        .filter((letter) => letter["switchyard-reason"] === "cancelled")
        .map((letter) => letter["switchyard-message-id"]);
    await expect.poll(async () => new Set(await cancelled()).size, SOON).toBe(wanted.length);
    expect(sortedSet(await cancelled())).toEqual(wanted);
    expect((await world.command(["resume", "crm"])).status).toBe(0);
    const before = ledger.length;
    await publish(10);
    const fresh = idsOf(ledger.slice(before));
    await expect.poll(() => sortedSet(idsOf(receiver.at("crm"))), SOON).toEqual(sortedSet(fresh));
    const replay = ["dead-letters", "replay", "--destination", "crm", "--reason", "cancelled"];
    expect((await world.command(replay)).status).toBe(0);
    await expect.poll(() => new Set(idsOf(receiver.at("crm"))).size, SOON).toBe(ledger.length);
  },
  TIMEOUT_MS,
);
