/** Checks the journal of a run against the laws. */

import { begunWithoutProxy } from "../support/worlds/ledger.ts";
import type { Journal } from "./journal.ts";
import { inversions, isExcused, outOfOrder, violations } from "./laws.ts";
import { tooMany } from "./repetitions.ts";
import { type Broken, history, type Injected, ledgerText } from "./report.ts";
import { POLICY, PROXIED, recipientOf, STRICT } from "./setup.ts";
import { isNotedLate, type Stall, TOO_LONG_MS } from "./stalls.ts";
import { type Exposure, type Law, type Loss, STARVED } from "./violation.ts";

export interface Judgement {
  readonly ledger: string;
  /** Histories of deliveries that broke a law; empty if all laws held. */
  readonly broken: readonly string[];
}

/** Circumstances that may excuse a violation. */
export interface Circumstances {
  readonly exposures: readonly Exposure[];
  readonly losses: readonly Loss[];
  /** When the forward proxy was down. */
  readonly outages: readonly Exposure[];
  readonly stalls: readonly Stall[];
  readonly machine: { readonly starvedMs: number; readonly lastedMs: number };
  /** Deliveries with which the run has tampered. Only the audit judges them. */
  readonly tampered: readonly {
    readonly messageId: string | null;
    readonly destination: string | null;
  }[];
}

/** Laws about the times of requests. If a stall during a request was at least this long, the law cannot be checked. */
const OF_TIME: Readonly<Partial<Record<Law, number>>> = {
  early: 0,
  late: 0,
  repeated: TOO_LONG_MS,
};
/** Maximum number of histories for each law. */
const HISTORIES_MAX = 3;

export function judge(
  journal: Journal,
  injected: readonly Injected[],
  { exposures, losses, outages, stalls, machine, tampered }: Circumstances,
  failures: readonly string[],
): Judgement {
  const broken: Broken[] = [...failures, ...journal.strange, ...journal.unknown()].map((says) => ({
    entry: null,
    violation: { law: "run", says },
  }));
  const names = new Set(
    tampered.map(({ messageId, destination }) => `${messageId} ${destination}`),
  );
  const deliveries = [...journal.deliveries()]
    .filter(([{ messageId, destination }]) => !names.has(`${messageId} ${destination}`))
    .map(([entry, destination]) => [entry, recipientOf(destination)] as const);
  const sentAtMs = new Map(journal.calls.map(({ messageId, atMs }) => [messageId, atMs]));
  const blurs = [...stalls, ...starvedTimes(exposures)];
  let excused = 0;
  let unclear = 0;
  for (const [entry, recipient] of deliveries) {
    for (const violation of violations(entry, recipient, POLICY, exposures)) {
      const isGone =
        violation.law === "lost" && isExcused(entry, sentAtMs.get(entry.messageId) ?? 0, losses);
      const stallMs = OF_TIME[violation.law];
      if (isGone) excused += 1;
      else if (stallMs !== undefined && isNotedLate(entry.requests, blurs, stallMs)) unclear += 1;
      else broken.push({ entry, violation });
    }
  }
  for (const [entry] of deliveries) {
    if (entry.destination !== PROXIED) continue;
    for (const says of begunWithoutProxy(entry, outages))
      broken.push({ entry, violation: { law: "unattempted", says } });
  }
  for (const violation of tooMany(deliveries, exposures)) broken.push({ entry: null, violation });
  for (const destination of ["healthy", "narrow"]) {
    const entries = journal.calls.map(
      ({ user, messageId }) => [user, journal.entry(messageId, destination)] as const,
    );
    // A request that timed out meanwhile has ended for its program, but not for its endpoint.
    const clear = entries.filter(([, { requests }]) => !isNotedLate(requests, blurs, TOO_LONG_MS));
    broken.push(...outOfOrder(clear));
  }
  const recipients = new Map(deliveries.map(([, recipient]) => [recipient.id, recipient]));
  for (const recipient of recipients.values()) {
    const { id } = recipient;
    if (!STRICT.includes(id)) continue;
    // A delivery that was deleted is never over, and its user's other ones follow nevertheless.
    const entries = journal.calls
      .filter(({ messageId }) => !names.has(`${messageId} ${id}`))
      .map(({ user, messageId }) => [user, journal.entry(messageId, id)] as const);
    broken.push(...inversions(entries, recipient));
  }
  for (const key of journal.poison) {
    if (!journal.poisonDeadLetters.has(key)) {
      broken.push({ entry: null, violation: { law: "lost", says: `${key} is no dead letter` } });
    }
  }
  const ofLaws = Map.groupBy(broken, ({ violation }) => violation.law).values();
  const histories = [...ofLaws]
    .flatMap((ofLaw) => ofLaw.slice(0, HISTORIES_MAX))
    .map((each) => history(each, injected));
  const more = broken.length - histories.length;
  if (more > 0) histories.push(`... and ${more} more`);
  return {
    ledger: ledgerText({ journal, injected, exposures, broken, excused, unclear, machine }),
    broken: histories,
  };
}

/**
 * The times in which programs were starved. The endpoints of this process may have been starved then as well, in many
 * pauses that are each too short to count as a stall.
 */
function starvedTimes(exposures: readonly Exposure[]): readonly Stall[] {
  return exposures
    .filter(({ kind }) => kind === STARVED)
    .map(({ fromMs, toMs }) => ({ fromMs, toMs, ms: toMs - fromMs }));
}
