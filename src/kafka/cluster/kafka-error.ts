/** Classifies errors by everything that they contain: they may be wrapped, or come in lists. */

import { createErrorFromCode, OUTAGE_ERRORS } from "../broker/errors.ts";
import { ClosedError } from "../port.ts";

/** Kafka's name for an error code, such as `NOT_LEADER_OR_FOLLOWER`. */
export function errorType(code: number): string {
  return createErrorFromCode(code).type;
}

export function errorText(code: number): string {
  return createErrorFromCode(code).message;
}

/**
 * The error for a code. Its `type` is Kafka's name for the code; `errorKind` uses it.
 *
 * @param resource the topic or group in the response.
 */
export function protocolError(
  code: number,
  resource?: string,
): Error & { readonly type: string; readonly resource?: string } {
  const error = createErrorFromCode(code);
  return resource === undefined ? error : Object.assign(error, { resource });
}

/** Kafka's names for all errors in the chain of causes, such as `UNKNOWN_TOPIC_OR_PARTITION`. */
export function errorTypes(error: unknown): Set<string> {
  const types = new Set<string>();
  for (const { type } of causesOf(error)) if (typeof type === "string") types.add(type);
  return types;
}

/** One sentence for the error, including errors in lists, such as one for each topic that could not be created. */
export function errorSentence(error: unknown): string {
  const { message, errors } = error as { readonly message?: unknown; readonly errors?: unknown };
  if (!Array.isArray(errors) || errors.length === 0) return `${message}`;
  const parts = errors.map((each: { readonly topic?: unknown; readonly message?: unknown }) =>
    each.topic === undefined ? `${each.message}` : `${each.topic}: ${each.message}`,
  );
  return `${message}: ${parts.join("; ")}`;
}

/** A group has no coordinator at the moment: it is being created or elected, loads the group, or has moved. */
export const NO_COORDINATOR: readonly string[] = [
  "NOT_COORDINATOR",
  "COORDINATOR_NOT_AVAILABLE",
  "COORDINATOR_LOAD_IN_PROGRESS",
];
/** How long a query is repeated in that case. On a new cluster, the first group waits for its topic to be created. */
export const ELECTION_LIMIT_MS = 10_000;

type ErrorKind =
  /** Ends by itself: brokers are unreachable, restarting, electing or slow, or no token is available. */
  | "outage"
  /** Another member joined or left, or this member did not send a heartbeat for too long. */
  | "rebalance"
  /** Lasts until an operator fixes the cause. */
  | "fatal"
  /** Anything else, such as a response that cannot be read. */
  | "unknown";

const REBALANCE = new Set([
  "REBALANCE_IN_PROGRESS",
  "NOT_COORDINATOR",
  "ILLEGAL_GENERATION",
  "UNKNOWN_MEMBER_ID",
]);
const FATAL_TYPES = new Set([
  "UNKNOWN_TOPIC_OR_PARTITION",
  "INVALID_TOPIC_EXCEPTION",
  "TOPIC_AUTHORIZATION_FAILED",
  "GROUP_AUTHORIZATION_FAILED",
  "CLUSTER_AUTHORIZATION_FAILED",
  "TRANSACTIONAL_ID_AUTHORIZATION_FAILED",
  "DELEGATION_TOKEN_AUTHORIZATION_FAILED",
  "SASL_AUTHENTICATION_FAILED",
  "UNSUPPORTED_SASL_MECHANISM",
  "UNSUPPORTED_VERSION",
  "INVALID_GROUP_ID",
  "INVALID_SESSION_TIMEOUT",
  "INCONSISTENT_GROUP_PROTOCOL",
  "GROUP_MAX_SIZE_REACHED",
  "FENCED_INSTANCE_ID",
]);
const FATAL_NAMES = new Set(["AuthenticationError", "CorruptBatchError"]);
const OUTAGE_NAMES = new Set<string>([...OUTAGE_ERRORS, "TokenError"]);

export function errorKind(error: unknown): ErrorKind {
  let kind: ErrorKind = "unknown";
  for (const { name, type, retriable } of causesOf(error)) {
    if (typeof type === "string" && REBALANCE.has(type)) return "rebalance";
    if (typeof type === "string" && FATAL_TYPES.has(type)) return "fatal";
    if (typeof name === "string" && FATAL_NAMES.has(name)) return "fatal";
    if (typeof name === "string" && OUTAGE_NAMES.has(name)) return "outage";
    // A protocol error that Kafka declares retriable, such as LEADER_NOT_AVAILABLE.
    if (typeof type === "string" && retriable === true) kind = "outage";
  }
  return kind;
}

interface ErrorParts {
  readonly name?: unknown;
  readonly type?: unknown;
  readonly retriable?: unknown;
  /** The topic or group that the error is about. */
  readonly resource?: string;
}

/** The error, its causes, and the errors in lists. */
export function causesOf(error: unknown, depth = 0): ErrorParts[] {
  if (typeof error !== "object" || error === null || depth > 10) return [];
  const { cause, errors } = error as { readonly cause?: unknown; readonly errors?: unknown };
  const inner: readonly unknown[] = Array.isArray(errors) ? errors : [];
  return [error, ...[cause, ...inner].flatMap((item) => causesOf(item, depth + 1))];
}

/** The wait before attempt `failures + 1` of a request. */
export function retryDelayMs(failures: number): number {
  return Math.min(2_000, 50 * 2 ** Math.min(failures, 10));
}

/**
 * Decides how long Switchyard waits at startup for an error to end. The time is measured from the first of consecutive
 * errors.
 *
 *   the error                                                      waits
 *   a missing permission, rejected credentials, and other errors   not at all
 *   that last until an operator fixes the cause
 *   a closed client                                                not at all
 *   fewer brokers than replicas, an unknown topic, two concurrent  15 s: brokers that have just
 *   authentications, an error without a reason                     started lack metadata
 *   anything else: brokers restart, elect a leader, or are slow    without a limit
 */
const BRIEFLY_MS = 15_000;
const BRIEF: ReadonlySet<string> = new Set([
  "ILLEGAL_SASL_STATE",
  "INVALID_REPLICATION_FACTOR",
  "UNKNOWN_SERVER_ERROR",
  "UNKNOWN_TOPIC_OR_PARTITION",
]);
/** Errors for which waiting does not help, in addition to the errors that are fatal while the program runs. */
const STAYS: ReadonlySet<string> = new Set([
  "INVALID_CONFIG",
  "INVALID_PARTITIONS",
  "INVALID_REPLICA_ASSIGNMENT",
  "INVALID_REQUEST",
  "POLICY_VIOLATION",
]);

export function patienceMs(error: unknown): number {
  const types = errorTypes(error);
  if (error instanceof ClosedError || [...types].some((type) => STAYS.has(type))) return 0;
  // Checked before `errorKind`, because some of these errors are fatal while the program runs.
  if (types.size > 0 && [...types].every((type) => BRIEF.has(type))) return BRIEFLY_MS;
  return errorKind(error) === "fatal" ? 0 : Number.POSITIVE_INFINITY;
}
