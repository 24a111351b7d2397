/**
 * Handles one request: writes its calls to Kafka and returns the response. `stage.ts` shows what happens after a crash.
 */

import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { setImmediate as otherWork } from "node:timers/promises";
import type { Clock } from "../../base/runtime/clock.ts";
import type { InTurn } from "../../base/runtime/in-turn.ts";
import type { PenaltyDelay } from "../../base/runtime/penalty-delay.ts";
import type { CallType } from "../../domain/call.ts";
import type { Source } from "../../domain/destination.ts";
import type { KnownSuppressions } from "../suppression/known-suppressions.ts";
import { authenticate, basicUser } from "./auth.ts";
import { readRequestBody } from "./http.ts";
import type { KnownSources } from "./known-sources.ts";
import { both, type Hold, type InFlightBytes } from "./limits.ts";
import type { AskedCalls, AskedSettings, RejectedKind } from "./paths.ts";
import { callOfPixel } from "./pixel.ts";
import type { HandOver } from "./produce-and-wait.ts";
import { type Outline, type ReadBody, readBody, readBodyAtOnce } from "./read-body.ts";
import { batchFrame, singleFrame } from "./read-call.ts";
import { type CallsRead, countRejected, readCalls } from "./read-calls.ts";
import type { Report } from "./report.ts";
import { type Answer, type Code, failure, retryAfterS, SUCCESS } from "./responses.ts";
import { rudderSettings, segmentSettings, serverAddress } from "./sdk-settings.ts";
import type { AskedOfStage } from "./server.ts";
import type { SlowBodies } from "./slow-bodies.ts";
import { type IngestTracing, type RequestTrace, traceRequest } from "./trace.ts";
import { ONE_GO_BYTES } from "./unpack.ts";

/** The maximum size of an unpacked body (docs/http-apis.md#limits). */
export const BODY_MAX_BYTES = 10 * 1_024 * 1_024;
/**
 * The maximum total size of the records that are created from a body, including the members that a batch adds to
 * each of its calls.
 */
const RECORDS_MAX_BYTES = 4 * BODY_MAX_BYTES;
/** The maximum wait for acknowledgments. It is shorter than the 8 to 10 s after which clients retry. */
export const ACKNOWLEDGE_LIMIT_MS = 7_000;
/** The minimum wait for acknowledgments, which applies if a body took long to arrive. */
const ACKNOWLEDGE_LEAST_MS = 1_000;
/** Number of calls that are read before other work can run. Reading them takes a few milliseconds. */
const PIECE_CALLS = 500;
const OVERLOADED_WAIT_MS = 1_000;
const UNAVAILABLE_WAIT_MS = 2_000;

/** State that all requests share. */
export interface Intake {
  readonly clock: Clock;
  readonly topic: string;
  /** Absent if nobody is suppressed. */
  readonly suppressions: KnownSuppressions | undefined;
  /** `true` if clients reach the server over TLS. */
  readonly isSecure: boolean;
  /** The current settings. A request keeps the settings with which it started. */
  readonly sources: () => KnownSources;
  readonly bytes: InFlightBytes;
  readonly maxUnauthenticatedBytes: InFlightBytes;
  readonly slowBodies: SlowBodies;
  readonly inTurn: InTurn;
  readonly penaltyDelay: PenaltyDelay;
  readonly handOver: HandOver;
  readonly report: Report;
  /** Null if traces are off. */
  readonly traced: IngestTracing | null;
}

/** Never rejects. Null if the client has closed the connection. */
export async function take(
  intake: Intake,
  request: IncomingMessage,
  asked: AskedOfStage,
): Promise<Answer | null> {
  if (asked.kind === "settings") return settingsFor(intake, request, asked);
  if (asked.kind === "rejected") return rejected(intake, request, asked.of);
  if (intake.penaltyDelay.isWaiting(request.socket)) {
    request.socket.destroy();
    return null;
  }
  const startedAtMs = intake.clock.nowMs();
  const hold = intake.bytes.open();
  const { type } = asked;
  const sources = intake.sources();
  const trace = intake.traced && traceRequest(intake.traced, request, startedAtMs);
  const begun = { intake, sources, request, asked, type, hold, startedAtMs, trace };
  const work: IntakeRequest = { ...begun, isPenalized: false, isHandedOver: false };
  const answer = await answerOf(work).catch((error: unknown) => intake.report.logFailure(error));
  if (!work.isHandedOver) hold.release();
  const endedAtMs = intake.clock.nowMs();
  intake.report.countAnswer(answer, endedAtMs - startedAtMs);
  trace?.end(answer, endedAtMs);
  const { socket } = request;
  if (answer !== null && work.isPenalized)
    await intake.penaltyDelay.wait(socket, socket.remoteAddress ?? "");
  return answer;
}

/**
 * Responds to a request for settings. Such a request has no body, so the write key is in the path, the query or the
 * header.
 */
function settingsFor(intake: Intake, request: IncomingMessage, asked: AskedSettings): Answer {
  const { authorization, host } = request.headers;
  const given = asked.writeKey ?? basicUser(authorization) ?? asked.query.get("writeKey") ?? "";
  const known = authenticate(null, given, intake.sources().keys);
  if (known.kind !== "source") return failure(known.kind);
  const forwarded = request.headers["x-forwarded-proto"];
  const address = serverAddress(host, intake.isSecure || forwarded === "https");
  if (address === null)
    return failure(
      "invalid-request",
      "the Host header must be a host name or an address, optionally with a port",
    );
  const json =
    asked.of === "segment"
      ? segmentSettings(given, address)
      : rudderSettings(given, known.source, address);
  return { kind: "document", json };
}

/**
 * Responds to a request whose calls are never stored. The body is ignored, but a request with a wrong key in the
 * header is rejected.
 */
function rejected(intake: Intake, request: IncomingMessage, of: RejectedKind): Answer {
  const user = basicUser(request.headers.authorization);
  const known = user === null ? null : authenticate(user, null, intake.sources().keys);
  if (known !== null && known.kind !== "source") return failure(known.kind);
  intake.report.countIgnored(of);
  return SUCCESS;
}

interface IntakeRequest {
  readonly intake: Intake;
  readonly sources: KnownSources;
  readonly request: IncomingMessage;
  readonly asked: AskedCalls;
  readonly type: CallType | null;
  readonly hold: Hold;
  readonly startedAtMs: number;
  /** If `true`, the response is delayed: the body has been read, and none of its calls has been accepted. */
  isPenalized: boolean;
  readonly trace: RequestTrace | null;
  /** If `true`, the held memory is released when the records are acknowledged. */
  isHandedOver: boolean;
}

async function answerOf(work: IntakeRequest): Promise<Answer | null> {
  // The body is out of scope while its records wait for Kafka, so that its memory can be freed.
  const asked = await readRequest(work);
  if (asked === null || "kind" in asked) return asked;
  const { source, read } = asked;
  // Calls of suppressed users count as well, because the response must not show that a user is suppressed.
  work.isPenalized = read.records.length + read.suppressed === 0;
  const written = await handOver(work, read);
  if (written === null) return refusal("kafka-unavailable");
  work.intake.report.countCalls(source.id, {
    written,
    repaired: read.repaired,
    suppressed: read.suppressed,
    rejected: read.rejected,
  });
  return work.type === null ? SUCCESS : singleAnswer(read);
}

interface Asked {
  readonly source: Source;
  readonly read: CallsRead;
}

/** Returns the accepted calls, or a response if no calls are accepted. */
async function readRequest(work: IntakeRequest): Promise<Asked | Answer | null> {
  const { intake, sources, request, asked, hold } = work;
  const user = basicUser(request.headers.authorization) ?? (asked.query?.get("writeKey") || null);
  const early = user === null ? null : authenticate(user, null, sources.keys);
  // In these cases, the body is not read.
  if (early !== null && early.kind !== "source") return failure(early.kind);
  const withoutKey = intake.maxUnauthenticatedBytes.open();
  try {
    const body = await readOutline(work, early === null ? both(hold, withoutKey) : hold);
    if (body === null || "kind" in body) return body;
    const { bytes, outline } = body;
    const known = early ?? authenticate(null, outline.envelope.writeKey, sources.keys);
    if (known.kind !== "source") return failure(known.kind);
    withoutKey.release();
    if (intake.handOver.oldestWaitMs() > ACKNOWLEDGE_LIMIT_MS) return refusal("kafka-unavailable");
    return await readSource(work, bytes, outline, known.source);
  } finally {
    withoutKey.release();
  }
}

/** @param hold counts the memory of the body while it is being read. */
async function readOutline(
  work: IntakeRequest,
  hold: Hold,
): Promise<{ readonly bytes: Buffer; readonly outline: Outline } | Answer | null> {
  const { intake, request, asked, type } = work;
  work.isPenalized = true;
  const { slowBodies, inTurn } = intake;
  const isBatch = type === null;
  const reading = { maxBytes: BODY_MAX_BYTES, isBatch, hold, slowBodies, inTurn };
  const body =
    asked.isPixel && asked.query !== null
      ? ({ kind: "body", bytes: callOfPixel(asked.query) } as const)
      : await readRequestBody(request, reading);
  if (body.kind === "gone") return null;
  if (body.kind === "refused") return refusal(body.code, body.detail);
  const { bytes } = body;
  const isLarge = bytes.length > ONE_GO_BYTES;
  const outline = isLarge
    ? await inTurn(() => readInTurns(readBody(bytes, isBatch)))
    : readBodyAtOnce(bytes, isBatch);
  return outline.kind === "refused" ? failure(outline.code, outline.error) : { bytes, outline };
}

async function readInTurns(steps: Generator<void, ReadBody>): Promise<ReadBody> {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    await otherWork();
  }
}

async function readSource(
  work: IntakeRequest,
  bytes: Buffer,
  outline: Outline,
  source: Source,
): Promise<Asked | Answer> {
  const { intake, sources, hold } = work;
  const read = await readAll(work, bytes, outline, source);
  if (read === "too-much") return refusal("overloaded");
  if (read === "too-large") return failure("body-too-large");
  hold.shrink(bytes.length);
  const rate = sources.byId.get(source.id)?.rate;
  // The response must not show that a user is suppressed.
  const waitMs = rate?.take(read.records.length + read.suppressed, intake.clock.nowMs());
  if (waitMs !== undefined && waitMs > 0) {
    return failure("rate-limited", null, retryAfterS(waitMs, Math.random()));
  }
  return { source, read };
}

/** Reads the calls of a complete body in slices. Other work can run between the slices. */
async function readAll(
  { intake, sources, type, hold, trace }: IntakeRequest,
  bytes: Buffer,
  outline: Outline,
  source: Source,
): Promise<CallsRead | "too-large" | "too-much"> {
  const { clock, topic, suppressions } = intake;
  const receivedAt = new Date(clock.nowMs()).toISOString();
  const own = sources.byId.get(source.id)?.headers ?? [];
  const sharedHeaders = trace === null ? own : [...own, ...trace.headers];
  const { correctClock: correctsClock } = source;
  const common = {
    topic,
    sharedHeaders,
    receivedAt,
    correctsClock,
    newMessageId: randomUUID,
    suppressions,
  };
  const frame = type === null ? batchFrame(common, outline.envelope) : singleFrame(common, type);
  const reader = readCalls(bytes, outline, frame);
  for (;;) {
    const progress = reader.next(PIECE_CALLS, hold.grow);
    if (progress === "done") return reader.read;
    if (progress !== "more") return progress;
    if (reader.read.bytes > RECORDS_MAX_BYTES) return "too-large";
    await otherWork();
  }
}

/**
 * Passes the records to the producer. Returns how many of them were acknowledged; null if some were not acknowledged
 * in time. A record that Kafka rejects because of its size is dropped.
 */
async function handOver(work: IntakeRequest, read: CallsRead): Promise<number | null> {
  if (read.records.length === 0) return 0;
  const { clock, handOver: to } = work.intake;
  const answerByMs = Math.max(
    work.startedAtMs + ACKNOWLEDGE_LIMIT_MS,
    clock.nowMs() + ACKNOWLEDGE_LEAST_MS,
  );
  work.isHandedOver = true;
  const handed = await to.send(read.records, answerByMs, work.hold.release);
  if (handed.kind === "late") return null;
  for (const { error } of handed.refused) countRejected(read, { reason: "too-large", error });
  return read.records.length - handed.refused.length;
}

/** The response to a single call, which is either accepted or invalid. */
function singleAnswer({ rejected }: CallsRead): Answer {
  const invalid = rejected.get("invalid-call");
  if (invalid !== undefined) return failure("invalid-call", invalid.error);
  const tooLarge = rejected.get("too-large");
  return tooLarge === undefined ? SUCCESS : failure("call-too-large", tooLarge.error);
}

function refusal(code: Code, detail: string | null = null): Answer {
  const waitMs = { overloaded: OVERLOADED_WAIT_MS, "kafka-unavailable": UNAVAILABLE_WAIT_MS };
  if (!(code === "overloaded" || code === "kafka-unavailable")) return failure(code, detail);
  return failure(code, detail, retryAfterS(waitMs[code], Math.random()));
}
