/**
 * Reads dead letters for the console: counts of waiting and of replayed dead letters, and the latest ones as samples.
 * Reading starts with the oldest dead letters of the requested time, and ends after 5 s.
 */

import type { Config } from "../../../config/config.ts";
import { missingTopics } from "../../../router/stage/topic-keeper.ts";
import { configuredTopics } from "../../connect/connection.ts";
import {
  type DeadLetter,
  EVERY_DEAD_LETTER,
  messageIdOf,
} from "../../replay/dead-letter-record.ts";
import { deadLetterRanges, readDeadLetters, readMarks } from "../../replay/read-dead-letters.ts";
import type { ReplayMarks } from "../../replay/replay-marks.ts";
import { fromText } from "../../replay/rows.ts";
import type { Query } from "../ports.ts";
import type { DeadLettersView, DeadLetterView } from "../query-view.ts";
import type { QuerySource } from "./query-source.ts";

const LIMIT_MS = 5_000;
const SAMPLES = 100;
const PAYLOAD_CHARACTERS = 4_096;

export async function readDeadLettersView(
  source: QuerySource,
  { destination, reason, isReplayed, sinceMs }: Query,
): Promise<DeadLettersView> {
  const { kafka, config } = source;
  const topics = configuredTopics(config);
  const since = Date.now() - sinceMs;
  const empty = { counts: [], total: 0, replayed: 0, samples: [], isCut: false };
  if ((await missingTopics(kafka.admin, [topics.deadLetters])).length > 0) return empty;
  const ranges = await deadLetterRanges(kafka, topics.deadLetters, since);
  const signal = AbortSignal.any([source.signal, AbortSignal.timeout(LIMIT_MS)]);
  const marks = await readMarks({ kafka, topics, signal }, ranges);
  const counts = new Map<string, DeadLetterCount>();
  let samples: DeadLetter[] = [];
  let total = 0;
  let replayed = 0;
  const filter = { ...EVERY_DEAD_LETTER, sinceMs: since };
  for await (const deadLetter of readDeadLetters({ kafka, topics, signal }, ranges, filter)) {
    if (destination !== null && deadLetter.destination !== destination) continue;
    if (reason !== null && deadLetter.reason !== reason) continue;
    const marked = marks.of(deadLetter.record) === null ? 0 : 1;
    if (isReplayed !== null && isReplayed !== (marked === 1)) continue;
    total += 1;
    replayed += marked;
    const key = `${deadLetter.reason} ${deadLetter.destination ?? ""}`;
    const row = counts.get(key) ?? {
      destination: deadLetter.destination,
      reason: deadLetter.reason,
      count: 0,
      replayed: 0,
    };
    row.count += 1;
    row.replayed += marked;
    counts.set(key, row);
    samples.push(deadLetter);
    // Only the needed samples are kept, because each sample keeps the whole fetch that it came from in memory.
    if (samples.length > 2 * SAMPLES) samples = samples.slice(-SAMPLES);
  }
  return {
    counts: [...counts.values()].sort((one, other) => other.count - one.count),
    total,
    replayed,
    samples: samples
      .slice(-SAMPLES)
      .toReversed()
      .map((deadLetter) => deadLetterView(deadLetter, marks, config)),
    isCut: signal.aborted,
  };
}

interface DeadLetterCount {
  readonly destination: string | null;
  readonly reason: string;
  count: number;
  replayed: number;
}

function deadLetterView(
  deadLetter: DeadLetter,
  marks: ReplayMarks,
  { console: { showPayloads } }: Pick<Config, "console">,
): DeadLetterView {
  const { record, stage, reason, error, destination, failedAtMs } = deadLetter;
  const mark = marks.of(record);
  return {
    replayedAt: mark === null ? null : new Date(mark.atMs).toISOString(),
    at: new Date(failedAtMs).toISOString(),
    stage,
    reason,
    error,
    destination,
    messageId: messageIdOf(deadLetter),
    from: fromText(deadLetter),
    payload: showPayloads ? payloadOf(record.value) : null,
  };
}

function payloadOf(value: Buffer | null): string | null {
  if (value === null) return null;
  const text = value.subarray(0, 4 * PAYLOAD_CHARACTERS).toString();
  return text.length > PAYLOAD_CHARACTERS ? `${text.slice(0, PAYLOAD_CHARACTERS)}…` : text;
}
