/**
 * Compares the timelines of calls with different outcomes with the records of the endpoints: the statuses of all
 * attempts, in order.
 */

import { idsOf } from "../../support/kit/ledger.ts";
import { type ControlledWorld, DESTINATIONS } from "../controlled-world.ts";
import { Rows } from "../row.ts";

interface TraceLine {
  readonly kind: string;
  readonly destination?: string;
  readonly finalState?: string;
  readonly reason?: string;
  readonly requests?: readonly { readonly status: number | null }[];
}

export async function traces(world: ControlledWorld): Promise<Rows> {
  const rows = new Rows("trace");
  for (const [about, id] of chosen(world)) {
    if (id === undefined) {
      rows.same(about, "a call", "none in the ledger");
      continue;
    }
    const expected = await ledgerText(world, id);
    let seen = "";
    // The record of an attempt is written shortly after the attempt.
    await world.until(async () => {
      seen = timelineText((await world.command("timeline", id, "--since", "1h", "--json")).out);
      return seen === expected;
    });
    rows.same(`${about} (${id})`, expected, seen);
  }
  return rows;
}

/** Returns the last call of each kind. */
function chosen({
  receiver,
  ledger,
}: ControlledWorld): readonly (readonly [string, string | undefined])[] {
  const accepted = receiver.accepted("crm");
  const times = Map.groupBy(accepted, ({ id }) => id);
  const refused = new Set(idsOf(receiver.refused("crm")));
  const old = new Set(idsOf(ledger.all.filter(({ isOld }) => isOld)));
  const last = (holds: (id: string) => boolean) => accepted.findLast(({ id }) => holds(id))?.id;
  const count = (id: string) => times.get(id)?.length ?? 0;
  return [
    ["accepted at once", last((id) => count(id) === 1 && !refused.has(id))],
    ["refused, then retried", last((id) => refused.has(id))],
    ["refused and cancelled, then replayed", last((id) => refused.has(id) && old.has(id))],
    ["sent twice", last((id) => count(id) === 2 && !refused.has(id))],
    ["sent most often", accepted.toSorted((one, two) => count(one.id) - count(two.id)).at(-1)?.id],
  ];
}

async function ledgerText(world: ControlledWorld, id: string): Promise<string> {
  const { receiver, kafka } = world;
  const attempts = DESTINATIONS.map((destination) => {
    const own = receiver.all(destination).filter((each) => each.id === id);
    return `${destination} ${own.map(({ status }) => status).join(" ")} accepted`;
  });
  const deadLetters = (await kafka.recordsIn("dead-letters")).filter(({ headers }) =>
    headers.some(([key, value]) => key === "switchyard-message-id" && `${value}` === id),
  );
  return [...attempts, ...deadLetters.map(() => "cancelled")].join(", ");
}

function timelineText(json: string): string {
  const lines = json.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line)]));
  const steps = lines as readonly TraceLine[];
  const attempts = DESTINATIONS.map((destination) => {
    const own = steps.filter((each) => each.destination === destination);
    const made = own.flatMap(({ kind, requests = [] }) => (kind === "attempt" ? requests : []));
    const finalState = own.find(({ kind }) => kind === "final-state")?.finalState;
    return `${destination} ${made.map(({ status }) => status).join(" ")} ${finalState}`;
  });
  const deadLetters = steps.flatMap(({ kind, reason }) =>
    kind === "dead-lettered" ? [`${reason}`] : [],
  );
  return [...attempts, ...deadLetters].join(", ");
}
