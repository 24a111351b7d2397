/**
 * Writes the records of stages, and reroutes deliveries whose topic is not writable
 * (docs/guarantees.md#a-topic-that-is-not-writable); `domain/reroute.ts` decides.
 *
 *   step                                        if the process crashes after it
 *   1  the records are sent                     they are sent again
 *   2  some are rejected; delay topics, or the  the same; rerouted records may exist twice
 *      topic itself, acknowledge them
 *   3  the caller dead-letters the records of   the same
 *      missing topics, and marks its records
 *      as processed
 */

import type { Clock } from "../../base/runtime/clock.ts";
import type { Metrics } from "../../base/telemetry/instruments.ts";
import type { DestinationId } from "../../domain/ids.ts";
import type { OutgoingRecord } from "../../domain/record.ts";
import { insteadOf, type RerouteRules } from "../../domain/reroute.ts";
import type { StageName } from "../../domain/stages.ts";
import { destinationOfTopic } from "../../domain/topics.ts";
import type { RejectedRecord, WatchedProducer } from "../../kafka/port.ts";
import type { Outcome } from "../ledger/tallies.ts";
import type { WatchedWriter } from "./watched-writer.ts";

/** Shared by the stages of a process. */
export interface Rerouting {
  readonly rules: RerouteRules;
  /** Called when deliveries for the destination were rerouted. */
  readonly went: (stage: StageName, destination: DestinationId, count: number) => void;
  /** Stops showing destinations that are no longer configured. */
  readonly forget: (destinations: ReadonlySet<string>) => void;
  /** Returns a sentence for each topic that is not writable. */
  readonly healthProblems: () => readonly string[];
}

/** A delivery whose topic is missing and is not going to be recreated. */
export interface Gone {
  readonly record: OutgoingRecord;
  /** The delivery with all its headers, for a dead letter. */
  readonly delivery: OutgoingRecord;
  readonly error: string;
}

export interface RerouteResult {
  /** Records that are too large, with the brokers' error. */
  readonly refused: ReadonlyMap<OutgoingRecord, string>;
  readonly gone: readonly Gone[];
  /** What became of records that were not written to their own topic. */
  readonly instead: ReadonlyMap<OutgoingRecord, Outcome>;
}

const NONE: RerouteResult = { refused: new Map(), gone: [], instead: new Map() };

/** Resolves when all records are acknowledged, except for those that are returned. */
export async function sendRerouted(
  records: readonly OutgoingRecord[],
  writer: WatchedWriter,
  rerouting: Rerouting | undefined,
  stage: StageName,
  nowMs: () => number,
): Promise<RerouteResult> {
  if (records.length === 0) return NONE;
  const returned = await writer.send(records, { giveBack: rerouting !== undefined });
  if (returned.length === 0) return NONE;
  const refused = new Map<OutgoingRecord, string>();
  const gone: Gone[] = [];
  const instead = new Map<OutgoingRecord, Outcome>();
  /** Maps each record that is written now to the record that it replaces. */
  const again = new Map<OutgoingRecord, OutgoingRecord>();
  const counts = new Map<DestinationId, number>();
  const decide = ({ record, error, blocked }: RejectedRecord) => {
    if (blocked === undefined || rerouting === undefined) return refused.set(record, error);
    const other = insteadOf(record, blocked, rerouting.rules, nowMs());
    if (other.kind === "wait") return again.set(record, record);
    if (other.kind === "gone") {
      instead.set(record, "dead:unknown-destination");
      return gone.push({ ...other, record });
    }
    instead.set(record, "retry");
    counts.set(other.destination, (counts.get(other.destination) ?? 0) + 1);
    return again.set(other.outgoing, record);
  };
  returned.forEach(decide);
  if (again.size > 0) {
    for (const { record, error } of await writer.send([...again.keys()])) {
      const stoodFor = again.get(record);
      if (stoodFor !== undefined) refused.set(stoodFor, error);
    }
  }
  for (const record of refused.keys()) instead.set(record, "dead:too-large");
  for (const [destination, count] of counts) rerouting?.went(stage, destination, count);
  return { refused, gone, instead };
}

interface Deps {
  readonly producer: Pick<WatchedProducer, "blocked">;
  readonly metrics: Metrics;
  readonly clock: Pick<Clock, "nowMs">;
}

/** For each topic, the count of rerouted deliveries restarts from 0 whenever the topic becomes unwritable. */
export function createRerouting({ producer, metrics }: Deps, rules: RerouteRules): Rerouting {
  const { topics } = rules;
  const counted = new Map<string, { readonly sinceMs: number; count: number }>();
  const shown = new Set<string>();
  const look = () => {
    const blocked = producer.blocked();
    for (const { topic, sinceMs } of blocked) {
      if (counted.get(topic)?.sinceMs !== sinceMs) counted.set(topic, { sinceMs, count: 0 });
    }
    return blocked;
  };
  const ownerOf = (topic: string) => destinationOfTopic(topic, topics) ?? "";
  const show = (topic: string, value: number) => {
    shown.add(topic);
    metrics.topicBlockedSince.bind({ topic, destination: ownerOf(topic) }).set(value);
  };
  metrics.onScrape(() => {
    for (const topic of shown) show(topic, 0);
    for (const { topic, sinceMs } of look()) show(topic, sinceMs / 1_000);
  });
  return {
    rules,
    went: (stage, destination, count) => {
      metrics.rerouted.bind({ stage, destination }).inc(count);
      for (const { topic } of look()) {
        const entry = counted.get(topic);
        if (entry !== undefined && destinationOfTopic(topic, topics) === destination) {
          entry.count += count;
        }
      }
    },
    forget: (destinations) => {
      for (const topic of [...shown, ...counted.keys()]) {
        const destination = ownerOf(topic);
        if (!destinations.has(destination)) continue;
        shown.delete(topic);
        counted.delete(topic);
        metrics.topicBlockedSince.remove({ topic, destination });
      }
    },
    healthProblems: () =>
      look().map(({ topic, sinceMs, error }) => {
        const since = new Date(sinceMs).toISOString();
        const isRerouted = destinationOfTopic(topic, topics) !== null;
        const count = counted.get(topic)?.count ?? 0;
        const rest = isRerouted ? `${count} deliveries were rerouted` : "its records wait";
        return `brokers have rejected writes to ${topic} since ${since} (${error}); ${rest}`;
      }),
  };
}
