/**
 * Reads deliveries that waited from the queue again, when it is their turn. A response of a broker contains many records,
 * so it is used for the next deliveries of the same user as well.
 *
 *   a delivery                             then
 *   was in the response for an earlier     it is not fetched again
 *   one of its user, which is still kept
 *   is in the response                     later ones of its user in that response are kept, for at most `PIECES_MAX`
 *                                          users: those that were used last
 *   was deleted, or its topic recreated    null: an error is logged
 *   cannot be read                         it is read again after a while
 *
 * Records do not change, and nothing is kept for the next owner, so a record that was kept is the one that would be read.
 */

import { asError } from "../../../base/runtime/as-error.ts";
import type { IncomingRecord } from "../../../domain/record.ts";
import type { Kafka } from "../../../kafka/port.ts";
import { orderKey } from "../../order/facts.ts";
import { withItsSchema } from "../../stage/await-schemas.ts";
import type { StageDeps } from "../../stage/running-stage.ts";
import type { Timer } from "../attempt.ts";

/** At least one batch is always read. */
const READ_BYTES = 65_536;
/** The kept records of a user keep the memory of a whole response. */
const PIECES_MAX = 64;
const READ_AGAIN_MS = 2_000;

export interface ReadBackDeps extends Pick<StageDeps, "log" | "schemas"> {
  readonly kafka: Pick<Kafka, "read">;
  readonly timer: Timer;
}

/** For one partition of a queue. */
export class ReadBack {
  readonly #deps: ReadBackDeps;
  readonly #place: { readonly topic: string; readonly partition: number };
  readonly #signal: AbortSignal;
  /** The next deliveries of a user, in order, by the offset of the first one. The user that was used last is last. */
  readonly #ahead = new Map<number, readonly IncomingRecord[]>();

  constructor(deps: ReadBackDeps, topic: string, partition: number, signal: AbortSignal) {
    this.#deps = deps;
    this.#place = { topic, partition };
    this.#signal = signal;
  }

  /**
   * Resolves with null if the delivery was deleted, or if the signal aborts. Never rejects.
   *
   * @param end the owner has read the partition up to this offset, so reading up to it does not wait for new records.
   * @param key the key of the delivery (`orderKey`): after the queue was created again, another one may be there.
   */
  async read(offset: number, end: number, key: string): Promise<IncomingRecord | null> {
    const kept = this.#ahead.get(offset);
    this.#ahead.delete(offset);
    const [record, ...later] = kept ?? (await this.#fetch(offset, Math.max(end, offset + 1)));
    if (record === undefined) return null;
    if (orderKey(record) !== key) {
      this.#deps.log.error({ ...this.#place, offset }, "order.delivery-lost");
      return null;
    }
    this.#keep(later);
    return await withItsSchema(this.#deps.schemas, record, this.#signal);
  }

  #keep(records: readonly IncomingRecord[]): void {
    const [first] = records;
    if (first === undefined) return;
    this.#ahead.set(first.offset, records);
    const [oldest] = this.#ahead.keys();
    if (this.#ahead.size > PIECES_MAX && oldest !== undefined) this.#ahead.delete(oldest);
  }

  /** Returns the delivery and later ones of its user; nothing if it was deleted, or if the signal aborts. */
  async #fetch(offset: number, to: number): Promise<readonly IncomingRecord[]> {
    const { kafka, log, timer } = this.#deps;
    const signal = this.#signal;
    const place = this.#place;
    const range = { ...place, from: offset, to, maxBytes: READ_BYTES };
    while (!signal.aborted) {
      try {
        for await (const records of kafka.read({ ...range, signal })) {
          const [wanted] = records;
          if (wanted?.offset !== offset) break;
          return records.filter(({ key }) => isSame(key, wanted.key));
        }
        if (!signal.aborted) log.error({ ...place, offset }, "order.delivery-lost");
        return [];
      } catch (thrown) {
        if (signal.aborted) return [];
        log.error({ topic: place.topic, error: asError(thrown).message }, "order.read-failed");
        await new Promise<void>((then) => timer.after(READ_AGAIN_MS, then));
      }
    }
    return [];
  }
}

function isSame(one: IncomingRecord["key"], other: IncomingRecord["key"]): boolean {
  return one !== null && other !== null && one.equals(other);
}
