/** Records everything that happened to each delivery of a run, according to the endpoints and the topics. */

import { DEAD_LETTER_HEADER, type DeadLetterReason } from "../../src/domain/dead-letter.ts";
import { DELIVERY_HEADER } from "../../src/domain/delivery.ts";
import type { EndpointKey } from "../../src/domain/ids.ts";
import type { IncomingRecord } from "../../src/domain/record.ts";
import { REROUTE_HEADER } from "../../src/domain/reroute.ts";
import { headerTexts } from "../support/build/calls.ts";
import { type Entry, type Request, windowBegan } from "../support/worlds/ledger.ts";
import { isCanary } from "./canaries.ts";
import type { ReceivedRequest } from "./receiver.ts";
import { type ChaosDestination, RETRY_DELAYS_MS, topics } from "./setup.ts";
import { isStranger } from "./tampering.ts";

export interface ChaosRequest extends Request {
  readonly path: string;
  readonly retryAfterMs: number;
}

/** A record of the delivery on any topic. */
export interface Written {
  readonly where: "delivery" | "delay" | "dead-letter";
  /** `topic/partition/offset`. */
  readonly place: string;
  readonly atMs: number;
  readonly attempt: number;
  readonly retryCount: number;
  /** How many times the delivery was written to a delay topic because its own topic was not writable. */
  readonly rerouted: number;
  readonly endpoint: EndpointKey | null;
  /** Null unless the delivery is or was in a delay topic. */
  readonly dueAtMs: number | null;
  readonly reason: string | null;
}

export interface ChaosEntry extends Entry {
  readonly requests: ChaosRequest[];
  readonly written: Written[];
}

export interface SentCall {
  readonly messageId: string;
  readonly atMs: number;
  readonly user: string;
}

const DELAY_TOPICS: ReadonlySet<string> = new Set(RETRY_DELAYS_MS.map(topics.delays));

export class Journal {
  readonly #destinations: readonly ChaosDestination[];
  readonly #entries = new Map<string, ChaosEntry>();
  readonly #destinationOf: ReadonlyMap<string, ChaosDestination>;
  /** Calls in the order in which they were acknowledged. */
  readonly calls: SentCall[] = [];
  /** Keys of values that are not calls. The route stage must dead-letter them. */
  readonly poison = new Set<string>();
  readonly poisonDeadLetters = new Map<string, string[]>();
  /** Requests and records that do not belong to any call that was sent. */
  readonly strange: string[] = [];

  constructor(destinations: readonly ChaosDestination[]) {
    this.#destinations = destinations;
    this.#destinationOf = new Map(
      destinations.flatMap((each) => each.endpoints.map(({ path }) => [path, each] as const)),
    );
  }

  sent(call: SentCall): void {
    this.calls.push(call);
  }

  requested(request: ReceivedRequest): void {
    const { path, messageId, ...rest } = request;
    const destination = this.#destinationOf.get(path);
    const endpoint = destination?.endpoints.find((each) => each.path === path)?.key;
    if (destination === undefined || endpoint === undefined) {
      this.strange.push(`a request to ${path} for "${messageId}"`);
      return;
    }
    this.entry(messageId, destination.id).requests.push({ ...rest, path, endpoint });
  }

  /** Takes a record of a destination's topic, a delay topic, or the dead letters. */
  read(record: IncomingRecord): void {
    const texts = headerTexts(record);
    const place = `${record.topic}/${record.partition}/${record.offset}`;
    const reason = texts[DEAD_LETTER_HEADER.reason] ?? null;
    const messageId = texts[DELIVERY_HEADER.messageId];
    const destination = texts[DELIVERY_HEADER.destination];
    if (isCanary(messageId) || isStranger(messageId)) return;
    if (messageId === undefined || destination === undefined) {
      this.#readPoison(record.key?.toString() ?? "", reason, place);
      return;
    }
    const number = (name: string) => (texts[name] === undefined ? null : Number(texts[name]));
    const entry = this.entry(messageId ?? "", destination ?? "");
    const endpoint = (texts[DELIVERY_HEADER.endpoint]?.split(",")[1] ?? null) as EndpointKey | null;
    const atMs = record.timestampMs;
    const isDelay = DELAY_TOPICS.has(record.topic);
    const where = record.topic === topics.deadLetters ? "dead-letter" : "delivery";
    entry.written.push({
      where: isDelay ? "delay" : where,
      place,
      atMs,
      attempt: number(DELIVERY_HEADER.attempt) ?? 0,
      retryCount: number(DELIVERY_HEADER.retryCount) ?? 0,
      rerouted: number(REROUTE_HEADER) ?? 0,
      endpoint,
      dueAtMs: number(DELIVERY_HEADER.dueAt),
      reason,
    });
    entry.writtenAtMs.push(atMs);
    entry.beganAtMs.push(...(isDelay ? windowBegan(texts, atMs) : []));
    if (where === "dead-letter") {
      entry.deadLetters.push({ endpoint, reason: reason as DeadLetterReason, atMs });
    }
  }

  #readPoison(key: string, reason: string | null, place: string): void {
    if (!this.poison.has(key) || reason === null) {
      this.strange.push(`${place}, a record without the headers of a delivery`);
      return;
    }
    this.poisonDeadLetters.set(key, [...(this.poisonDeadLetters.get(key) ?? []), reason]);
  }

  entry(messageId: string, destination: string): ChaosEntry {
    const key = `${messageId} ${destination}`;
    let entry = this.#entries.get(key);
    if (entry === undefined) {
      const lists = { requests: [], deadLetters: [], writtenAtMs: [], beganAtMs: [], written: [] };
      entry = { messageId, destination, ...lists };
      this.#entries.set(key, entry);
    }
    return entry;
  }

  /** Every call that was sent, for every destination. */
  *deliveries(): Generator<readonly [entry: ChaosEntry, destination: ChaosDestination]> {
    for (const { messageId } of this.calls) {
      for (const destination of this.#destinations) {
        yield [this.entry(messageId, destination.id), destination];
      }
    }
  }

  /** Requests and records of calls that were never sent. Call this when everything has been read. */
  unknown(): string[] {
    const known = new Set(this.calls.map(({ messageId }) => messageId));
    const ids = new Set([...this.#entries.values()].map(({ messageId }) => messageId));
    return [...ids].filter((id) => !known.has(id)).map((id) => `"${id}", which nobody sent`);
  }
}
