/**
 * The delay stage: returns records from delay topics to their destinations' topics when the records are due. The
 * stage has a consumer and a group per delay, and waits separately for each partition. It never sends an HTTP
 * request.
 *
 *   step                                        if the process crashes after it
 *   1  the first record of a partition is due   it is read again and still due
 *   2  all due records are returned, or dead-   the records are written again, so an attempt is repeated
 *      lettered, in one send
 *   3  rejected records become dead letters;    the same; rerouted records may then exist twice
 *      those for an unwritable topic are
 *      rerouted
 *   4  for dead letters and suppressed          the same
 *      deliveries whose users wait for them,
 *      facts `settled` are written
 *   5  all writes are acknowledged, and the     the same, until the consumer commits
 *      records are processed
 *   6  the consumer commits, periodically       nothing is repeated
 *
 * A drain waits for the sends in progress. All other records stay in their topic. Early releases take records out of
 * order, before they are due (`early-release.ts`). If a record was canceled, it becomes a dead letter in step 2 when
 * it is due. Nothing becomes a dead letter whose user is suppressed; a record whose value has a schema waits in step 2
 * until the registry has shown the schema.
 *
 * In addition, all waiting records are counted (`scan.ts`, `report.ts`). The counts do not affect anything else.
 */

import { destinationOf } from "../../base/telemetry/count-dead-letters.ts";
import { LineLimit } from "../../base/telemetry/log-rate-limit.ts";
import type { Became, DeadLetter, DeadLettered } from "../../domain/dead-letter-records.ts";
import { callNames } from "../../domain/delivery.ts";
import type { DestinationId } from "../../domain/ids.ts";
import {
  forwarded,
  type IncomingRecord,
  type OutgoingRecord,
  type RecordHeaders,
  recordFor,
  type WithHeaders,
} from "../../domain/record.ts";
import { delayMsOfTopic, type GroupNames, type TopicNames } from "../../domain/topics.ts";
import { type TraceContext, withTrace } from "../../domain/trace-context.ts";
import type { Consumer } from "../../kafka/port.ts";
import { NO_OPERATOR_ACTIONS } from "../control/operator-action-state.ts";
import type { Outcome } from "../ledger/tallies.ts";
import { factRecord, queuePlaceOf, withoutPlace } from "../order/facts.ts";
import { withItsSchema } from "../stage/await-schemas.ts";
import { type StageConsumer, startConsuming } from "../stage/consuming-stage.ts";
import { suppressedDelivery } from "../stage/content.ts";
import { deadLetterWriter } from "../stage/dead-letter-writer.ts";
import type { RunningStage, StageDeps } from "../stage/running-stage.ts";
import { type Due, readWaiting } from "./due.ts";
import { type ReleasedPartition, startEarlyReleases } from "./early-release.ts";
import { OwnedCounts } from "./owned-counts.ts";
import { type Waiters, waitOn } from "./partition-loop.ts";
import { look, reportWaiting } from "./report.ts";
import { startScan } from "./scan.ts";
import { Labels } from "./tally.ts";
import { TopicLookup } from "./topic-lookup.ts";
import { type DelayTraces, delayTraces } from "./trace.ts";

export interface DelayConfig {
  readonly topics: TopicNames;
  readonly groups: GroupNames;
  /**
   * The names of delays whose topics exist. These are the configured delays, and removed delays whose topics still
   * have to be drained.
   */
  readonly delays: readonly string[];
  /** The destinations that always have a label of their own. */
  readonly destinations: readonly DestinationId[];
  /** Maximum number of destinations with a label of their own at a time. The others share one label. */
  readonly shownMax: number;
  /** Measured from a delivery's first attempt. */
  readonly retryWindowMs: number;
  /** Maximum number of bytes of waiting records that are kept in memory per delay. */
  readonly maxBytes: number;
  readonly drainLimitMs: number;
}

/** Maximum number of records of a partition in memory. The others wait in the topic. */
const PARTITION_RECORDS_MAX = 2_000;
/** Frequent fetches are not needed, because records that were just scheduled are not due immediately. */
const FETCH_SPACING_MS = 100;
const LOG_LINES_PER_SECOND = 10;
const SETTLE_AGAIN_MS = 1_000;
/** When the program stops, the producer rejects. */
const NEVER = new AbortController().signal;

/** Starts a consumer per delay. The topics must exist. */
export function startDelay(deps: StageDeps, config: DelayConfig): Promise<RunningStage> {
  const lookup = new TopicLookup(deps);
  const labels = new Labels(config.destinations);
  const counts = new OwnedCounts(labels);
  const operatorActions = deps.operatorActions ?? NO_OPERATOR_ACTIONS;
  const released = new Set<ReleasedPartition>();
  const running = startConsuming(deps, {
    name: "delay",
    deadLetterTopic: config.topics.deadLetters,
    deadLetterHeadersOf: headersOf,
    consume: (fail) =>
      config.delays.map((delay) =>
        consumeDelayTopic(delay, deps, config, { lookup, counts, fail, operatorActions, released }),
      ),
    healthProblems: () => [
      ...lookup.healthProblems(),
      ...counting.healthProblems(),
      ...earlyReleases.healthProblems(),
    ],
    update: ({ destinations }) => labels.configure(destinations.map(({ id }) => id)),
    readsValues: false,
    isAudited: true,
    outlivesTopics: true,
    close: async () => {
      await Promise.all([counting.stop(), earlyReleases[Symbol.asyncDispose]()]);
    },
  });
  const counting = startCounting(deps, config, { labels, counts }, running.consumers);
  const earlyReleases = startEarlyReleases({
    ...deps,
    operatorActions,
    lookup,
    operations: config.topics.operatorActions,
    partitions: () => owned(released),
    position: (topic, partition) => {
      const progress = running.consumers.flatMap((consumer) => consumer.progress());
      const own = progress.find((each) => each.topic === topic && each.partition === partition);
      return own?.position ?? null;
    },
    read: (delay, record) =>
      readWaiting(record, config.topics, delayMsOfTopic(delay) ?? 0, deps.clock.nowMs()),
  });
  return Promise.resolve({ ...running, firstAttempts: () => counts.firstAttempts() });
}

/** Returns the partitions that have not been revoked. */
function owned(partitions: Set<ReleasedPartition>): readonly ReleasedPartition[] {
  for (const each of partitions) if (each.isOver()) partitions.delete(each);
  return [...partitions];
}

function consumeDelayTopic(
  delay: string,
  deps: StageDeps,
  config: DelayConfig,
  shared: Pick<Waiters, "lookup" | "counts" | "fail" | "operatorActions" | "released">,
): StageConsumer {
  const { topics, groups, maxBytes, drainLimitMs } = config;
  const delayMs = delayMsOfTopic(delay);
  if (delayMs === null) throw new Error(`${delay} is not the name of a delay`);
  const traces = delayTraces(deps.tracing, delay, groups.delay(delay));
  const write = createWriter(delay, deps, topics, traces);
  return {
    groupId: groups.delay(delay),
    topics: [topics.delays(delayMs)],
    partitionRecordsMax: PARTITION_RECORDS_MAX,
    maxBytes,
    // The first record of one partition may be due long before the first record of another.
    whenFull: "pause",
    fetchSpacingMs: FETCH_SPACING_MS,
    drainLimitMs,
    onAssigned: (partition) =>
      waitOn(partition, {
        ...shared,
        delay,
        delayMs,
        clock: deps.clock,
        read: (record) => readWaiting(record, topics, delayMs, deps.clock.nowMs()),
        write,
      }),
  };
}

/** Returns records to their topics, or dead-letters them, and counts them. */
function createWriter(
  delay: string,
  deps: StageDeps,
  topics: TopicNames,
  traces: () => DelayTraces,
) {
  const { clock, log, metrics } = deps;
  const stage = "delay";
  const recordsIn = metrics.recordsIn.bind({ stage });
  const lateness = metrics.delayLateness.bind({ delay });
  const lines = new LineLimit(LOG_LINES_PER_SECOND);
  // Stages have written these records, so a dead letter keeps their `switchyard-*` headers, which a replay needs.
  const writer = deadLetterWriter(deps, stage, topics.deadLetters, headersOf);

  const given = ({ record, reason, error, outgoing }: DeadLetter) => {
    const destination = destinationOf(outgoing);
    metrics.deadLetters.bind({ stage, reason, destination }).inc();
    if (reason === "invalid-call") metrics.recordsRefused.bind({ stage, reason }).inc();
    const omittedLines = lines.admit(clock.nowMs());
    if (omittedLines === null) return;
    const { topic, partition, offset } = record;
    const names = { stage, retryDelay: delay, destination, ...callNames(outgoing.headers) };
    const place = { topic, partition, offset };
    log.warn({ ...names, reason, error, ...place, omittedLines }, "delivery.dead-lettered");
  };
  return async (found: readonly Due[]): Promise<readonly Outcome[]> => {
    recordsIn.inc(found.length);
    const isSure = (deps.suppressions?.size ?? 0) === 0;
    const due = isSure ? found : await withoutSuppressed(deps, found);
    const traced = traces();
    const { returned, deadLettered } = outgoingOf(due, traced.begin);
    const { refused, deadLetters, instead } = await writer.write(returned, deadLettered);
    const nowMs = clock.nowMs();
    traced.end(nowMs);
    for (const { records, dueAtMs } of returned) {
      if (records.some((record) => refused.has(record))) continue;
      lateness.observe((nowMs - dueAtMs) / 1_000);
    }
    for (const deadLetter of deadLetters) given(deadLetter);
    const became = new Map(
      returned.flatMap(({ record, records: [written] }) => {
        const other = written === undefined ? undefined : instead.get(written);
        return other === undefined ? [] : [[record, other] as const];
      }),
    );
    const outcomes = due.map(({ waiting, verdict }): Outcome => {
      if (verdict.kind === "dead-letter") return `dead:${verdict.reason}`;
      if (verdict.kind === "suppressed") return "suppressed";
      const other = became.get(waiting.record);
      return other ?? (isRetryTopic(verdict.topic, topics) ? "returned" : "queued");
    });
    const isEnded = (outcome = "") => outcome.startsWith("dead:") || outcome === "suppressed";
    const ended = due.filter((_, at) => isEnded(outcomes[at]));
    if (ended.length > 0) await settle(deps, topics, ended);
    return outcomes;
  };
}

/** Decides again about records that would become dead letters, because their users may be suppressed. */
function withoutSuppressed(
  { suppressions, schemas, metrics }: Pick<StageDeps, "suppressions" | "schemas" | "metrics">,
  due: readonly Due[],
): Promise<readonly Due[]> {
  const decided = due.map(async (each): Promise<Due> => {
    const { waiting, verdict } = each;
    if (waiting.kind === "invalid" || verdict.kind !== "dead-letter") return each;
    const record = await withItsSchema(schemas, waiting.record, NEVER);
    if (suppressedDelivery(record, suppressions) === null) return each;
    metrics.suppressed.bind({ stage: "delay", destination: waiting.destination }).inc();
    return { waiting, verdict: { kind: "suppressed" } };
  });
  return Promise.all(decided);
}

/**
 * Writes that deliveries with a place in a queue are settled, so that their users' next ones follow. While the topic is not
 * writable, this waits; if it does not exist, nothing waits.
 */
async function settle(
  { producer, clock }: Pick<StageDeps, "producer" | "clock">,
  { order }: TopicNames,
  ended: readonly Due[],
): Promise<void> {
  let records = ended.flatMap(({ waiting }) => {
    const place = queuePlaceOf(waiting.record);
    if (waiting.kind === "invalid" || place === null) return [];
    const fact = { kind: "settled", ...place } as const;
    return [factRecord(order(waiting.destination), place.line, fact, "")];
  });
  while (records.length > 0) {
    const refused = await producer.send(records, { giveBack: true });
    records = refused.flatMap(({ record, blocked }) => {
      return blocked === undefined || blocked === "missing" ? [] : [record];
    });
    // While a topic is known to be blocked, records are given back at once.
    if (records.length > 0) await clock.sleep(SETTLE_AGAIN_MS, NEVER);
  }
}

/** Nobody waits for these dead letters. */
function headersOf({ headers }: WithHeaders): RecordHeaders {
  return withoutPlace(headers);
}

function isRetryTopic(topic: string, { retries }: TopicNames): boolean {
  return topic.startsWith(retries("" as DestinationId));
}

/** Counts the waiting records, in parallel with the stage's work. @param consumers the consumer of each delay. */
function startCounting(
  { kafka, metrics, clock }: StageDeps,
  { delays, topics, retryWindowMs, shownMax }: DelayConfig,
  { labels, counts }: { readonly labels: Labels; readonly counts: OwnedCounts },
  consumers: readonly Pick<Consumer, "progress" | "vitals">[],
) {
  const ofDelays = consumers.map((consumer, index) => ({ delay: delays[index] ?? "", consumer }));
  const watched = { labels, counts, delays: ofDelays, retryWindowMs, shownMax };
  const reporting = reportWaiting(metrics, clock, watched);
  const scan = startScan({
    kafka,
    clock,
    partitions: () => counts.all(),
    read: (delay, record) => readWaiting(record, topics, delayMsOfTopic(delay) ?? 0, clock.nowMs()),
    look: () => look(watched, clock.nowMs()),
  });
  return {
    healthProblems: scan.healthProblems,
    stop: async () => {
      await scan[Symbol.asyncDispose]();
      reporting[Symbol.dispose]();
    },
  };
}

/**
 * Creates the records to write when the wait of a record is over.
 *
 *   what happened                        the record
 *   it is due                            is written unchanged, with its headers, to its destination's topic
 *   ... and its trace is sampled         is written in the same way, but with the trace context of the delay
 *   it must be dead-lettered             becomes a dead letter with all its headers
 *   it must be dead-lettered, but its    none
 *   user is suppressed
 *   it is too large for that topic       becomes a dead letter with the reason too-large
 *   the dead letter is too large         is reduced to the part that fits (`domain/cut.ts`)
 */
interface Returned extends Became {
  readonly dueAtMs: number;
}

interface Outgoing {
  readonly returned: readonly Returned[];
  readonly deadLettered: readonly DeadLettered[];
}

/** @param traceOf returns the trace for the record after the delay, or null if the record stays unchanged. */
export function outgoingOf(
  due: readonly Due[],
  traceOf: (record: IncomingRecord) => TraceContext | null,
): Outgoing {
  const returned: Returned[] = [];
  const deadLettered: DeadLettered[] = [];
  for (const { waiting, verdict } of due) {
    const { record } = waiting;
    if (verdict.kind === "return") {
      const { dueAtMs, topic } = verdict;
      returned.push({ record, dueAtMs, records: [back(record, topic, traceOf(record))] });
    } else if (verdict.kind === "dead-letter") {
      const { reason, error } = verdict;
      deadLettered.push({ record, reason, error });
    }
  }
  return { returned, deadLettered };
}

function back(record: IncomingRecord, topic: string, trace: TraceContext | null): OutgoingRecord {
  if (trace === null) return forwarded(record, topic);
  const { key, value, headers } = record;
  return recordFor(topic, key, value, withTrace(headers, trace));
}
