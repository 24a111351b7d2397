/**
 * The broker's side of fetch sessions (KIP-227), without bytes. It stores the partitions of a session, and responds
 * with their new records. Records are represented by a string with their offsets.
 */

import type { Planned } from "../../../src/kafka/fetch/session.ts";
import type { RequestedPartition } from "../../../src/kafka/wire/fetch-request.ts";
import type { FetchedSet, FetchResponse } from "../../../src/kafka/wire/fetch-response.ts";

const SESSION_NOT_FOUND = 70;
const INVALID_EPOCH = 71;

interface Cached {
  requested: RequestedPartition;
  /** The log end offset that was reported last. */
  reportedEnd: number;
}

interface Session {
  epoch: number;
  /** The partitions, in the order in which the broker checks them. */
  readonly partitions: Map<string, Cached>;
}

export class SessionBroker {
  /** Log end offsets by partition. */
  readonly ends = new Map<string, number>();
  readonly errors = new Map<string, number>();
  /** If false, the cache is full, and new sessions are not created. */
  hasRoom = true;
  /** Maximum number of partitions with records in a response, and of records per partition. */
  partitionsMax = Number.POSITIVE_INFINITY;
  recordsMax = Number.POSITIVE_INFINITY;
  #nextId = 1;
  readonly #sessions = new Map<number, Session>();

  evictAll(): void {
    this.#sessions.clear();
  }

  /** The contents of a session after the request. */
  static keyOf({ topic, partition }: { topic: string; partition: number }): string {
    return `${topic}/${partition}`;
  }

  respond(request: Planned): {
    readonly response: FetchResponse;
    readonly looked: RequestedPartition[];
  } {
    const { sessionId, sessionEpoch } = request;
    if (sessionEpoch === 0) {
      this.#sessions.delete(sessionId);
      const session: Session = { epoch: 1, partitions: new Map() };
      const id = this.hasRoom ? this.#nextId++ : 0;
      if (id !== 0) this.#sessions.set(id, session);
      this.#update(session, request);
      return this.#read(id, session);
    }
    const session = this.#sessions.get(sessionId);
    if (session === undefined) return failed(SESSION_NOT_FOUND);
    if (session.epoch !== sessionEpoch) return failed(INVALID_EPOCH);
    session.epoch += 1;
    this.#update(session, request);
    return this.#read(sessionId, session);
  }

  #update({ partitions }: Session, { requested, forgotten }: Planned): void {
    for (const each of requested) {
      const key = SessionBroker.keyOf(each);
      const cached = partitions.get(key);
      if (cached === undefined) partitions.set(key, { requested: each, reportedEnd: -1 });
      else cached.requested = each;
    }
    for (const each of forgotten) partitions.delete(SessionBroker.keyOf(each));
  }

  #read(sessionId: number, { partitions }: Session) {
    const looked = [...partitions.values()].map(({ requested }) => requested);
    const sets: FetchedSet[] = [];
    let withRecords = 0;
    for (const [key, cached] of [...partitions]) {
      const { topic, partition, offset } = cached.requested;
      const end = this.ends.get(key) ?? 0;
      const errorCode = this.errors.get(key) ?? 0;
      const isRead = errorCode === 0 && offset < end && withRecords < this.partitionsMax;
      if (!isRead && errorCode === 0 && cached.reportedEnd === end) continue;
      const to = Math.min(end, offset + this.recordsMax);
      const records = Buffer.from(isRead ? JSON.stringify([offset, to]) : "");
      sets.push({ topic, partition, errorCode, end, aborted: [], records });
      cached.reportedEnd = errorCode === 0 ? end : -1;
      if (!isRead) continue;
      withRecords += 1;
      // Partitions that had records are moved to the end.
      partitions.delete(key);
      partitions.set(key, cached);
    }
    return { response: { throttleTimeMs: 0, errorCode: 0, sessionId, sets }, looked };
  }
}

function failed(errorCode: number) {
  return { response: { throttleTimeMs: 0, errorCode, sessionId: 0, sets: [] }, looked: [] };
}
