/**
 * The errors of connections to brokers, and Kafka's error codes with their names and texts.
 *
 *   what happened                                   error                      outage  retriable
 *   no connection could be opened, or the broker    ConnectionError            yes     yes
 *   did not finish the authentication
 *   a connection has ended, or there was none       ConnectionClosedError      yes     yes
 *   a request got no response in time               RequestTimeoutError        yes     yes
 *   the broker rejected the credentials             AuthenticationError        no      no
 *   the broker responded with an error code         KafkaError                 by its code
 */

import { protocolErrors } from "@platformatic/kafka";

export class ConnectionError extends Error {
  override readonly name = "ConnectionError";
  readonly retriable = true;
}

export class ConnectionClosedError extends Error {
  override readonly name = "ConnectionClosedError";
  readonly retriable = true;
}

export class RequestTimeoutError extends Error {
  override readonly name = "RequestTimeoutError";
  readonly retriable = true;
}

export class AuthenticationError extends Error {
  override readonly name = "AuthenticationError";
  readonly retriable = false;
  /** Kafka's name for the error; null if the broker's proof was wrong. */
  readonly type: string | null;

  constructor(message: string, type: string | null, cause?: unknown) {
    super(message, { cause });
    this.type = type;
  }
}

/** Names of the errors that mean: brokers are unreachable, or did not respond in time. */
export const OUTAGE_ERRORS = [
  "ConnectionError",
  "ConnectionClosedError",
  "RequestTimeoutError",
] as const;

/** An error code in a response. */
class KafkaError extends Error {
  override readonly name = "KafkaError";
  /** Kafka's name for the code, such as `NOT_LEADER_OR_FOLLOWER`. */
  readonly type: string;
  readonly code: number;
  /** `true` if Kafka declares the error as temporary. */
  readonly retriable: boolean;

  constructor(type: string, code: number, message: string, retriable: boolean) {
    super(message);
    this.type = type;
    this.code = code;
    this.retriable = retriable;
  }
}

const byCode = new Map(Object.values(protocolErrors).map((each) => [each.code, each]));

/** The error for a code, also for one that no release of Kafka had when this was written. */
export function createErrorFromCode(code: number): KafkaError {
  const known = byCode.get(code);
  if (known === undefined)
    return new KafkaError("UNKNOWN_ERROR_CODE", code, `Kafka's error code ${code}`, false);
  return new KafkaError(known.id, code, known.message, known.canRetry);
}

/** Errors that say by themselves why a connection could not be opened. */
const OWN: ReadonlySet<string> = new Set([
  "AuthenticationError",
  "ConnectionClosedError",
  "ConnectionError",
  "KafkaError",
  "NoCommonVersionError",
  "TokenError",
]);

/** Why a connection could not be opened. If each address of a name failed, the first one's failure. */
export function connectionFailure(error: unknown): Error {
  if (error instanceof Error && OWN.has(error.name)) return error;
  const [cause] = error instanceof AggregateError ? error.errors : [error];
  return new ConnectionError((cause as Error).message, { cause });
}
