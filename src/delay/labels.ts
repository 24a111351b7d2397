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

import { isDestinationId } from "../domain/ids.ts";

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
