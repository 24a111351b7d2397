/**
 * crm has lost what it had accepted: the calls of one event are written again, for crm only, while calls are published.
 *
 *   command                     expected by the ledger
 *   replay --dry-run            counts the calls of that event
 *   replay                      writes all calls from before its start, and none from after its end
 *   arrived at crm              each call once more, with the same message ID
 *   arrived at other            nothing more
 *   interrupted, then resumed   each call once more
 */

import { EVENTS, idsOf } from "../../support/kit/ledger.ts";
import type { ControlledWorld, DestinationName } from "../controlled-world.ts";
import { Rows } from "../row.ts";

const [EVENT] = EVENTS;
const REPLAY = ["replay", "crm", "--since", "1h", "--event", EVENT];

export async function replayCalls(world: ControlledWorld): Promise<Rows> {
  const rows = new Rows("replay");
  const counted = await world.command(...REPLAY, "--dry-run", "--json");
  rows.same("replay --dry-run: counts", ofEvent(world).length, writtenBy(counted.out));
  const before = timesOf(world);
  const load = world.ledger.load();
  const atBegin = ofEvent(world);
  const done = await world.command(...REPLAY, "--json");
  const range = ofEvent(world);
  await load[Symbol.asyncDispose]();
  const written = writtenBy(done.out);
  rows.within("replay: written", [atBegin.length, range.length], written);
  // The earlier calls of a partition are written, which include all calls from before the start.
  const again = () => moreThan(before, world, "crm");
  await world.until(() => again().length >= written && allArrived(world));
  rows.same("arrived at crm once more", written, again().length);
  const known = new Set(again());
  const missing = atBegin.filter((id) => !known.has(id));
  rows.calls("published before it, not arrived again", [], missing);
  rows.calls("arrived at other once more", [], moreThan(before, world, "other"));
  return rows;
}

/** Interrupts a replay in the middle, and resumes it by its name. */
export async function resumedReplay(world: ControlledWorld): Promise<Rows> {
  const rows = new Rows("replay, resumed");
  const before = timesOf(world);
  const calls = ofEvent(world);
  const begun = world.start(...REPLAY, "--per-second", "50", "--json");
  await world.until(() => moreThan(before, world, "crm").length > 0);
  begun.interrupt();
  const cut = await begun.ended;
  const [, name = ""] = /replay --resume (\S+)/.exec(cut.err) ?? [];
  rows.same("interrupted: exit status", 1, cut.status ?? -1);
  const done = await world.command("replay", "--resume", name, "--per-second", "100000", "--json");
  rows.same("resumed: written by both", calls.length, writtenBy(done.out));
  await world.until(() => moreThan(before, world, "crm").length >= calls.length);
  rows.calls("arrived at crm once more", calls, moreThan(before, world, "crm"));
  rows.calls("arrived at other once more", [], moreThan(before, world, "other"));
  return rows;
}

function ofEvent({ ledger }: ControlledWorld): readonly string[] {
  return idsOf(ledger.all.filter(({ event }) => event === EVENT));
}

function writtenBy(json: string): number {
  return json === "" ? Number.NaN : (JSON.parse(json) as { readonly written: number }).written;
}

type Times = Readonly<Record<DestinationName, ReadonlyMap<string, number>>>;

function timesOf(world: ControlledWorld): Times {
  const of = (id: DestinationName) => {
    const times = new Map<string, number>();
    for (const each of world.receiver.accepted(id))
      times.set(each.id, (times.get(each.id) ?? 0) + 1);
    return times;
  };
  return { crm: of("crm"), other: of("other") };
}

/**
 * Returns the calls that have arrived more often than before, and more than once, each as often as it has arrived in
 * addition.
 */
function moreThan(before: Times, world: ControlledWorld, at: DestinationName): readonly string[] {
  return [...timesOf(world)[at]].flatMap(([id, times]) => {
    // Without a replay, a new call arrives once.
    const more = times - (before[at].get(id) ?? 1);
    return Array.from({ length: Math.max(0, more) }, () => id);
  });
}

function allArrived({ ledger, receiver }: ControlledWorld): boolean {
  return new Set(idsOf(receiver.accepted("crm"))).size >= ledger.all.length;
}
