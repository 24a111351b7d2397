/**
 * Decides which operator events are written. Every few seconds, a process observes each subject about which it reports.
 * The topic shows which incidents are open: for each key, the last record counts, regardless of which process wrote it.
 *
 *   incident on the topic    the process observes             written
 *   not open                 an incident                      the event of the start
 *   not open                 no incident                      nothing
 *   open                     an incident                      nothing: reported before a restart or by another process
 *   open, of another sync    an incident                      the event of the start
 *   open                     no incident, and the end of      the event of the end, which closes the incident
 *                            this kind has an event
 *   open                     no incident, and the end of      a record without a value, which closes the incident
 *                            this kind does not have one
 *   open or not              neither yet                      nothing
 *
 * An outage of Kafka can be reported only when it is over. Only the first process that can write reports it. If two
 * processes observe outages that overlap, both outages count as the same incident.
 */

import { type OperatorEvent, type OperatorEventKind, operatorEvent } from "./event.ts";

/** The kinds of events that start a lasting incident, each with the kind of event that ends the incident. */
export const LASTING = {
  "destination.failing": "destination.recovered",
  "destination.paused": "destination.resumed",
  "destination.token_missing": "destination.token_obtained",
  "destination.proxy_failed": "destination.proxy_works",
  "destination.endpoints_gone": "destination.endpoints_available",
  "audience.approval_required": null,
  "configuration.invalid": null,
} as const satisfies Partial<Record<OperatorEventKind, OperatorEventKind | null>>;
export type LastingKind = keyof typeof LASTING;

/** What a process observes about one of its subjects. */
export interface Observation {
  readonly kind: LastingKind;
  readonly subject: string;
  /** `unknown`: the process cannot decide yet, for example because it has just started. */
  readonly is: "so" | "not-so" | "unknown";
  /** When the incident started or, if it has ended, when it ended. */
  readonly sinceMs: number;
  readonly data: Readonly<Record<string, unknown>>;
}

/** For each key, the last event on the topic. */
export type ReportedEvents = ReadonlyMap<string, OperatorEvent>;

export interface Writing {
  readonly key: string;
  /** Null if the incident is closed without an event. */
  readonly event: OperatorEvent | null;
}

export function keyOf({ kind, subject }: Pick<Observation, "kind" | "subject">): string {
  return `${kind}/${subject}`;
}

/** @param source the attribute `source`, as in `event.ts`. */
export function writings(
  observations: readonly Observation[],
  reported: ReportedEvents,
  source: string,
): readonly Writing[] {
  return observations.flatMap((observation): readonly Writing[] => {
    const { kind, subject, is, sinceMs, data } = observation;
    const key = keyOf(observation);
    const open = openOf(reported, key, observation);
    if (is === "unknown" || (is === "so") === (open !== null)) return [];
    if (open === null) return [{ key, event: operatorEvent(source, kind, subject, sinceMs, data) }];
    const end = LASTING[kind];
    if (end === null) return [{ key, event: null }];
    const lasted = { ...data, since: open.time };
    return [{ key, event: operatorEvent(source, end, subject, sinceMs, lasted) }];
  });
}

function openOf(
  reported: ReportedEvents,
  key: string,
  { kind, is, data }: Observation,
): OperatorEvent | null {
  const last = reported.get(key);
  if (last?.kind !== kind) return null;
  // A new sync may await approval immediately after the previous one was approved.
  const isOther =
    kind === "audience.approval_required" && is === "so" && last.data.sync !== data.sync;
  return isOther ? null : last;
}

export const OUTAGE_KEY = "kafka.unreachable/kafka";

/** Returns null if the outage has already been reported. */
export function outageWriting(
  outage: { readonly sinceMs: number; readonly untilMs: number },
  reported: ReportedEvents,
  source: string,
): Writing | null {
  const last = reported.get(OUTAGE_KEY);
  const lastUntilMs = Date.parse(String(last?.data.until ?? ""));
  if (!Number.isNaN(lastUntilMs) && lastUntilMs >= outage.sinceMs) return null;
  const data = { until: new Date(outage.untilMs).toISOString() };
  const event = operatorEvent(source, "kafka.unreachable", "kafka", outage.sinceMs, data);
  return { key: OUTAGE_KEY, event };
}
