/**
 * The laws that must hold for each delivery, regardless of the faults.
 *
 *   law                                                    unless
 *   accepted by an endpoint, or a dead letter              its record was deleted unread (`isExcused`)
 *   no attempt before the retry delay or `Retry-After`     the retry window would end first
 *   nothing leaves a delay topic before it is due          -
 *   no retry is scheduled without an attempt               the delivery is for one endpoint
 *   no retry window starts while a forward proxy is down   - (`judge.ts`)
 *   no attempt after the retry window                      the program was frozen during the request
 *   nothing expires or is rejected without a reason        -
 *   nothing is done twice                                  it was done shortly before or during a
 *                                                          fault that may undo it (`Exposure`)
 *
 *   with a strict order, the first request of a delivery    - (`inversions`)
 *   follows the end of each earlier one of its user
 *
 * `repetitions.ts` has how much a fault may repeat.
 */

import type { DestinationId } from "../../src/domain/ids.ts";
import type { RetryPolicy } from "../../src/router/deliver/choose-retry-delay.ts";
import {
  acceptedMs,
  deadLetteredEarly,
  deadLetteredWithoutReason,
  early,
  isSettled,
  type Recipient,
  windowBeganMs,
} from "../support/worlds/ledger.ts";
import type { ChaosEntry, ChaosRequest, Written } from "./journal.ts";
import { repetitions, tooOften, unexplained } from "./repetitions.ts";
import { topics } from "./setup.ts";
import type { Exposure, Law, Loss, Violation } from "./violation.ts";

/** Maximum time from the program's check of the retry window to the entry in the receiver's journal. */
const LATE_GRACE_MS = 2_000;
/**
 * A wait that would end after the retry window is shortened, so that neither the retry delay nor `Retry-After` applies.
 */
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
    ...say("unattempted", scheduledUntried(entry)),
    ...say("late", late(entry, recipient, policy, exposures)),
    ...say("dead-lettered", [
      ...deadLetteredEarly(entry, policy),
      ...deadLetteredWithoutReason(entry, recipient),
    ]),
    ...say("repeated", [
      ...unexplained(repetitions(entry, recipient), exposures),
      ...tooOften(entry, exposures),
    ]),
  ];
}

/**
 * True if the delivery may be among the deleted records, because it may have been in its destination's topic then.
 * Deliveries in other topics were not affected.
 */
export function isExcused(
  { destination, written }: ChaosEntry,
  sentAtMs: number,
  losses: readonly Loss[],
): boolean {
  const last = written.reduce<Written | undefined>(
    (latest, each) => (latest === undefined || each.atMs >= latest.atMs ? each : latest),
    undefined,
  );
  const isQueued =
    last === undefined ||
    last.place.startsWith(`${topics.deliveries(destination as DestinationId)}/`);
  const lastAtMs = last?.atMs ?? sentAtMs;
  return losses.some(
    (loss) => loss.destination === destination && isQueued && lastAtMs <= loss.toMs,
  );
}

/**
 * Finds retries that were scheduled before any attempt. Deliveries of a destination on hold stay in the queue, and
 * rerouted deliveries are in a delay topic without being scheduled for retry.
 */
function scheduledUntried({ written }: ChaosEntry): string[] {
  return written.flatMap(({ where, attempt, retryCount, endpoint, place }) => {
    if (where !== "delay" || attempt > 0 || retryCount === 0 || endpoint !== null) return [];
    return [`${place} was scheduled for retry without an attempt`];
  });
}

function returnedEarly({ written }: ChaosEntry): string[] {
  return written.flatMap(({ where, dueAtMs, atMs, place }) => {
    if (where !== "delivery" || dueAtMs === null || atMs >= dueAtMs) return [];
    return [`${place} came back ${dueAtMs - atMs} ms before it was due`];
  });
}

/**
 * Checked only while nothing was done twice. If a delivery continues twice, it is unknown which attempt follows from
 * which, and each of the two only has its own `Retry-After`.
 */
function beforeRetryAfter(entry: ChaosEntry, recipient: Recipient, policy: RetryPolicy): string[] {
  const [again] = repetitions(entry, recipient);
  const splitAtMs = again?.againAtMs ?? Number.POSITIVE_INFINITY;
  const beganMs = Math.min(...entry.requests.map(({ atMs }) => atMs), ...entry.beganAtMs);
  const longestMs = Math.max(...policy.retryDelaysMs);
  return entry.requests.flatMap((next) => {
    const isOfSame = (request: ChaosRequest) =>
      recipient.deliver === "any" || request.endpoint === next.endpoint;
    const before = entry.requests.filter(
      (each) => each.attempt === next.attempt - 1 && each.atMs < next.atMs && isOfSame(each),
    );
    const asked = before.reduce((most, { retryAfterMs }) => Math.max(most, retryAfterMs), 0);
    const respondedMs = Math.max(...before.map(({ endAtMs }) => endAtMs));
    const isCut = respondedMs + longestMs + CUT_MARGIN_MS > beganMs + policy.retryWindowMs;
    if (asked === 0 || isCut || next.atMs >= respondedMs + asked) return [];
    if (next.atMs >= splitAtMs) return [];
    return [`attempt ${next.attempt} came before the ${asked} ms that an endpoint had asked for`];
  });
}

/**
 * True if an attempt was repeated: the requests of one attempt start together, so later ones belong to another try at
 * another endpoint.
 */
function isBegunAgain({ requests }: ChaosEntry): boolean {
  const firstMs = requests.filter(({ attempt }) => attempt === 1).map(({ atMs }) => atMs);
  return Math.max(...firstMs) - Math.min(...firstMs) > LATE_GRACE_MS;
}

function late(
  entry: ChaosEntry,
  recipient: Recipient,
  { retryWindowMs }: RetryPolicy,
  exposures: readonly Exposure[],
): string[] {
  const mayBeTwo = isBegunAgain(entry) || repetitions(entry, recipient).length > 0;
  const endMs = windowBeganMs(entry, mayBeTwo) + retryWindowMs;
  const wasFrozen = (atMs: number) =>
    exposures.some(({ kind, fromMs, toMs }) => kind === "freeze" && atMs > fromMs && atMs < toMs);
  return entry.requests
    .filter(({ atMs }) => atMs > endMs + LATE_GRACE_MS && !wasFrozen(atMs))
    .map(({ attempt, atMs }) => `attempt ${attempt} came ${atMs - endMs} ms after the window`);
}

/**
 * If no endpoint fails, the calls of one user arrive in the order in which they were sent, and none arrives before a
 * request of the previous call has ended. There may be several requests of a call if a frozen process continues with
 * deliveries that another process has also started; the other process waits only for its own request. Deliveries that
 * continued with a later attempt because of a fault are omitted, because their first request was not recorded.
 */
export function outOfOrder(entries: Iterable<readonly [user: string, entry: ChaosEntry]>) {
  const latest = new Map<string, ChaosEntry>();
  const found: { readonly entry: ChaosEntry; readonly violation: Violation }[] = [];
  for (const [user, entry] of entries) {
    const first = firstRequest(entry);
    if (first?.attempt !== 1) continue;
    const before = latest.get(user);
    const beforeEndMs = Math.min(...(before?.requests ?? []).map(({ endAtMs }) => endAtMs));
    if (before !== undefined && !wasRerouted(before) && first.atMs < beforeEndMs) {
      const says = `came ${beforeEndMs - first.atMs} ms before ${before.messageId} of the same user was over`;
      found.push({ entry, violation: { law: "order", says } });
    }
    latest.set(user, entry);
  }
  return found;
}

/**
 * If the order is strict, no delivery is requested before each earlier one of its user is accepted or a dead letter. The
 * sequence is that of the queue.
 *
 * @param entries those of one destination, with their users.
 */
export function inversions(
  entries: Iterable<readonly [user: string, entry: ChaosEntry]>,
  recipient: Recipient,
) {
  const queued = [...entries].flatMap(([user, entry]) => {
    const places = entry.written.flatMap(({ place }) => {
      const [topic = "", partition = "", offset = ""] = place.split("/");
      const isQueue = topic === topics.deliveries(entry.destination as DestinationId);
      return isQueue ? [{ line: `${partition} ${user}`, offset: Number(offset) }] : [];
    });
    const [first] = places.toSorted((one, other) => one.offset - other.offset);
    return first === undefined ? [] : [{ ...first, entry }];
  });
  queued.sort((one, other) => one.offset - other.offset);
  const found: { readonly entry: ChaosEntry; readonly violation: Violation }[] = [];
  const last = new Map<string, { readonly entry: ChaosEntry; readonly endMs: number }>();
  for (const { line, entry } of queued) {
    const before = last.get(line);
    const beganMs = Math.min(...entry.requests.map(({ atMs }) => atMs));
    if (before !== undefined && beganMs < before.endMs) {
      const says = `was requested ${before.endMs - beganMs} ms before ${before.entry.messageId} of the same user was over`;
      found.push({ entry, violation: { law: "inversion", says } });
    }
    const endMs = Math.min(
      acceptedMs(entry.requests, recipient),
      ...entry.deadLetters.map(({ atMs }) => atMs),
    );
    if (before === undefined || endMs > before.endMs) last.set(line, { entry, endMs });
  }
  return found;
}

function wasRerouted({ written }: ChaosEntry): boolean {
  return written.some(({ where, attempt }) => where === "delay" && attempt === 0);
}

function firstRequest({ requests }: ChaosEntry): ChaosRequest | undefined {
  return requests.reduce<ChaosRequest | undefined>(
    (first, each) => (first === undefined || each.atMs < first.atMs ? each : first),
    undefined,
  );
}
