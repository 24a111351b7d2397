/**
 * Decides which events people are told of. A process looks at itself now and then, and says for each
 * thing that it may speak of whether it is so. The topic says which incidents are open: its last
 * record of a key counts, whichever process wrote it.
 *
 *   open on the topic   the process sees                 written
 *   no                  it is so                         the event of its begin
 *   no                  it is not so                     nothing
 *   yes                 it is so                         nothing: it was told, before a restart or by another
 *   yes, of another     the same                         the event of its begin
 *   sync
 *   yes                 it is not so, and its end has    the event of its end, which closes it
 *                       an event
 *   yes                 it is not so, and has none       a record without a value, which closes it
 *   either              nothing that counts              nothing
 *
 * An outage of Kafka is told when it is over, since it cannot be before: once, by the
 * first that writes. Another process's outage that overlaps it is the same one.
 */

import { type OperatorEvent, type OperatorEventKind, operatorEvent } from "./event.ts";

/** Kinds that last, with the kind of their end. */
export const LASTING = {
  "destination.failing": "destination.recovered",
  "destination.paused": "destination.resumed",
  "audience.approval_required": null,
  "configuration.invalid": null,
} as const satisfies Partial<Record<OperatorEventKind, OperatorEventKind | null>>;
export type LastingKind = keyof typeof LASTING;

/** A look of a process at one thing that it may speak of. */
export interface Observation {
  readonly kind: LastingKind;
  readonly subject: string;
  /** `unknown`: it has seen nothing that counts, such as after a start. */
  readonly is: "so" | "not-so" | "unknown";
  /** Since when it is so, or not so any more. */
  readonly sinceMs: number;
  readonly data: Readonly<Record<string, unknown>>;
}

/** The last event of each key on the topic. */
export type Reported = ReadonlyMap<string, OperatorEvent>;

export interface Writing {
  readonly key: string;
  /** Null: the incident is closed without an event. */
  readonly event: OperatorEvent | null;
}

export function keyOf({ kind, subject }: Pick<Observation, "kind" | "subject">): string {
  return `${kind}/${subject}`;
}

/** @param source see `event.ts` */
export function writings(
  observations: readonly Observation[],
  reported: Reported,
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
  reported: Reported,
  key: string,
  { kind, is, data }: Observation,
): OperatorEvent | null {
  const last = reported.get(key);
  if (last?.kind !== kind) return null;
  // One may await approval as soon as the one before was approved.
  const isOther =
    kind === "audience.approval_required" && is === "so" && last.data.sync !== data.sync;
  return isOther ? null : last;
}

export const OUTAGE_KEY = "kafka.unreachable/kafka";

/** Null: it was told already. */
export function outageWriting(
  outage: { readonly sinceMs: number; readonly untilMs: number },
  reported: Reported,
  source: string,
): Writing | null {
  const last = reported.get(OUTAGE_KEY);
  const lastUntilMs = Date.parse(String(last?.data.until ?? ""));
  if (!Number.isNaN(lastUntilMs) && lastUntilMs >= outage.sinceMs) return null;
  const data = { until: new Date(outage.untilMs).toISOString() };
  const event = operatorEvent(source, "kafka.unreachable", "kafka", outage.sinceMs, data);
  return { key: OUTAGE_KEY, event };
}
