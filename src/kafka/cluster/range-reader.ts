/**
 * Reads parts of partitions without a group: each step queries the partition's leader.
 *
 *   the response                                   then
 *   batches                                        their records; continues after the last batch
 *   nothing                                        tries again: nothing was written yet, a transaction is
 *                                                  open, or a quota is exceeded. While the brokers throttle
 *                                                  this process, `follow` waits for 5 s first
 *   the offset is below the first one              continues at the first one
 *   the offset is after the log end offset         done: the requested records are gone
 *   the topic is missing, no permission, a         throws
 *     corrupt batch
 *   a corrupt batch, and `onSkipped` is given      is read again; if it is still corrupt, continues after it
 *   any other error, no connection                 the leader is looked up again; after 30 s without a
 *                                                  response: throws
 */

import { setTimeout as sleep } from "node:timers/promises";
import { type CorruptBatch, corruptBatchOf } from "../../domain/corrupt-batch.ts";
import type { IncomingRecord } from "../../domain/record.ts";
import type { Broker } from "../broker/broker-connection.ts";
import * as requests from "../broker/requests.ts";
import { ClosedError, type PartitionOffset, type ReadRange } from "../port.ts";
import { CORRUPT_MESSAGE, decodePartition } from "../wire/decode-partition.ts";
import { endOfBatches } from "../wire/decode-records.ts";
import type { RequestedPartition } from "../wire/fetch-request.ts";
import type { FetchedSet } from "../wire/fetch-response.ts";
import { type FetchedRecord, type OldMessage, recordOf } from "../wire/fetched-record.ts";
import { withoutAborted } from "../wire/without-aborted.ts";
import { Brokers } from "./brokers.ts";
import type { Client, Clients } from "./connection.ts";
import { errorKind, errorTypes, protocolError, retryDelayMs } from "./kafka-error.ts";
import { EARLIEST, LATEST, listOffsets, READ_COMMITTED } from "./offsets.ts";
import { withPermission } from "./permission.ts";

const GIVE_UP_AFTER_MS = 30_000;
/** How long a broker may wait if there is something to read: it responds immediately unless a transaction is open. */
const WAIT_MAX_MS = 250;
/** How long a broker may wait for a record in `follow`, because the next one may be written much later. */
const FOLLOW_WAIT_MAX_MS = 5_000;
const NO_SESSION = { sessionId: 0, sessionEpoch: -1 };
const READ = { on: "topic", pattern: "literal", operations: ["Read"] } as const;
/**
 * A broker always returns the complete first batch. The batch after the corrupt one shows where the corrupt one ends.
 */
const CORRUPT_FETCH_BYTES = 1_024 * 1_024;
/** Unused connections are closed after this time. */
const IDLE_LIMIT_MS = 1_000;

type Message = (FetchedRecord | OldMessage) & { readonly isControlRecord?: boolean };

interface ReadStep {
  readonly records: readonly IncomingRecord[];
  /** The offset at which to continue; null if there is nothing more to read. */
  readonly next: number | null;
}

export class RangeReader {
  readonly #clients: Clients;
  #open: { readonly client: Client; readonly brokers: Brokers } | null = null;
  #isClosed = false;
  #inFlight = 0;
  #idle: NodeJS.Timeout | undefined;
  #waitMaxMs = WAIT_MAX_MS;
  /** Node IDs by topic, then by partition. */
  readonly #leaders = new Map<string, ReadonlyMap<number, number>>();

  constructor(clients: Clients) {
    this.#clients = clients;
  }

  /** Uses its own connection to the leader, because a broker responds to the requests of a connection in order. */
  follow(range: Omit<ReadRange, "to">): AsyncGenerator<readonly IncomingRecord[], void, undefined> {
    this.#waitMaxMs = FOLLOW_WAIT_MAX_MS;
    return this.read({ ...range, to: Number.POSITIVE_INFINITY });
  }

  async *read(range: ReadRange): AsyncGenerator<readonly IncomingRecord[], void, undefined> {
    const { to, signal } = range;
    using _use = this.#use();
    let position: number | null = range.from;
    while (position !== null && position < to && !signal.aborted) {
      const step: ReadStep = await this.#stepOver(range, position);
      range.onResponse?.();
      position = step.next;
      if (step.records.length > 0) yield step.records;
      else await this.#rest(signal);
    }
  }

  async corruptionAt(
    place: PartitionOffset & { readonly topic: string },
  ): Promise<CorruptBatch | null> {
    using _use = this.#use();
    const { topic, partition, offset } = place;
    const corrupt = await this.#corruptionAt(topic, partition, offset);
    if (corrupt === null || corrupt.isEndKnown) return corrupt;
    const end = await this.#end(topic, partition);
    const isCorrupt = async (at: number) =>
      (await this.#corruptionAt(topic, partition, at)) !== null;
    return { ...corrupt, behind: await firstReadable(offset, end, isCorrupt) };
  }

  async #corruptionAt(
    topic: string,
    partition: number,
    from: number,
  ): Promise<CorruptBatch | null> {
    const signal = new AbortController().signal;
    const range = { topic, partition, from, to: Number.POSITIVE_INFINITY, signal };
    try {
      await this.#step({ ...range, maxBytes: CORRUPT_FETCH_BYTES }, from);
      return null;
    } catch (error) {
      const corrupt = corruptBatchOf(error);
      if (corrupt === null) throw error;
      return corrupt;
    }
  }

  async #end(topic: string, partition: number): Promise<number> {
    return listedOffset(await this.#leader(topic, partition), topic, partition, LATEST);
  }

  /** Ends reads in flight with an error. */
  close(): void {
    this.#isClosed = true;
    this.#disconnect();
  }

  #use(): Disposable {
    clearTimeout(this.#idle);
    this.#inFlight += 1;
    return {
      [Symbol.dispose]: () => {
        this.#inFlight -= 1;
        if (this.#inFlight > 0) return;
        this.#idle = setTimeout(() => this.#disconnect(), IDLE_LIMIT_MS).unref();
      },
    };
  }

  #disconnect(): void {
    clearTimeout(this.#idle);
    this.#open?.brokers.close();
    this.#open?.client.destroy();
    this.#open = null;
  }

  /** While brokers throttle, `follow` waits, because a throttled fetch returns nothing, but counts toward the quota. */
  async #rest(signal: AbortSignal): Promise<void> {
    const isFollowing = this.#waitMaxMs === FOLLOW_WAIT_MAX_MS;
    if (!isFollowing || !this.#clients.throttles.isThrottled()) return;
    await sleep(FOLLOW_WAIT_MAX_MS, undefined, { signal }).catch(() => undefined);
  }

  /** A batch may have been corrupted in transit, so it is read again before it is skipped. */
  async #stepOver(range: ReadRange, position: number): Promise<ReadStep> {
    const { topic, partition, onSkipped } = range;
    try {
      return await this.#step(range, position);
    } catch (error) {
      if (onSkipped === undefined || corruptBatchOf(error) === null) throw error;
      const corrupt = await this.corruptionAt({ topic, partition, offset: position });
      if (corrupt === null) return { records: [], next: position };
      onSkipped(corrupt);
      return { records: [], next: corrupt.behind };
    }
  }

  /** Retries until it succeeds or the time is over. */
  async #step(range: ReadRange, position: number): Promise<ReadStep> {
    const { topic, partition, signal } = range;
    const untilMs = performance.now() + GIVE_UP_AFTER_MS;
    for (let failures = 0; ; failures += 1) {
      try {
        return await this.#fetch(range, position);
      } catch (cause) {
        if (this.#isClosed) throw new ClosedError(`reading ${topic}: the Kafka client is closed`);
        this.#leaders.delete(topic);
        const isOver = performance.now() >= untilMs || errorKind(cause) === "fatal";
        if (isOver && !signal.aborted) {
          const where = `partition ${partition} of ${topic} at offset ${position}`;
          const needed = [{ ...READ, names: [topic] }];
          const named = withPermission(cause as Error, needed, this.#clients.connection);
          throw new Error(`cannot read ${where}: ${named.message}`, { cause: named });
        }
        await sleep(retryDelayMs(failures), undefined, { signal }).catch(() => undefined);
        if (signal.aborted) return { records: [], next: null };
      }
    }
  }

  async #fetch(range: ReadRange, position: number): Promise<ReadStep> {
    const { topic, partition, to, maxBytes } = range;
    const broker = await this.#leader(topic, partition);
    const fetched = await fetchOnce(broker, this.#waitMaxMs, {
      topic,
      partition,
      offset: position,
      maxBytes,
    });
    if (fetched === undefined) return { records: [], next: position };
    if (fetched.errorCode !== 0 && fetched.errorCode !== CORRUPT_MESSAGE) {
      const error = protocolError(fetched.errorCode);
      if (!errorTypes(error).has("OFFSET_OUT_OF_RANGE")) throw error;
      return { records: [], next: await first(broker, topic, partition, position) };
    }
    const recordMaxBytes = this.#clients.connection.recordMaxBytes(topic);
    const wanted = { from: position, recordMaxBytes, skipsCorrupt: false };
    const decoded = await decodePartition(fetched.records, fetched, wanted);
    const messages = decoded as readonly Message[];
    const records = visible(messages, fetched)
      .map((message) => recordOf(topic, partition, message))
      .filter(({ offset }) => offset >= position && offset < to);
    const last = messages.at(-1);
    const behind = endOfBatches(messages) ?? (last === undefined ? 0 : Number(last.offset) + 1);
    return { records, next: Math.max(position, behind) };
  }

  async #leader(topic: string, partition: number): Promise<Broker> {
    const { brokers } = this.#connection();
    let leaders = this.#leaders.get(topic);
    if (leaders === undefined) {
      const [metadata] = (await brokers.metadata([topic])).topics;
      const code = metadata?.errorCode ?? 0;
      if (code !== 0) throw protocolError(code);
      const partitions = metadata?.partitions ?? [];
      leaders = new Map(partitions.map((each) => [each.partitionIndex, each.leaderId]));
      this.#leaders.set(topic, leaders);
    }
    const nodeId = leaders.get(partition);
    if (nodeId === undefined || nodeId < 0) {
      throw new Error(`partition ${partition} of ${topic} has no leader at the moment`);
    }
    return brokers.leader(nodeId);
  }

  #connection(): { readonly brokers: Brokers } {
    if (this.#isClosed) throw new ClosedError("the Kafka client is closed");
    if (this.#open === null) {
      const client = this.#clients.createForRecords();
      this.#open = { client, brokers: new Brokers(client) };
    }
    return this.#open;
  }
}

/** The partition's first offset if it is above `position`, otherwise null. */
async function first(
  broker: Broker,
  topic: string,
  partition: number,
  position: number,
): Promise<number | null> {
  const offset = await listedOffset(broker, topic, partition, EARLIEST);
  return offset > position ? offset : null;
}

async function listedOffset(
  broker: Broker,
  topic: string,
  partition: number,
  which: typeof EARLIEST | typeof LATEST,
): Promise<number> {
  const [found] = await listOffsets(broker, [{ topic, partition }], which, READ_COMMITTED);
  if (found === undefined || found.errorCode !== 0) throw protocolError(found?.errorCode ?? -1);
  return found.offset;
}

async function fetchOnce(
  broker: Broker,
  maxWaitMs: number,
  requested: RequestedPartition,
): Promise<FetchedSet | undefined> {
  const { maxBytes } = requested;
  const fetch = { ...NO_SESSION, maxWaitMs, maxBytes, requested: [requested], forgotten: [] };
  const { errorCode, sets } = await broker.send(requests.fetch(fetch));
  if (errorCode !== 0) throw protocolError(errorCode);
  return sets[0];
}

function visible(messages: readonly Message[], { aborted }: FetchedSet): readonly Message[] {
  const kept = withoutAborted(messages, aborted);
  return kept.filter(({ isControlRecord }) => isControlRecord !== true);
}

/**
 * Finds the first readable offset above a corrupt batch whose end is unknown. A broker locates batches by
 * their lengths and by its index, so it may be unable to locate any batch before the next entry of the index.
 *
 * @param corrupt an offset that cannot be read
 * @param end the log end offset; returned if nothing before it can be read
 * @param isCorrupt called for only a few offsets: first in steps that double, and then between the last two of them
 */
export async function firstReadable(
  corrupt: number,
  end: number,
  isCorrupt: (offset: number) => Promise<boolean>,
): Promise<number> {
  let below = corrupt;
  let above = Math.min(end, corrupt + 1);
  while (above < end && (await isCorrupt(above))) {
    const step = 2 * (above - corrupt);
    below = above;
    above = Math.min(end, corrupt + step);
  }
  while (above - below > 1) {
    const middle = Math.floor((below + above) / 2);
    if (await isCorrupt(middle)) below = middle;
    else above = middle;
  }
  return Math.max(above, corrupt + 1);
}
