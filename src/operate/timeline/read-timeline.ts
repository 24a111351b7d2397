/**
 * Reads everything that topics tell of one call, and has it put in order (`timeline.ts`). Belongs to no
 * group and commits nothing.
 *
 *   step                       reads
 *   1  attempts                the partitions of the message id, since then
 *   2  calls                   all partitions since then, side by side; where the id names a place,
 *                              that place
 *   3  deliveries, returns,    since the first sign of the call: the partitions of its key, where one
 *      delays                  call was found; else all partitions
 *   4  dead letters            since then, all partitions: their keys are those of the records
 *   5  commits                 of the lines that the call was on
 *
 * A key has several partitions where a topic may have got more of them since (`scan.ts`).
 * Calls are keyed by user, so that step 2 is most of it: `sinceMs` bounds it. A topic that cannot be
 * read is a gap of the story and not its end. A topic that is not there has nothing to tell.
 */

import { type AttemptRecord, parseAttemptRecord } from "../../domain/attempt-record.ts";
import { DELIVERY_HEADER } from "../../domain/delivery.ts";
import type { IncomingRecord, RecordPlace } from "../../domain/record.ts";
import { REROUTE_HEADER } from "../../domain/reroute.ts";
import {
  delayMsOfTopic,
  destinationOfTopic,
  type GroupNames,
  type TopicNames,
} from "../../domain/topics.ts";
import type { Kafka } from "../../kafka/port.ts";
import { isFinished, type Unfinished, unfinishedIn } from "../../kafka/uncommitted-ranges.ts";
import {
  type CallFacts,
  type FoundCall,
  type FoundDeadLetter,
  type FoundDelivery,
  type FoundScheduledRetry,
  foundDeadLetter,
  foundDelivery,
  mayBeCall,
  mayCarry,
  placeIn,
  placeOf,
  placeText,
} from "./find-records.ts";
import { Scan } from "./scan.ts";
import type { CallTimeline } from "./steps.ts";
import { timeline } from "./timeline.ts";

export interface TimelineQuery {
  readonly messageId: string;
  /** The first instant that is looked at. */
  readonly sinceMs: number;
}

export interface TimelinePorts {
  readonly kafka: Pick<Kafka, "read" | "admin">;
  readonly topics: TopicNames;
  readonly groups: GroupNames;
  /** Reads and routes a record of `calls` as route does now. May have to ask for a schema. */
  readonly factsOf: (record: IncomingRecord) => CallFacts | Promise<CallFacts>;
  readonly topicDestinations: ReadonlySet<string>;
  readonly nowMs: () => number;
  readonly signal: AbortSignal;
  /** Called now and then: so many records were looked at. */
  readonly onRead?: (records: number) => void;
}

/** Null: the signal aborted. */
export async function readTimeline(
  ports: TimelinePorts,
  query: TimelineQuery,
): Promise<CallTimeline | null> {
  const reader = new TimelineReader(ports, query);
  const result = await reader.all();
  return ports.signal.aborted ? null : result;
}

class TimelineReader {
  readonly #ports: TimelinePorts;
  readonly #query: TimelineQuery;
  readonly #scan: Scan;

  constructor(ports: TimelinePorts, query: TimelineQuery) {
    this.#ports = ports;
    this.#query = query;
    this.#scan = new Scan(ports);
  }

  async all(): Promise<CallTimeline> {
    const { kafka, topics, nowMs, topicDestinations } = this.#ports;
    const { messageId, sinceMs } = this.#query;
    const names = (await kafka.admin.topics()).filter((name) => this.#isOurs(name));
    await this.#scan.know(names);
    const attempts = names.includes(topics.attempts) ? await this.#attempts() : null;
    const calls = await this.#calls();
    // A producer may write any time.
    const fromMs = calls.length === 0 ? sinceMs : Math.min(earliest(calls), nowMs());
    const found = await this.#deliveries(names, keysOf(calls), fromMs);
    const deadLetters = names.includes(topics.deadLetters)
      ? await this.#deadLetters(calls, fromMs)
      : [];
    const isFinished = await this.#finished([...found.queued, ...found.retries]);
    const known = { ...found, deadLetters, attempts, isFinished };
    const evidence = { messageId, calls, ...known, topicDestinations, sinceMs };
    const result = timeline(evidence, nowMs());
    const { unread } = this.#scan;
    if (unread.length === 0) return result;
    return { ...result, gaps: [...result.gaps, { kind: "unread", topics: unread }] };
  }

  /** Those of destinations that are not configured any more, too. */
  #isOurs(name: string): boolean {
    const { topics } = this.#ports;
    if ([topics.calls, topics.attempts, topics.deadLetters].includes(name)) return true;
    return destinationOfTopic(name, topics) !== null || this.#delayOf(name) !== null;
  }

  #delayOf(name: string): string | null {
    const start = `${this.#ports.topics.prefix}delays.`;
    const delay = name.startsWith(start) ? name.slice(start.length) : "";
    return delayMsOfTopic(delay) === null ? null : delay;
  }

  async #attempts(): Promise<readonly AttemptRecord[]> {
    const { messageId, sinceMs } = this.#query;
    const key = Buffer.from(messageId);
    const found: AttemptRecord[] = [];
    await this.#scan.since([this.#ports.topics.attempts], sinceMs, [messageId], (record) => {
      if (record.key?.equals(key) !== true) return;
      const parsed = parseAttemptRecord(record.value);
      if (parsed?.messageId === messageId) found.push(parsed);
    });
    return found;
  }

  async #calls(): Promise<readonly FoundCall[]> {
    const { topics, factsOf } = this.#ports;
    const { messageId, sinceMs } = this.#query;
    const found: FoundCall[] = [];
    const prefilter = mayBeCall(messageId);
    const take = async (record: IncomingRecord) => {
      const facts = await factsOf(record);
      // One that cannot be read, and has the id in it: route gave it up, and says so below.
      if (facts.kind === "call" && facts.messageId !== messageId) return;
      found.push({ place: placeOf(record), atMs: record.timestampMs, facts });
    };
    const takeSome = (record: IncomingRecord) =>
      placeText(record) === messageId || prefilter(record.value) ? take(record) : undefined;
    const place = placeIn(messageId, topics.calls);
    if (place === null) await this.#scan.since([topics.calls], sinceMs, null, takeSome);
    else await this.#scan.at({ topic: topics.calls, ...place }, takeSome);
    return found;
  }

  /** @param keys null: not known. */
  async #deliveries(names: readonly string[], keys: readonly string[] | null, fromMs: number) {
    const { topics } = this.#ports;
    const { messageId } = this.#query;
    const queued: FoundDelivery[] = [];
    const retries: FoundDelivery[] = [];
    const scheduledRetries: FoundScheduledRetry[] = [];
    const prefilter = mayCarry(messageId);
    const ways = names.filter(
      (name) => destinationOfTopic(name, topics) !== null || this.#delayOf(name) !== null,
    );
    await this.#scan.since(ways, fromMs, keys, (record) => {
      const found = prefilter(record.encoded) ? foundDelivery(record, messageId) : null;
      if (found === null) return;
      const delay = this.#delayOf(record.topic);
      // A record on a destination's topic is for that destination, whatever it says.
      const destination = destinationOfTopic(record.topic, topics) ?? found.delivery.destination;
      const there = { ...found, delivery: { ...found.delivery, destination } };
      if (delay !== null) scheduledRetries.push({ ...there, delay, isRerouted: rerouted(record) });
      else if (record.topic === topics.deliveries(destination)) queued.push(there);
      else retries.push(there);
    });
    return { queued, retries, scheduledRetries };
  }

  async #deadLetters(
    calls: readonly FoundCall[],
    fromMs: number,
  ): Promise<readonly FoundDeadLetter[]> {
    const { messageId } = this.#query;
    const places = new Set(calls.map(({ place }) => placeText(place)));
    const found: FoundDeadLetter[] = [];
    await this.#scan.since([this.#ports.topics.deadLetters], fromMs, null, (record) => {
      const deadLetter = foundDeadLetter(record, messageId, places);
      if (deadLetter !== null) found.push(deadLetter);
    });
    return found;
  }

  /** Null: it cannot be asked for. */
  async #finished(found: readonly FoundDelivery[]) {
    const { kafka, groups } = this.#ports;
    const readings = new Map(
      found.map(({ place: { topic }, delivery }) => {
        return [topic, { groupId: groups.deliver(delivery.destination), topic }] as const;
      }),
    );
    const none = new Map<string, Unfinished>();
    const unfinished = await unfinishedIn(kafka, [...readings.values()]).catch(() => none);
    return ({ topic, partition, offset }: RecordPlace): boolean | null => {
      const of = unfinished.get(topic);
      if (of?.kind !== "known") return null;
      const part = of.parts.find((each) => each.partition === partition);
      return part === undefined || offset < part.from || isFinished(part, offset);
    };
  }
}

function earliest(calls: readonly FoundCall[]): number {
  return Math.min(...calls.map(({ atMs }) => atMs));
}

/** Null: a call whose key is not known, or none at all. */
function keysOf(calls: readonly FoundCall[]): readonly string[] | null {
  const keys = calls.flatMap(({ facts }) => (facts.kind === "call" ? facts.keys : []));
  const isKnown = calls.length > 0 && calls.every(({ facts }) => facts.kind === "call");
  return isKnown ? keys : null;
}

function rerouted({ headers }: IncomingRecord): boolean {
  const names = headers.map(([name]) => name);
  return names.includes(REROUTE_HEADER) && !names.includes(DELIVERY_HEADER.attempt);
}
