/**
 * Judges what happened to the users who were suppressed and lifted (`canaries.ts`).
 *
 *   law                                                            unless
 *   no request for a suppressed user starts more than 10 s after   a fault kept programs from reading meanwhile
 *   the record was acknowledged                                    (`Exposure`): then, 10 s after its end
 *   a call that was sent after its user was lifted for the last    -
 *   time is accepted by the endpoint that accepts everything
 *   a dead letter that was replayed after its user was lifted      it was written so late that the replay may not have
 *   for the last time is sent again                                read it
 */

import type { ReceivedRequest } from "./receiver.ts";
import type { Exposure } from "./violation.ts";

export const BOUND_MS = 10_000;
/** The path of the endpoint that accepts everything. */
const HEALTHY = "/healthy";

/** The user was suppressed from the acknowledgment of one record until the write of another. */
export interface Period {
  readonly fromMs: number;
  readonly toMs: number;
}

export interface CanaryCall {
  readonly messageId: string;
  readonly user: string;
  readonly atMs: number;
}

export interface CanaryDeadLetter {
  /** The paths of the endpoints to which a replay sends it. */
  readonly paths: readonly string[];
  readonly failedAtMs: number;
}

/** A replay of the dead letters of these calls that failed in this time, also of those that were replayed before. */
export interface CanaryReplay {
  readonly messageIds: readonly string[];
  readonly sinceMs: number;
  readonly atMs: number;
}

export interface CanaryEvidence {
  readonly calls: readonly CanaryCall[];
  /** By message ID. */
  readonly requests: ReadonlyMap<string, readonly ReceivedRequest[]>;
  /** By message ID. */
  readonly deadLetters: ReadonlyMap<string, readonly CanaryDeadLetter[]>;
  /** By user. */
  readonly periods: ReadonlyMap<string, readonly Period[]>;
  readonly lastReplay: CanaryReplay;
}

/**
 * Returns sentences about broken laws.
 *
 * @param exposures the times in which faults kept programs from reading.
 */
export function canaryViolations(
  { calls, requests, deadLetters, periods, lastReplay }: CanaryEvidence,
  exposures: readonly Exposure[],
): readonly string[] {
  const { sinceMs, atMs: replayedAtMs } = lastReplay;
  const replayedIds = new Set(lastReplay.messageIds);
  const wasReplayed = ({ failedAtMs }: CanaryDeadLetter) =>
    failedAtMs >= sinceMs && readBy(failedAtMs, exposures) < replayedAtMs;
  return calls.flatMap(({ messageId, user, atMs: sentAtMs }) => {
    const own = requests.get(messageId) ?? [];
    const suppressed = periods.get(user) ?? [];
    const late = own
      .filter(({ atMs }) => isLate(atMs, suppressed, exposures))
      .map(({ atMs, path }) => `${messageId} was sent to ${path} at ${atMs}, while suppressed`);
    const liftedByMs = readBy(suppressed.at(-1)?.toMs ?? 0, exposures);
    const isAccepted = own.some(
      ({ path, status }) => path === HEALTHY && status !== null && status >= 200 && status < 300,
    );
    const isLost = !isAccepted && sentAtMs > liftedByMs;
    const mustBeSent = replayedIds.has(messageId) && replayedAtMs > liftedByMs;
    const unsent = (mustBeSent ? (deadLetters.get(messageId) ?? []) : [])
      .filter(wasReplayed)
      .filter(({ paths }) => !own.some((r) => r.atMs > replayedAtMs && paths.includes(r.path)))
      .map(({ paths }) => `${messageId} was replayed, and not sent to ${paths.join(" or ")}`);
    return [
      ...late,
      ...(isLost ? [`${messageId} is lost, although its user was lifted`] : []),
      ...unsent,
    ];
  });
}

/** True if no request for the user may have started at this time. */
export function isLate(
  atMs: number,
  periods: readonly Period[],
  exposures: readonly Exposure[],
): boolean {
  return periods.some(({ fromMs, toMs }) => {
    // There are very many times, periods and exposures, and few times are in a period.
    const isIn = atMs < toMs && atMs > fromMs + BOUND_MS;
    return isIn && atMs > readBy(fromMs, exposures);
  });
}

/** The time by which every program has read a record, and its attempts that had started have been recorded. */
function readBy(writtenAtMs: number, exposures: readonly Exposure[]): number {
  let byMs = writtenAtMs + BOUND_MS;
  for (const { fromMs, toMs } of exposures) {
    if (fromMs <= byMs && toMs > writtenAtMs) byMs = Math.max(byMs, toMs + BOUND_MS);
  }
  return byMs;
}
