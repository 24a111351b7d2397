/**
 * Counts what happened to records, with a sum over their message IDs for each number. If two numbers that should be
 * equal have equal sums, they are about the same records, so that nobody has to read the records to compare them.
 *
 *   a record is counted     by
 *   bin                     ten minutes, in which its call was received (`switchyard-received-at`): this time stays the
 *                           same at every hop, unlike offsets and the times of records
 *   destination             empty for a call on `calls`, which may have several
 *   outcome                 what a stage made of it (`Outcome`)
 *
 * A sum is that of 64-bit hashes, as two sums of 32 bits, modulo 2^32 each. If a record is replaced by another one, the
 * sums differ, except with a chance of one in 2^64; if a record is doubled and another one is lost, they do, too.
 */

import { type Delivery, readDelivery } from "../../domain/delivery.ts";
import type { DestinationId, MessageId } from "../../domain/ids.ts";
import type { RecordPlace, WithHeaders } from "../../domain/record.ts";

export const BIN_MS = 600_000;
/** The bin of records whose headers cannot be read. */
const NO_BIN = -1;

/**
 *   in            read from the stage's topic, and processed
 *   in:retry      read from `retries.<destination>`, and processed
 *   in:wait       read back from `deliveries.<destination>` after it waited behind another delivery of its user
 *   queued        written to `deliveries.<destination>`
 *   retry         written to a delay topic
 *   wait          waits in its queue behind another delivery of its user
 *   returned      written to `retries.<destination>`
 *   delivered     accepted by the endpoints; or, by a destination without requests, counted as such
 *   suppressed    ended without an attempt
 *   dead:…        written to `dead-letters`, with the reason
 *   skipped:…     not written for a destination, with the reason
 */
export type Outcome =
  | "in"
  | "in:retry"
  | "in:wait"
  | "queued"
  | "retry"
  | "wait"
  | "returned"
  | "delivered"
  | "suppressed"
  | `dead:${string}`
  | `skipped:${string}`;

/** A record, as far as sums distinguish it. Both halves of the hash are signed integers of 32 bits. */
export interface Identity {
  readonly bin: number;
  readonly high: number;
  readonly low: number;
}

const RETRY_UNIT = 0x10000;

/**
 * A hash like cyrb53 (https://github.com/bryc/code/blob/master/jshash/experimental/cyrb53.js), with all of its bits.
 *
 * @param retryCount how often a retry was scheduled: a delivery that is retried passes through the same topics again.
 */
export function identityOf(messageId: string, receivedAtMs: number, retryCount = 0): Identity {
  let high = 0xdeadbeef | 0;
  let low = 0x41c6ce57 | 0;
  const { length } = messageId;
  for (let at = 0; at < length + (retryCount > 0 ? 1 : 0); at += 1) {
    // No character has this number.
    const unit = at < length ? messageId.charCodeAt(at) : RETRY_UNIT + retryCount;
    high = Math.imul(high ^ unit, 0x9e3779b1);
    low = Math.imul(low ^ unit, 0x5f356495);
  }
  const mixed = Math.imul(high ^ (high >>> 16), 0x85ebca6b);
  high = mixed ^ Math.imul(low ^ (low >>> 13), 0xc2b2ae35);
  low = Math.imul(low ^ (low >>> 16), 0x85ebca6b) ^ Math.imul(high ^ (high >>> 13), 0xc2b2ae35);
  return { bin: Math.floor(receivedAtMs / BIN_MS), high, low };
}

/** The identity of a record that is not a call, or not a delivery: its position. */
export function placeIdentity({ topic, partition, offset }: RecordPlace, atMs: number): Identity {
  return identityOf(`${topic}/${partition}/${offset}`, atMs);
}

/** The fields that identify a delivery in the ledger. */
export type TalliedDelivery = Pick<
  Delivery,
  "destination" | "messageId" | "receivedAtMs" | "retryCount" | "endpoint"
>;

const UNREADABLE: TalliedDelivery = {
  destination: "" as DestinationId,
  messageId: "" as MessageId,
  receivedAtMs: NO_BIN * BIN_MS,
  retryCount: 0,
  endpoint: null,
};

/** No destination has a longer ID. Another program may write any header. */
const DESTINATION_MAX = 100;

/** A delivery on any topic. */
export function talliedDelivery(record: WithHeaders): TalliedDelivery {
  const parsed = readDelivery(record);
  if (parsed.kind === "invalid") return UNREADABLE;
  if (parsed.delivery.destination.length > DESTINATION_MAX) return UNREADABLE;
  const { destination, messageId, receivedAtMs, retryCount, endpoint } = parsed.delivery;
  return { destination, messageId, receivedAtMs, retryCount, endpoint };
}

/**
 * With `deliver: every`, the first retry of a delivery may be several records, one for each endpoint. They cannot be
 * told from the delivery before it, but later retries can.
 *
 * @param more the number of retries that were scheduled since the delivery was read.
 */
export function deliveryIdentity(delivery: TalliedDelivery, more = 0): Identity {
  const { messageId, receivedAtMs, endpoint } = delivery;
  const retryCount = delivery.retryCount + more;
  const part = retryCount > 1 && endpoint !== null ? `${messageId}\n${endpoint}` : messageId;
  return identityOf(part, receivedAtMs, retryCount);
}

export class Sum {
  count = 0;
  high = 0;
  low = 0;

  add({ high, low }: Pick<Identity, "high" | "low">): void {
    this.count += 1;
    this.high = (this.high + high) | 0;
    this.low = (this.low + low) | 0;
  }

  remove({ high, low }: Pick<Identity, "high" | "low">): void {
    this.count -= 1;
    this.high = (this.high - high) | 0;
    this.low = (this.low - low) | 0;
  }

  /** @param times -1 subtracts. */
  addAll({ count, high, low }: Sum, times: 1 | -1 = 1): void {
    this.count += times * count;
    this.high = (this.high + times * high) | 0;
    this.low = (this.low + times * low) | 0;
  }

  get isZero(): boolean {
    return this.count === 0 && this.high === 0 && this.low === 0;
  }
}

export type VisitSum = (bin: number, destination: string, outcome: Outcome, sum: Sum) => void;

type ByOutcome = Map<Outcome, Sum>;

export class Tallies {
  readonly #bins = new Map<number, Map<string, ByOutcome>>();

  get isEmpty(): boolean {
    return this.#bins.size === 0;
  }

  /** Null if there is no such sum. */
  find(bin: number, destination: string, outcome: Outcome): Sum | null {
    return this.#bins.get(bin)?.get(destination)?.get(outcome) ?? null;
  }

  /** The sum, which is created if it does not exist. */
  of(bin: number, destination: string, outcome: Outcome): Sum {
    const known = this.find(bin, destination, outcome);
    if (known !== null) return known;
    const ofBin = this.#bins.get(bin) ?? new Map<string, ByOutcome>();
    const outcomes = ofBin.get(destination) ?? new Map<Outcome, Sum>();
    const sum = new Sum();
    this.#bins.set(bin, ofBin);
    ofBin.set(destination, outcomes);
    outcomes.set(outcome, sum);
    return sum;
  }

  add(destination: string, outcome: Outcome, identity: Identity): void {
    this.of(identity.bin, destination, outcome).add(identity);
  }

  /** Adds all sums of the others, which are empty afterwards. */
  takeAll(others: Tallies): void {
    others.each((bin, destination, outcome, sum) => {
      this.of(bin, destination, outcome).addAll(sum);
    });
    others.#bins.clear();
  }

  /** Divides the sums into parts, each with at most `max` sums. There is at least one part, which may be empty. */
  parts(max: number): readonly Tallies[] {
    let part = new Tallies();
    let count = 0;
    const parts = [part];
    this.each((bin, destination, outcome, sum) => {
      if (count === max) {
        part = new Tallies();
        parts.push(part);
        count = 0;
      }
      part.of(bin, destination, outcome).addAll(sum);
      count += 1;
    });
    return parts;
  }

  each(visit: VisitSum): void {
    for (const [bin, destinations] of this.#bins) {
      for (const [destination, outcomes] of destinations) {
        for (const [outcome, sum] of outcomes) visit(bin, destination, outcome, sum);
      }
    }
  }
}
