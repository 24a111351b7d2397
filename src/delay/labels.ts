/**
 * Names of destinations as labels of metrics. Anybody who may write to a delay topic can put any
 * name into its records, so only some become labels.
 *
 *   the destination is                             its label
 *   configured in this process                     its id
 *   another, and among the first 100 that wait     its id: it was removed, or comes with a rollout
 *   another                                        empty, as that of records without a destination
 *   no id                                          the same
 */

import { isDestinationId } from "../domain/ids.ts";

const OTHERS_MAX = 100;
/** All that have no label of their own. */
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

  /** The others give their places up when nothing of theirs waits. */
  keep(waiting: { has(label: string): boolean }): void {
    for (const label of this.#others) if (!waiting.has(label)) this.#others.delete(label);
  }
}
