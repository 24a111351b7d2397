/**
 * Adds a routed call to the ledger.
 *
 *   the call                                           outcome, by destination unless stated otherwise
 *   any                                                `in`, without a destination
 *   cannot be used                                     `dead:…`, without a destination
 *   goes to a destination                              `queued`
 *   ... but its topic was not writable                 `retry`, or `dead:unknown-destination` if it is missing
 *   ... but it is too large                            `dead:too-large`
 *   is skipped by rules or because of its user         `skipped:…`
 *   its rules could not be evaluated                   `dead:rule-failed`
 *   is for others: the destination is not connected    none: with 10,000 destinations, such outcomes would fill the
 *   or disabled, or `integrations` exclude it          ledger. `audit` computes their number
 */

import type { Tallies } from "../ledger/tallies.ts";
import { placeIdentity } from "../ledger/tallies.ts";
import type { Written } from "../stage/dead-letter-writer.ts";
import type { Routed } from "./route-record.ts";

export function tallyRouted(book: Tallies, routed: Routed, { instead }: Pick<Written, "instead">) {
  const { record } = routed;
  if (routed.kind === "unusable") {
    const identity = placeIdentity(record, record.timestampMs);
    book.add("", "in", identity);
    book.add("", `dead:${routed.reason}`, identity);
    return;
  }
  const { identity, records, routes, ruled } = routed;
  book.add("", "in", identity);
  routes.forEach(({ destination }, at) => {
    const written = records[at];
    const other = written === undefined ? undefined : instead.get(written);
    book.add(destination, other ?? "queued", identity);
  });
  for (const { route, reason } of ruled?.skipped ?? []) {
    book.add(route.destination, `skipped:${reason}`, identity);
  }
  for (const { destination } of ruled?.failed ?? []) {
    book.add(destination, "dead:rule-failed", identity);
  }
}
