/**
 * Counts a destination's waiting deliveries, and keeps the earliest of their times. `NEVER` means that no delivery
 * has such a time.
 */

import { isDestinationId } from "../../domain/ids.ts";
import type { DelayedRecord } from "./due.ts";

/**
 * Decides which names of destinations become metric labels. Anyone who may write to a delay topic can put any name
 * into its records, so not all names become labels.
 *
 *   the destination is                             its label
 *   configured in this process                     its ID
 *   among the first 100 others with deliveries     its ID: it was removed, or is new in a rollout
 *   any other                                      empty, as for records without a destination
 *   not a valid ID                                 the same
 */
const OTHERS_MAX = 100;
/** The label that all destinations without a label of their own share. */
export const REST = "";

export class Labels {
  #configured: ReadonlySet<string>;
  readonly #others = new Set<string>();

  constructor(configured: Iterable<string>) {
    this.#configured = new Set(configured);
  }

  configure(destinations: Iterable<string>): void {
    this.#configured = new Set(destinations);
  }

  isConfigured(label: string): boolean {
    return this.#configured.has(label);
  }

  of(destination: string): string {
    if (this.#configured.has(destination) || this.#others.has(destination)) return destination;
    if (this.#others.size >= OTHERS_MAX || !isDestinationId(destination)) return REST;
    this.#others.add(destination);
    return destination;
  }

  /** When a destination that is not configured has no more waiting deliveries, it loses its label. */
  keep(waiting: { has(label: string): boolean }): void {
    for (const label of this.#others) if (!waiting.has(label)) this.#others.delete(label);
  }
}

export const NEVER = Number.POSITIVE_INFINITY;

export interface Times {
  readonly scheduledAtMs: number;
  readonly dueAtMs: number;
  /** The earliest first attempt of all of the deliveries. Retry windows are measured from first attempts. */
  readonly firstAttemptAtMs: number;
}

export type Tally = { -readonly [Key in keyof Times]: number } & { count: number };

/** Tallies by destination label. */
export type Tallies = Map<string, Tally>;

export function timesOf(waiting: DelayedRecord): Times {
  const { scheduledAtMs } = waiting;
  if (waiting.kind === "invalid") return { scheduledAtMs, dueAtMs: NEVER, firstAttemptAtMs: NEVER };
  const { dueAtMs, firstAttemptAtMs } = waiting;
  return { scheduledAtMs, dueAtMs, firstAttemptAtMs: firstAttemptAtMs ?? NEVER };
}

/** Adds deliveries for one destination. Returns `true` if they are the first ones for this destination. */
export function addTo(tallies: Tallies, label: string, times: Times, count = 1): boolean {
  const tally = tallies.get(label);
  if (tally === undefined) {
    const { scheduledAtMs, dueAtMs, firstAttemptAtMs } = times;
    tallies.set(label, { count, scheduledAtMs, dueAtMs, firstAttemptAtMs });
    return true;
  }
  tally.count += count;
  tally.scheduledAtMs = Math.min(tally.scheduledAtMs, times.scheduledAtMs);
  tally.dueAtMs = Math.min(tally.dueAtMs, times.dueAtMs);
  tally.firstAttemptAtMs = Math.min(tally.firstAttemptAtMs, times.firstAttemptAtMs);
  return false;
}
