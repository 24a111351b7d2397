/**
 * Compares, hop by hop, what stages have written to a topic with what the topic contains.
 *
 *   hop     written, according to the ledger           the topic's content: what its reader has processed, according to
 *                                                      the ledger, and the records of offsets that are not in the ledger
 *   queue   `queued`, by all writers                   `deliveries.<destination>`: `in` of deliver
 *   delay   `retry`, by all writers                    `delays.<delay>`: `in` of delay
 *   retry   `returned`, by delay and replays           `retries.<destination>`: `in:retry` of deliver
 *
 * Records whose offsets are in two ledger records are in the content once, so one of the two is subtracted.
 *
 * A balance is the content minus what was written, for the calls of one bin and one destination. If it is zero, nothing
 * is missing, and nothing is there that nobody wrote.
 */

import { type Identity, type Outcome, Sum } from "../../router/ledger/tallies.ts";
import { type Bins, type BookedSum, isIn, type Writer } from "./books.ts";

export type HopName = "queue" | "delay" | "retry";

export interface Hop {
  readonly name: HopName;
  readonly where: string;
  readonly written: Outcome;
  /** The writer whose input is read to name what is missing. */
  readonly writer: Writer;
  /** Others that write there, also when they reroute deliveries. */
  readonly alsoBy: readonly Writer[];
  readonly reader: Writer;
  readonly processed: Outcome;
}

export const HOPS: Readonly<Record<HopName, Hop>> = {
  queue: {
    name: "queue",
    where: "the destination's queue",
    written: "queued",
    writer: "route",
    alsoBy: ["deletion", "replay", "delay"],
    reader: "deliver",
    processed: "in",
  },
  delay: {
    name: "delay",
    where: "a delay topic",
    written: "retry",
    writer: "deliver",
    alsoBy: ["route", "deletion", "delay"],
    reader: "delay",
    processed: "in",
  },
  retry: {
    name: "retry",
    where: "the destination's retry topic",
    written: "returned",
    writer: "delay",
    alsoBy: ["replay"],
    reader: "deliver",
    processed: "in:retry",
  },
};

export function isWrittenBy({ writer, alsoBy }: Hop, other: Writer): boolean {
  return writer === other || alsoBy.includes(other);
}

/** Content minus what was written. */
export class Balance extends Sum {
  readonly hop: Hop;
  readonly bin: number;
  readonly destination: string;
  /** When the ledger records were written. */
  fromMs = Number.POSITIVE_INFINITY;
  toMs = Number.NEGATIVE_INFINITY;

  constructor(hop: Hop, bin: number, destination: string) {
    super();
    this.hop = hop;
    this.bin = bin;
    this.destination = destination;
  }
}

export class Balances {
  readonly #bins: Bins;
  readonly #balances = new Map<string, Balance>();

  constructor(bins: Bins) {
    this.#bins = bins;
  }

  addBooked({ writer, bin, destination, outcome, sum, atMs }: BookedSum): void {
    for (const hop of Object.values(HOPS)) {
      const isWritten = outcome === hop.written;
      const isProcessed = writer === hop.reader && outcome === hop.processed;
      if (!isWritten && !isProcessed) continue;
      const balance = this.#of(hop.name, bin, destination);
      balance.addAll(sum, isProcessed ? 1 : -1);
      balance.fromMs = Math.min(balance.fromMs, atMs);
      balance.toMs = Math.max(balance.toMs, atMs);
    }
  }

  /** @param times 1 for a record that is not in the ledger, -1 for one that is in two ledger records. */
  addRecord(hop: HopName, destination: string, identity: Identity, times: 1 | -1): void {
    if (!isIn(this.#bins, identity.bin)) return;
    const balance = this.#of(hop, identity.bin, destination);
    if (times === 1) balance.add(identity);
    else balance.remove(identity);
    // The record may have been written at any time.
    if (times === 1) balance.toMs = Number.POSITIVE_INFINITY;
  }

  /** Those that do not close, in the order of time. */
  open(): readonly Balance[] {
    return [...this.#balances.values()]
      .filter((balance) => !balance.isZero)
      .sort((one, other) => one.bin - other.bin);
  }

  #of(hop: HopName, bin: number, destination: string): Balance {
    const key = `${hop}/${bin}/${destination}`;
    const known = this.#balances.get(key);
    if (known !== undefined) return known;
    const balance = new Balance(HOPS[hop], bin, destination);
    this.#balances.set(key, balance);
    return balance;
  }
}
