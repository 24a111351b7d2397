/**
 * What must hold for each delivery, whatever went wrong, and what follows from which fault.
 *
 *   law                                                    unless
 *   accepted by an endpoint, or a dead letter              -
 *   no attempt before its tier's delay or `Retry-After`    the window would end first
 *   nothing leaves a delay topic before it is due          -
 *   no attempt after the window                            the program was frozen while it sent it
 *   nothing expires or is rejected without cause           -
 *   nothing is done twice                                  it was done shortly before or during a
 *                                                          fault that may undo it (`Exposure`)
 *
 * A delivery that a fault has split in two goes on twice, each on its own: what one of them does may
 * repeat the other much later, and in another form. So a fault explains a repetition when anything
 * that was done for the delivery before lies in its exposure, and what follows needs no other one.
 */

import type { RetryPolicy } from "../../src/deliver/park.ts";
import {
  early,
  givenUpEarly,
  givenUpWithoutReason,
  isAccepted,
  isSettled,
  type Recipient,
} from "../support/ledger.ts";
import type { ChaosEntry, ChaosRequest, Written } from "./journal.ts";

/** What was done in this time may be done again: it may not have been committed. */
export interface Exposure {
  readonly kind: string;
  readonly fromMs: number;
  readonly toMs: number;
}

export type Law = "lost" | "early" | "late" | "given up" | "repeated" | "order";

export interface Violation {
  readonly law: Law;
  readonly says: string;
}

/** Something of a delivery that happened again. */
export interface Repetition {
  readonly what: string;
  readonly firstAtMs: number;
  readonly againAtMs: number;
  /** When other things had been done for the delivery by then. */
  readonly earlierMs: readonly number[];
}

type Pair = Omit<Repetition, "earlierMs">;

/** From a check of the window in the program to the note in the receiver. */
const LATE_GRACE_MS = 2_000;
/** A wait past the window is cut; then neither the tier nor `Retry-After` is the rule. */
const CUT_MARGIN_MS = 2_000;

export function violations(
  entry: ChaosEntry,
  recipient: Recipient,
  policy: RetryPolicy,
  exposures: readonly Exposure[],
): Violation[] {
  const say = (law: Law, says: readonly string[]) => says.map((each) => ({ law, says: each }));
  return [
    ...say("lost", isSettled(entry, recipient) ? [] : ["neither accepted nor a dead letter"]),
    ...say("early", [
      ...early(entry, recipient, policy),
      ...returnedEarly(entry),
      ...beforeRetryAfter(entry, recipient, policy),
    ]),
    ...say("late", late(entry, policy, exposures)),
    ...say("given up", [...givenUpEarly(entry, policy), ...givenUpWithoutReason(entry, recipient)]),
    ...say("repeated", unexplained(repetitions(entry, recipient), exposures)),
  ];
}

function returnedEarly({ written }: ChaosEntry): string[] {
  return written.flatMap(({ where, dueAtMs, atMs, place }) => {
    if (where !== "delivery" || dueAtMs === null || atMs >= dueAtMs) return [];
    return [`${place} came back ${dueAtMs - atMs} ms before it was due`];
  });
}

/** Judged where attempts were made once: of repeated ones nobody knows which follows from which. */
function beforeRetryAfter(entry: ChaosEntry, recipient: Recipient, policy: RetryPolicy): string[] {
  const beganMs = Math.min(...entry.requests.map(({ atMs }) => atMs), ...entry.beganAtMs);
  const longestMs = Math.max(...policy.delaysMs);
  return entry.requests.flatMap((next) => {
    const isOfSame = (request: ChaosRequest) =>
      recipient.deliver === "any" || request.endpoint === next.endpoint;
    const before = entry.requests.filter(
      (request) => request.attempt === next.attempt - 1 && isOfSame(request),
    );
    const isOnce = new Set(before.map(({ endpoint }) => endpoint)).size === before.length;
    const asked = before.reduce((most, { retryAfterMs }) => Math.max(most, retryAfterMs), 0);
    const answeredMs = Math.max(...before.map(({ endAtMs }) => endAtMs));
    const isCut = answeredMs + longestMs + CUT_MARGIN_MS > beganMs + policy.windowMs;
    if (asked === 0 || !isOnce || isCut || next.atMs >= answeredMs + asked) return [];
    return [`attempt ${next.attempt} came before the ${asked} ms that an endpoint had asked for`];
  });
}

function late(
  { requests }: ChaosEntry,
  { windowMs }: RetryPolicy,
  exposures: readonly Exposure[],
): string[] {
  const firstMs = requests.filter(({ attempt }) => attempt === 1).map(({ atMs }) => atMs);
  const endMs = Math.max(...firstMs) + windowMs;
  const wasFrozen = (atMs: number) =>
    exposures.some(({ kind, fromMs, toMs }) => kind === "freeze" && atMs > fromMs && atMs < toMs);
  return requests
    .filter(({ atMs }) => atMs > endMs + LATE_GRACE_MS && !wasFrozen(atMs))
    .map(({ attempt, atMs }) => `attempt ${attempt} came ${atMs - endMs} ms after the window`);
}

/** In the order in which they happened again. */
export function repetitions(entry: ChaosEntry, { deliver }: Recipient): Repetition[] {
  const requests = [...entry.requests].sort((a, b) => a.atMs - b.atMs);
  const written = [...entry.written].sort((a, b) => a.atMs - b.atMs);
  const steps = [
    ...requests.map(({ attempt, path, atMs, endAtMs }) => ({
      what: `attempt ${attempt} at ${path}`,
      atMs,
      endAtMs,
    })),
    ...written.map((record) => ({ what: nameOf(record), atMs: record.atMs, endAtMs: record.atMs })),
  ];
  const found = [
    ...doneAgain(steps),
    ...doneOtherwise(requests, written),
    ...afterTheEnd(requests, written, deliver),
  ];
  const doneMs = steps.map(({ endAtMs }) => endAtMs);
  // Of what is noted in the same millisecond, what goes back furthest is the cause.
  return found
    .sort((a, b) => a.againAtMs - b.againAtMs || a.firstAtMs - b.firstAtMs)
    .map((pair) => ({ ...pair, earlierMs: doneMs.filter((ms) => ms < pair.againAtMs) }));
}

function nameOf({ where, parked, endpoint }: Written): string {
  const times = where === "dead-letter" ? "" : `, parked ${parked} times`;
  return `${where} record${times}${endpoint === null ? "" : ` of ${endpoint}`}`;
}

interface Step {
  readonly what: string;
  readonly atMs: number;
  readonly endAtMs: number;
}

function doneAgain(steps: readonly Step[]): Pair[] {
  const firsts = new Map<string, number>();
  return steps.flatMap(({ what, atMs, endAtMs }) => {
    const firstAtMs = firsts.get(what);
    if (firstAtMs !== undefined) return [{ what, firstAtMs, againAtMs: atMs }];
    firsts.set(what, endAtMs);
    return [];
  });
}

/** A record that was attempted or parked before is now parked or given up as if it had not been. */
function doneOtherwise(requests: readonly ChaosRequest[], written: readonly Written[]): Pair[] {
  return written.flatMap((record) => {
    const { where, endpoint, attempt, parked, atMs } = record;
    if (where === "delivery") return [];
    const isOfSame = (each: { readonly endpoint: string | null }) =>
      endpoint === null || each.endpoint === endpoint;
    const attempted = requests.find(
      (each) => each.attempt > attempt && each.endAtMs <= atMs && isOfSame(each),
    );
    // Only a delay record counts its own parking.
    const waited = written.find(
      (each) =>
        where === "dead-letter" &&
        each.where === "delay" &&
        each.parked > parked &&
        each.atMs <= atMs &&
        isOfSame(each),
    );
    const firstAtMs = Math.min(attempted?.endAtMs ?? atMs + 1, waited?.atMs ?? atMs + 1);
    if (firstAtMs > atMs) return [];
    const what = `${nameOf(record)} after ${attempt} attempts and ${parked} times parked`;
    return [{ what, firstAtMs, againAtMs: atMs }];
  });
}

function afterTheEnd(
  requests: readonly ChaosRequest[],
  written: readonly Written[],
  deliver: Recipient["deliver"],
): Pair[] {
  return requests.flatMap((request) => {
    const { attempt, path, endpoint, atMs } = request;
    const accepted = requests.find(
      (each) =>
        isAccepted(each) && attempt > each.attempt && (deliver === "any" || each.path === path),
    );
    const letter = written.find(
      (record) =>
        record.where === "dead-letter" &&
        record.atMs < atMs &&
        (record.endpoint === null || record.endpoint === endpoint),
    );
    const what = `attempt ${attempt} at ${path}, after `;
    return [
      ...(accepted === undefined
        ? []
        : [{ what: `${what}an acceptance`, firstAtMs: accepted.endAtMs, againAtMs: atMs }]),
      ...(letter === undefined
        ? []
        : [{ what: `${what}it was given up`, firstAtMs: letter.atMs, againAtMs: atMs }]),
    ];
  });
}

/** The fault that explains a repetition, or null. */
export function explanation(
  { firstAtMs, againAtMs, earlierMs }: Repetition,
  exposures: readonly Exposure[],
): Exposure | null {
  const explains = ({ fromMs, toMs }: Exposure) =>
    againAtMs >= fromMs && [firstAtMs, ...earlierMs].some((ms) => ms >= fromMs && ms <= toMs);
  return exposures.find(explains) ?? null;
}

function unexplained(all: readonly Repetition[], exposures: readonly Exposure[]): string[] {
  const [first] = all;
  if (first === undefined || explanation(first, exposures) !== null) return [];
  const { what, firstAtMs, againAtMs } = first;
  return [`${what} ${againAtMs - firstAtMs} ms after the first time, and no fault explains it`];
}

/**
 * Where no endpoint fails, calls of one user arrive one after the other, as they were sent. What a
 * fault made go on to a later attempt is left out: its first request was never seen.
 */
export function outOfOrder(entries: Iterable<readonly [user: string, entry: ChaosEntry]>) {
  const latest = new Map<string, ChaosEntry>();
  const found: { readonly entry: ChaosEntry; readonly violation: Violation }[] = [];
  for (const [user, entry] of entries) {
    const first = firstRequest(entry);
    if (first?.attempt !== 1) continue;
    const before = latest.get(user);
    const beforeEndMs = before === undefined ? 0 : (firstRequest(before)?.endAtMs ?? 0);
    if (first.atMs < beforeEndMs) {
      const says = `came ${beforeEndMs - first.atMs} ms before ${before?.messageId} of the same user was over`;
      found.push({ entry, violation: { law: "order", says } });
    }
    latest.set(user, entry);
  }
  return found;
}

function firstRequest({ requests }: ChaosEntry): ChaosRequest | undefined {
  return requests.reduce<ChaosRequest | undefined>(
    (first, each) => (first === undefined || each.atMs < first.atMs ? each : first),
    undefined,
  );
}
