/**
 * Both destinations fail for a while under load, so that deliveries of both wait for ten minutes.
 *
 *   command             expected by the ledger
 *   retry crm           reports how many wait: those that failed, and were not accepted later
 *   wait crm            ends when everything published before it has arrived, while calls continue
 *   other               no delivery is retried; `wait other` reports that the same number waits
 *   retry other         the same calls, and nothing else
 */

import { idsOf } from "../../support/kit/ledger.ts";
import { type ControlledWorld, DESTINATIONS, type DestinationName } from "../controlled-world.ts";
import { Rows } from "../row.ts";

const REFUSED_AT_LEAST = 10;

export async function retryAndDrain(world: ControlledWorld): Promise<Rows> {
  const rows = new Rows("retry");
  const { ledger, receiver } = world;
  await using load = ledger.load();
  for (const id of DESTINATIONS) receiver.refusing.add(id);
  const isRefused = (id: string) => receiver.refused(id).length >= REFUSED_AT_LEAST;
  await world.until(() => DESTINATIONS.every(isRefused));
  receiver.refusing.clear();
  const refusedTo = ledger.all.length;
  // The queue continues after a successful probe of the circuit breaker. Deliveries that failed await retry.
  const queueArrived = (id: DestinationName) => {
    const came = arrivedAt(world, id);
    const refused = new Set(idsOf(receiver.refused(id)));
    return ledger.all
      .slice(0, refusedTo)
      .every((call) => came.has(call.id) || refused.has(call.id));
  };
  await world.until(() => DESTINATIONS.every(queueArrived));
  const [crm, other] = [waitingAt(world, "crm"), waitingAt(world, "other")];

  const retried = await world.outcome("retry", "crm");
  rows.same("retry crm: says how many wait", crm.length, `${retried.returned}`);
  const before = idsOf(ledger.all);
  const drained = await world.command("wait", "crm", "--timeout", "2m");
  rows.same("wait crm: says", "No deliveries are left for crm.", drained.out.trim());
  const came = arrivedAt(world, "crm");
  const there = before.filter((id) => came.has(id));
  rows.calls("wait crm: published before, arrived", before, there);

  const again = () => other.filter((id) => arrivedAt(world, "other").has(id));
  rows.calls("of those that wait for other, arrived", [], again());
  const late = await world.outcome("wait", "other", "--timeout", "1ms");
  const remaining = late.remaining as { readonly awaitingRetry?: number } | undefined;
  rows.same("wait other: says what awaits retry", other.length, `${remaining?.awaitingRetry}`);
  rows.same("wait other: exit status", 1, `${late.status}`);
  await world.command("retry", "other");
  await world.until(() => again().length >= other.length);
  rows.calls("retry other: arrived", other, again());
  await load[Symbol.asyncDispose]();
  for (const id of DESTINATIONS) {
    await world.until(() => arrivedAt(world, id).size >= ledger.all.length);
    rows.calls(`arrived at ${id}`, idsOf(ledger.all), idsOf(receiver.accepted(id)));
  }
  return rows;
}

function arrivedAt({ receiver }: ControlledWorld, id: DestinationName): ReadonlySet<string> {
  return new Set(idsOf(receiver.accepted(id)));
}

/** Returns the calls that failed, and were not accepted later. */
function waitingAt(world: ControlledWorld, id: DestinationName): readonly string[] {
  const came = arrivedAt(world, id);
  const refused = new Set(idsOf(world.receiver.refused(id)));
  return [...refused].filter((each) => !came.has(each));
}
