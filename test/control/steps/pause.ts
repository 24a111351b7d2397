/**
 * A command pauses crm and resumes it, while calls are published.
 *
 *   subject                    expected by the ledger
 *   crm while it is paused     nothing arrives later than two seconds after the record of the pause
 *   other                      everything that is published during the pause also arrives then
 *   the second `pause`         reports how many wait: those published that have not arrived
 *   both, resumed              each call arrived once, in order for each user
 *   operator events            one for the pause, and one for its end
 */

import { OPERATIONS_PARTITION } from "../../../src/router/control/operator-actions.ts";
import { idsOf } from "../../support/kit/ledger.ts";
import { type ControlledWorld, DESTINATIONS } from "../controlled-world.ts";
import { Rows, usersOutOfOrder } from "../row.ts";

const CALLS = 100;

/** A pause in the configuration: a command does not end it, and each of the two pauses is effective alone. */
export async function configuredPause(world: ControlledWorld): Promise<Rows> {
  const rows = new Rows("paused: true");
  const { ledger, receiver } = world;
  const shownReasons = async (about: string, by: string) => {
    await world.until(async () => (await world.holdReasons()) === by);
    rows.same(about, by, await world.holdReasons());
  };
  world.configure({ paused: true });
  await shownReasons("why crm is on hold", "configuration, configuration");
  const resumed = await world.command("resume", "crm");
  const says = "crm is still paused: the configuration has `paused: true`.\n";
  rows.same("resume says", says.trim(), resumed.err.trim());
  const calls = await ledger.publish(CALLS);
  const ofThem = (id: string) => {
    const wanted = new Set(idsOf(calls));
    return idsOf(receiver.all(id)).filter((each) => wanted.has(each));
  };
  await world.until(() => ofThem("other").length >= CALLS);
  rows.calls("arrived at other", idsOf(calls), ofThem("other"));
  rows.calls("arrived at crm", [], ofThem("crm"));
  await world.command("pause", "crm");
  world.configure({});
  await shownReasons("after the configuration, a command holds it", "command, command");
  rows.calls("arrived at crm still", [], ofThem("crm"));
  await world.command("resume", "crm");
  await world.until(() => ofThem("crm").length >= CALLS);
  rows.calls("resumed: arrived at crm", idsOf(calls), ofThem("crm"));
  return rows;
}

/** The time until all processes apply a pause. Requests that are in flight then may still arrive. */
const PAUSED_WITHIN_MS = 2_000;
const PAUSED_FOR_MS = 6_000;

export async function pauseAndResume(world: ControlledWorld): Promise<Rows> {
  const rows = new Rows("pause");
  const { ledger, receiver } = world;
  let load = ledger.load();
  const isBusy = (id: string) => new Set(receiver.accepted(id).map(({ by }) => by)).size === 2;
  await world.until(() => DESTINATIONS.every(isBusy));
  for (const id of DESTINATIONS) {
    const by = new Set(receiver.accepted(id).map((each) => each.by));
    rows.same(`processes that deliver to ${id}`, "first, second", [...by].sort().join(", "));
  }

  const paused = await world.command("pause", "crm", "--for", "1h");
  rows.same("pause: exit status", 0, paused.status ?? -1);
  const pausedAtMs = await lastOperationAtMs(world);
  const from = ledger.all.length;
  await world.until(() => Date.now() > pausedAtMs + PAUSED_FOR_MS);
  await world.until(async () => (await world.holdReasons()) === "command, command");
  rows.same(
    "why crm is on hold, as each process reports",
    "command, command",
    await world.holdReasons(),
  );
  await load[Symbol.asyncDispose]();
  const meanwhile = idsOf(ledger.all.slice(from));
  const arrived = () => {
    const wanted = new Set(meanwhile);
    return idsOf(receiver.accepted("other")).filter((id) => wanted.has(id));
  };
  await world.until(() => arrived().length >= meanwhile.length);
  rows.calls("published meanwhile, arrived at other", meanwhile, arrived());
  const lastMs = pausedAtMs + PAUSED_WITHIN_MS * world.patience;
  const late = receiver.all("crm").filter(({ atMs }) => atMs > lastMs);
  rows.calls("arrived at crm later than 2 s after it", [], idsOf(late));
  await countedWaiting(world, rows);
  await reportedOnce(world, rows, "switchyard.destination.paused");

  load = ledger.load();
  const resumed = await world.command("resume", "crm");
  rows.same("resume: exit status", 0, resumed.status ?? -1);
  await world.until(async () => (await world.holdReasons()) === "-, -");
  await reportedOnce(world, rows, "switchyard.destination.resumed");
  await load[Symbol.asyncDispose]();
  for (const id of DESTINATIONS) {
    await world.until(() => receiver.accepted(id).length >= ledger.all.length);
    const accepted = receiver.accepted(id);
    rows.calls(`resumed: arrived at ${id}`, idsOf(ledger.all), idsOf(accepted));
    const wrong = usersOutOfOrder(ledger.all, accepted);
    rows.same(`resumed: users out of order at ${id}`, "none", wrong.join(", ") || "none");
  }
  return rows;
}

/** Commits are made some seconds after a delivery is accepted, so the command is repeated for a while. */
async function countedWaiting(world: ControlledWorld, rows: Rows): Promise<void> {
  const { ledger, receiver } = world;
  const waits = `${ledger.all.length - receiver.accepted("crm").length}`;
  let said = "";
  await world.until(async () => {
    const { waiting } = await world.outcome("pause", "crm");
    said = `${(waiting as { readonly queued?: number } | null | undefined)?.queued}`;
    return said === waits;
  });
  rows.same("pause, again: says how many wait", waits, said);
}

async function reportedOnce(world: ControlledWorld, rows: Rows, type: string): Promise<void> {
  const reported = async () => {
    const events = await world.kafka.recordsIn("operator-events");
    const types = events.map(
      ({ value }) => (JSON.parse(`${value ?? "{}"}`) as { type?: string }).type,
    );
    return types.filter((each) => each === type).length;
  };
  await world.until(async () => (await reported()) > 0);
  rows.same(`events ${type}`, 1, await reported());
}

async function lastOperationAtMs(world: ControlledWorld): Promise<number> {
  const records = await world.kafka.recordsIn("operator-actions");
  const own = records.filter(({ partition }) => partition === OPERATIONS_PARTITION);
  return own.at(-1)?.timestampMs ?? 0;
}
