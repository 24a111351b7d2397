/**
 * Old and new calls wait for crm, in its queue and in a delay topic. The old ones are canceled, then replayed from the
 * dead letters.
 *
 *   command                          expected by the ledger
 *   cancel --older-than --dry-run    counts the old calls that wait
 *   cancel --older-than --yes        exactly these become dead letters, `cancelled`
 *   resume and retry                 the new calls arrive, and no old call
 *   dead-letters replay              the old calls arrive
 *   the same again                   omits them; with --include-replayed, they arrive again
 */

import { idsOf } from "../../support/kit/ledger.ts";
import type { ControlledWorld } from "../controlled-world.ts";
import { Rows } from "../row.ts";

const EACH = 30;
const REASON = "switchyard-reason";
const MESSAGE_ID = "switchyard-message-id";
const CANCEL = ["cancel", "crm", "--older-than", "2d"];
const REPLAY = ["dead-letters", "replay", "--destination", "crm", "--reason", "cancelled"];

export async function cancelAndReplay(world: ControlledWorld): Promise<Rows> {
  const rows = new Rows("cancel");
  const { ledger, receiver } = world;
  const from = ledger.all.length;
  await makeWait(world);
  const published = ledger.all.slice(from);
  const isWaiting = ({ id }: { readonly id: string }) => timesAt(world, id) === 0;
  const old = idsOf(published.filter((call) => call.isOld && isWaiting(call)));
  const fresh = idsOf(published.filter((call) => !call.isOld && isWaiting(call)));

  const wanted = `${old.length} deliveries of crm would be cancelled.`;
  let said = "";
  await world.until(async () => {
    said = (await world.command(...CANCEL, "--dry-run")).out.trim();
    return said === wanted;
  });
  rows.same("cancel --dry-run: says", wanted, said);
  rows.calls("... made dead letters of", [], await cancelled(world));
  const done = await world.outcome(...CANCEL, "--yes");
  rows.same("cancel: says how many", old.length, `${done.count}`);
  await world.until(async () => (await cancelled(world)).length >= old.length);
  rows.calls("dead letters `cancelled`", old, await cancelled(world));

  await world.command("resume", "crm");
  await world.command("retry", "crm");
  const arrived = (ids: readonly string[]) => ids.flatMap((id) => repeated(id, timesAt(world, id)));
  await world.until(() => arrived(fresh).length >= fresh.length);
  rows.calls("resumed: new ones arrived at crm", fresh, arrived(fresh));
  rows.calls("resumed: cancelled ones arrived at crm", [], arrived(old));

  await world.command(...REPLAY);
  await world.until(() => arrived(old).length >= old.length);
  rows.calls("dead-letters replay: arrived at crm", old, arrived(old));
  const second = await world.command(...REPLAY);
  rows.same(
    "... again: says",
    `0 dead letters to replay. ${old.length} were replayed before and will be skipped (--include-replayed).`,
    second.out.trim(),
  );
  const before = receiver.all("crm").length;
  await world.command(...REPLAY, "--include-replayed");
  const more = () => idsOf(receiver.all("crm").slice(before));
  await world.until(() => more().length >= old.length);
  rows.calls("... --include-replayed: arrived once more", old, more());
  return rows;
}

/** Makes calls wait: some for their retry, the others in the queue of a paused destination. */
async function makeWait(world: ControlledWorld): Promise<void> {
  const { ledger, receiver } = world;
  const both = async () => {
    await ledger.publish(EACH, { isOld: true });
    await ledger.publish(EACH);
  };
  const refusedBefore = receiver.refused("crm").length;
  receiver.refusing.add("crm");
  await both();
  await world.until(() => receiver.refused("crm").length > refusedBefore);
  await world.command("pause", "crm");
  await world.until(async () => (await world.holdReasons()) === "command, command");
  receiver.refusing.delete("crm");
  await both();
}

async function cancelled(world: ControlledWorld): Promise<readonly string[]> {
  const deadLetters = await world.kafka.recordsIn("dead-letters");
  const headers = deadLetters.map((deadLetter) =>
    Object.fromEntries(deadLetter.headers.map(([key, value]) => [key, `${value}`])),
  );
  return headers.flatMap((each) => (each[REASON] === "cancelled" ? [`${each[MESSAGE_ID]}`] : []));
}

/** Returns how often crm has accepted the call. */
function timesAt({ receiver }: ControlledWorld, id: string): number {
  return receiver.accepted("crm").filter((each) => each.id === id).length;
}

function repeated(id: string, times: number): readonly string[] {
  return Array.from({ length: times }, () => id);
}
