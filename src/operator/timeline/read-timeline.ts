/**
 * Reads all records of one call, and creates its timeline (`timeline.ts`). Uses no consumer group and commits
 * nothing.
 *
 *   step                       reads
 *   1  attempts                the partitions of the message ID, from `sinceMs`
 *   2  calls                   all partitions from `sinceMs`, in parallel; if the ID is a position, only that record
 *   3  deliveries, retries,    from the first record of the call: the partitions of its key if a call was found, otherwise
 *      delays                  all partitions
 *   4  dead letters            from the same time, all partitions, because their keys are those of the original records
 *   5  commits                 of the route stage, and of the queues in which the call was
 *   6  order                   the whole topics of the destinations in whose queues the call was, which exist only if
 *                              their order is strict
 *   7  suppressions            the whole topic, if the suppression of a user would explain what happened to the call
 *
 * If partitions were added to a topic since `sinceMs`, records with the same key can be in several partitions
 * (`scan.ts`). Step 2 takes most of the time, because calls are keyed by user and not by message ID; `sinceMs`
 * limits this time. If a topic cannot be read, the timeline shows a gap, and reading continues. A topic that does
 * not exist is not a gap.
 */

import { systemClock } from "../../base/runtime/clock.ts";
import type { Config } from "../../config/config.ts";
import { type AttemptRecord, parseAttemptRecord } from "../../domain/attempt-record.ts";
import { DELIVERY_HEADER } from "../../domain/delivery.ts";
import { jsonObjectIn } from "../../domain/json.ts";
import { type IncomingRecord, placeOf, type RecordPlace } from "../../domain/record.ts";
import { REROUTE_HEADER } from "../../domain/reroute.ts";
import {
  delayOfTopic,
  destinationOfTopic,
  type GroupNames,
  groupNames,
  type TopicNames,
} from "../../domain/topics.ts";
import type { Kafka } from "../../kafka/port.ts";
import { isFinished, type Unfinished, unfinishedIn } from "../../kafka/uncommitted-ranges.ts";
import { Facts, lineOf, orderKey, readFact } from "../../router/order/facts.ts";
import type { Suppression } from "../../router/suppression/suppression-record.ts";
import type { CommandSchemas } from "../connect/command-schemas.ts";
import { configuredTopics } from "../connect/connection.ts";
import { readSuppressions, readWhole } from "../connect/known-operations.ts";
import { factsBy, factsWith } from "./facts.ts";
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
  placeText,
} from "./find-records.ts";
import { Scan } from "./scan.ts";
import type { CallTimeline } from "./steps.ts";
import { asksForSuppression, timeline } from "./timeline.ts";

export interface TimelineQuery {
  readonly messageId: string;
  /** The earliest time that is searched. */
  readonly sinceMs: number;
}

export interface TimelinePorts {
  readonly kafka: Pick<Kafka, "read" | "admin">;
  readonly topics: TopicNames;
  readonly groups: GroupNames;
  /** Reads and routes a record of `calls` by the current configuration. For this, a schema may have to be requested. */
  readonly factsOf: (record: IncomingRecord) => CallFacts | Promise<CallFacts>;
  readonly topicDestinations: ReadonlySet<string>;
  readonly nowMs: () => number;
  readonly signal: AbortSignal;
  /** Called repeatedly with the number of records that were read. */
  readonly onRead?: (records: number) => void;
}

/** Returns null if the signal aborted. */
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
    // The time is at most the current time, because a producer may set any time in a record.
    const fromMs = calls.length === 0 ? sinceMs : Math.min(earliest(calls), nowMs());
    const found = await this.#deliveries(names, keysOf(calls), fromMs);
    const deadLetters = names.includes(topics.deadLetters)
      ? await this.#deadLetters(calls, fromMs)
      : [];
    const isFinished = await this.#finished([...found.queued, ...found.retries]);
    const behind = await this.#behind(found.queued, found.orderKeys);
    const known = { ...found, deadLetters, attempts, isFinished, behind };
    const evidence = { messageId, calls, ...known, topicDestinations, sinceMs };
    const suppressedAtMs = asksForSuppression(evidence, nowMs())
      ? await this.#suppressedAtMs(calls)
      : null;
    const result = timeline({ ...evidence, suppressedAtMs }, nowMs());
    const { unread } = this.#scan;
    if (unread.length === 0) return result;
    return { ...result, gaps: [...result.gaps, { kind: "unread", topics: unread }] };
  }

  /** Includes destinations that are no longer configured. */
  #isOurs(name: string): boolean {
    const { topics } = this.#ports;
    if ([topics.calls, topics.attempts, topics.deadLetters].includes(name)) return true;
    return destinationOfTopic(name, topics) !== null || delayOfTopic(name, topics) !== null;
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
      // A call may contain the ID without having it as its message ID. A call that cannot be read is kept, because
      // the route stage dead-lettered it, as a later step shows.
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

  /** @param keys null if the keys are unknown. */
  async #deliveries(names: readonly string[], keys: readonly string[] | null, fromMs: number) {
    const { topics } = this.#ports;
    const { messageId } = this.#query;
    const queued: FoundDelivery[] = [];
    const retries: FoundDelivery[] = [];
    const scheduledRetries: FoundScheduledRetry[] = [];
    /** What identifies their users in topics of orders, by position; absent for deliveries without a key. */
    const orderKeys = new Map<string, string>();
    const prefilter = mayCarry(messageId);
    const ways = names.filter(
      (name) => destinationOfTopic(name, topics) !== null || delayOfTopic(name, topics) !== null,
    );
    await this.#scan.since(ways, fromMs, keys, (record) => {
      const found = prefilter(record.encoded) ? foundDelivery(record, messageId) : null;
      if (found === null) return;
      const delay = delayOfTopic(record.topic, topics);
      // A record on a destination's topic is for that destination, even if its headers name another one.
      const destination = destinationOfTopic(record.topic, topics) ?? found.delivery.destination;
      const there = { ...found, delivery: { ...found.delivery, destination } };
      if (delay !== null) scheduledRetries.push({ ...there, delay, isRerouted: rerouted(record) });
      else if (record.topic === topics.deliveries(destination)) {
        queued.push(there);
        const key = orderKey(record);
        if (key !== null) orderKeys.set(placeText(there.place), key);
      } else retries.push(there);
    });
    return { queued, retries, scheduledRetries, orderKeys };
  }

  /** Finds behind which delivery each of these waits. */
  async #behind(queued: readonly FoundDelivery[], orderKeys: ReadonlyMap<string, string>) {
    const { kafka, topics, signal } = this.#ports;
    const behind = new Map<string, string>();
    for (const { place, delivery } of queued) {
      const key = orderKeys.get(placeText(place));
      if (key === undefined) continue;
      const topic = topics.order(delivery.destination);
      const facts = new Facts();
      const messageIds = new Map<number, string>();
      await this.#scan.tried(topic, async () => {
        const ids = await kafka.admin.topicIds([place.topic]);
        const line = lineOf(ids.get(place.topic) ?? "", place.partition);
        await readWhole(kafka, topic, signal, (record) => {
          const read = readFact(record);
          if (read?.line !== line || read.fact.key !== key) return;
          facts.apply(read.fact, read.isThere);
          const messageId = jsonObjectIn(record.value ?? "")?.messageId;
          // Facts that are written again do not name it.
          if (typeof messageId === "string" && messageId !== "")
            messageIds.set(read.fact.offset, messageId);
        });
      });
      const { head, waiting } = facts.known(key);
      const first = head ?? waiting[0];
      if (first === undefined || first === place.offset || !waiting.includes(place.offset))
        continue;
      behind.set(placeText(place), messageIds.get(first) ?? "");
    }
    return behind;
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

  async #suppressedAtMs(calls: readonly FoundCall[]): Promise<number | null> {
    const { kafka, topics, signal } = this.#ports;
    const topic = topics.suppressions;
    const userIds = calls.flatMap(({ facts }) => (facts.kind === "call" ? facts.userIds : []));
    if (userIds.length === 0) return null;
    let found: readonly Suppression[] = [];
    await this.#scan.tried(topic, async () => {
      found = await readSuppressions(kafka, topic, signal, new Set(userIds));
    });
    return found[0]?.suppressedAtMs ?? null;
  }

  /** Creates the function that decides whether a record has been processed; it returns null if this is unknown. */
  async #finished(found: readonly FoundDelivery[]) {
    const { kafka, groups, topics } = this.#ports;
    const route = { groupId: groups.route, topic: topics.calls };
    const queues = new Map(
      found.map(({ place: { topic }, delivery }) => {
        return [topic, { groupId: groups.deliver(delivery.destination), topic }] as const;
      }),
    );
    const none = new Map<string, Unfinished>();
    const unfinished = await unfinishedIn(kafka, [route, ...queues.values()]).catch(() => none);
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

/** Returns null if the key of a call is unknown, or if there is no call. */
function keysOf(calls: readonly FoundCall[]): readonly string[] | null {
  const keys = calls.flatMap(({ facts }) => (facts.kind === "call" ? facts.keys : []));
  const isKnown = calls.length > 0 && calls.every(({ facts }) => facts.kind === "call");
  return isKnown ? keys : null;
}

function rerouted({ headers }: IncomingRecord): boolean {
  const names = headers.map(([name]) => name);
  return names.includes(REROUTE_HEADER) && !names.includes(DELIVERY_HEADER.attempt);
}

/**
 * Creates the ports of a timeline from a configuration, for `switchyard timeline` and the console.
 *
 * @param schemas used for values with a schema. The caller closes them after reading.
 */
export function configuredTimeline(
  config: Config,
  schemas: Pick<CommandSchemas, "of" | "given">,
  { kafka, signal }: Pick<TimelinePorts, "kafka" | "signal">,
): TimelinePorts {
  const topics = configuredTopics(config);
  const others = config.destinations.filter((each) => !each.isAttempted);
  return {
    kafka,
    topics,
    groups: groupNames(config.kafka.topicPrefix),
    factsOf: factsWith(schemas, factsBy(config, topics, systemClock.nowMs())),
    topicDestinations: new Set(others.map(({ id }) => id)),
    nowMs: () => systemClock.nowMs(),
    signal,
  };
}
