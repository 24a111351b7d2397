/**
 * Calls over HTTP to the topic `calls`.
 *
 *   step                                         a crash after it
 *   1  the body is read within the limits        not answered: the client sends it again
 *   2  its calls become records, in pieces       the same
 *   3  they are handed to the producer           the same; some may be written, and come twice
 *   4  every one is acknowledged, acks=all       the same, with all of them written
 *   5  200                                       nothing is lost
 *
 * A request that is not acknowledged in time is answered 503, and its records may still be written:
 * the producer goes on trying. They count as in hand until then, and while the oldest of them waits
 * for longer than the limit no more is taken, so that an outage fills no memory.
 */

import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { setImmediate as otherWork } from "node:timers/promises";

import type { CallType } from "../domain/call.ts";
import type { Source } from "../domain/destination.ts";
import type { SourceId } from "../domain/ids.ts";
import type { RecordHeaders } from "../domain/record.ts";
import { SOURCE_HEADER } from "../domain/source-of.ts";
import type { Producer } from "../kafka/port.ts";
import type { Clock } from "../runtime/clock.ts";
import type { RunningStage } from "../runtime/stage.ts";
import type { Metrics } from "../telemetry/instruments.ts";
import type { Log } from "../telemetry/log.ts";
import { type Answer, type Code, failure, retryAfterS, SUCCESS } from "./answer.ts";
import { authenticate, basicUser, type WriteKeys, writeKeys } from "./auth.ts";
import { createHandOver, type HandOver } from "./hand-over.ts";
import { readRequestBody } from "./http.ts";
import { type BytesInHand, bytesInHand, type CallRate, callRate, type Hold } from "./limits.ts";
import { type Outline, readBody } from "./read-body.ts";
import { batchFrame, singleFrame } from "./read-call.ts";
import { type CallsRead, countLeftOut, readCalls } from "./read-calls.ts";
import { createReport, type Report } from "./report.ts";
import { SERVER_TIMES, type ServerSettings, type ServerTimes, startServer } from "./server.ts";

export interface IngestDeps {
  /** Shared by the stages of the process; the caller closes it after them. */
  readonly producer: Producer;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
}

export interface IngestConfig extends Omit<ServerSettings, "times"> {
  /** The topic of the raw calls. */
  readonly topic: string;
  readonly sources: readonly Source[];
  /** Of all requests together: bodies being read, and records not acknowledged. */
  readonly bytesInHand: number;
  /** How long new connections are still answered when the stage has been asked to stop. */
  readonly handoverMs: number;
  /** After that, how long requests under way may take. */
  readonly drainLimitMs: number;
  readonly times?: ServerTimes;
}

export interface RunningIngest extends RunningStage {
  /** Where it listens; the real port where 0 was configured. */
  readonly port: number;
}

/** Of a body, unpacked; SPEC section 9. */
export const BODY_BYTES_MAX = 10 * 1_024 * 1_024;
/** Of what a body becomes, with what its batch adds to each call. */
const RECORDS_BYTES_MAX = 4 * BODY_BYTES_MAX;
/** Clients send again at 8 to 10 s. */
const ACKNOWLEDGE_LIMIT_MS = 7_000;
/** At least that, for a body that took long to arrive. */
const ACKNOWLEDGE_LEAST_MS = 1_000;
/** Calls read between two looks at other work: a few milliseconds. */
const PIECE_CALLS = 500;
const OVERLOADED_WAIT_MS = 1_000;
const UNAVAILABLE_WAIT_MS = 2_000;

/** Resolves when it listens. The topic must exist. */
export async function startIngest(deps: IngestDeps, config: IngestConfig): Promise<RunningIngest> {
  const intake = createIntake(deps, config);
  const server = await startServer({ ...config, times: config.times ?? SERVER_TIMES }, (...asked) =>
    take(intake, ...asked),
  );
  const unwatch = deps.metrics.onScrape(() => {
    deps.metrics.ingestBytesInHand.bind({}).set(intake.bytes.total());
    deps.metrics.ingestConnections.bind({}).set(server.connections());
  });
  deps.log.info({ host: config.host, port: server.port }, "ingest.listening");
  if (config.sources.every(({ writeKeys: keys }) => keys.length === 0)) {
    const fix = "give a source a writeKey, or leave out the stage ingest";
    deps.log.warn({ stage: "ingest", fix }, "ingest.no-write-keys");
  }
  return {
    name: "ingest",
    port: server.port,
    joined: Promise.resolve(),
    troubles: () => {
      const waitMs = intake.handOver.oldestWaitMs();
      if (waitMs <= ACKNOWLEDGE_LIMIT_MS) return [];
      return [`the brokers have not acknowledged a write for ${Math.round(waitMs / 1_000)} s`];
    },
    [Symbol.asyncDispose]: async () => {
      await server.stop(config.handoverMs, config.drainLimitMs);
      unwatch();
    },
  };
}

/** What requests share. */
interface Intake {
  readonly clock: Clock;
  readonly topic: string;
  readonly keys: WriteKeys;
  readonly sources: ReadonlyMap<SourceId, SourceIntake>;
  readonly bytes: BytesInHand;
  readonly handOver: HandOver;
  readonly report: Report;
}

interface SourceIntake {
  readonly headers: RecordHeaders;
  /** Null: no limit. */
  readonly rate: CallRate | null;
}

function createIntake(deps: IngestDeps, config: IngestConfig): Intake {
  const sources = config.sources.map(({ id, callsPerSecond }) => {
    const rate = callsPerSecond === null ? null : callRate(callsPerSecond);
    return [id, { headers: [[SOURCE_HEADER, Buffer.from(id)]] as const, rate }] as const;
  });
  return {
    clock: deps.clock,
    topic: config.topic,
    keys: writeKeys(config.sources),
    sources: new Map(sources),
    bytes: bytesInHand(config.bytesInHand),
    handOver: createHandOver(deps.producer, deps.clock),
    report: createReport(deps),
  };
}

/** Never rejects; null: the client is gone. */
async function take(
  intake: Intake,
  request: IncomingMessage,
  type: CallType | null,
): Promise<Answer | null> {
  const startedAtMs = intake.clock.nowMs();
  const hold = intake.bytes.open();
  const work: Work = { intake, request, type, hold, startedAtMs, isHandedOver: false };
  const answer = await answerOf(work).catch((error: unknown) => intake.report.failed(error));
  if (!work.isHandedOver) hold.release();
  intake.report.answered(answer, intake.clock.nowMs() - startedAtMs);
  return answer;
}

interface Work {
  readonly intake: Intake;
  readonly request: IncomingMessage;
  readonly type: CallType | null;
  readonly hold: Hold;
  readonly startedAtMs: number;
  /** The records' acknowledgement will give back what is held. */
  isHandedOver: boolean;
}

async function answerOf(work: Work): Promise<Answer | null> {
  // The body is out of reach before its records wait for Kafka, and so its memory is free.
  const asked = await readRequest(work);
  if (asked === null || "kind" in asked) return asked;
  const { source, read } = asked;
  const written = await handOver(work, read);
  if (written === null) return refusal("kafka-unavailable");
  work.intake.report.taken(source.id, { written, leftOut: read.leftOut });
  return work.type === null ? SUCCESS : singleAnswer(read);
}

interface Asked {
  readonly source: Source;
  readonly read: CallsRead;
}

/** The calls that are let in, or the answer to those that are not. */
async function readRequest(work: Work): Promise<Asked | Answer | null> {
  const { intake, request, type, hold } = work;
  const body = await readRequestBody(request, BODY_BYTES_MAX, hold);
  if (body.kind === "gone") return null;
  if (body.kind === "refused") return refusal(body.code, body.detail);
  const { bytes } = body;
  const outline = readBody(bytes, type === null);
  if (outline.kind === "refused") return failure(outline.code, outline.error);
  const user = basicUser(request.headers.authorization);
  const known = authenticate(user, outline.envelope.writeKey, intake.keys);
  if (known.kind !== "source") return failure(known.kind);
  const { source } = known;
  if (intake.handOver.oldestWaitMs() > ACKNOWLEDGE_LIMIT_MS) return refusal("kafka-unavailable");

  const read = await readAll(work, bytes, outline, source);
  if (read === "too-much") return refusal("overloaded");
  if (read === "too-large") return failure("body-too-large");
  hold.shrink(bytes.length);
  const waitMs = intake.sources
    .get(source.id)
    ?.rate?.take(read.records.length, intake.clock.nowMs());
  if (waitMs !== undefined && waitMs > 0) {
    return failure("rate-limited", null, retryAfterS(waitMs, Math.random()));
  }
  return { source, read };
}

/** Of a whole body; it takes turns with other work. */
async function readAll(
  { intake, type, hold }: Work,
  bytes: Buffer,
  outline: Outline,
  source: Source,
): Promise<CallsRead | "too-large" | "too-much"> {
  const { clock, topic, sources } = intake;
  const receivedAt = new Date(clock.nowMs()).toISOString();
  const sharedHeaders = sources.get(source.id)?.headers ?? [];
  const common = { topic, sharedHeaders, receivedAt, newMessageId: randomUUID };
  const frame = type === null ? batchFrame(common, outline.envelope) : singleFrame(common, type);
  const reader = readCalls(bytes, outline, frame);
  for (;;) {
    const progress = reader.next(PIECE_CALLS, hold.grow);
    if (progress === "done") return reader.read;
    if (progress !== "more") return progress;
    if (reader.read.bytes > RECORDS_BYTES_MAX) return "too-large";
    await otherWork();
  }
}

/**
 * How many records are acknowledged, when none is left; null: some are. One that Kafka does not take
 * because of its size is left out.
 */
async function handOver(work: Work, read: CallsRead): Promise<number | null> {
  if (read.records.length === 0) return 0;
  const { clock, handOver: to } = work.intake;
  const answerByMs = Math.max(
    work.startedAtMs + ACKNOWLEDGE_LIMIT_MS,
    clock.nowMs() + ACKNOWLEDGE_LEAST_MS,
  );
  work.isHandedOver = true;
  const handed = await to.send(read.records, answerByMs, work.hold.release);
  if (handed.kind === "late") return null;
  for (const { error } of handed.refused) countLeftOut(read, { reason: "too-large", error });
  return read.records.length - handed.refused.length;
}

/** There was one call: either it is taken, or it is wrong. */
function singleAnswer({ leftOut }: CallsRead): Answer {
  const invalid = leftOut.get("invalid-call");
  if (invalid !== undefined) return failure("invalid-call", invalid.error);
  const tooLarge = leftOut.get("too-large");
  return tooLarge === undefined ? SUCCESS : failure("call-too-large", tooLarge.error);
}

function refusal(code: Code, detail: string | null = null): Answer {
  const waitMs = { overloaded: OVERLOADED_WAIT_MS, "kafka-unavailable": UNAVAILABLE_WAIT_MS };
  if (!(code === "overloaded" || code === "kafka-unavailable")) return failure(code, detail);
  return failure(code, detail, retryAfterS(waitMs[code], Math.random()));
}
