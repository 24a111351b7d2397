/** The errors that the library throws, and the losses that it reports. */

import { isJsonObject } from "../../domain/json.ts";

/**
 * An invalid call or option. Thrown immediately, and nothing is queued. The message never contains a value, which may
 * be personal data.
 */
export class ValidationError extends Error {
  override readonly name = "ValidationError";
  /** The field or option, such as `userId` or `integrations.Webhooks`. */
  readonly field: string;

  constructor(field: string, message: string, options?: { readonly cause: unknown }) {
    super(message, options);
    this.field = field;
  }
}

/** Also true for errors of another realm, such as that of a test runner. */
export function isError(value: unknown): value is Error {
  return isJsonObject(value) && typeof value.message === "string";
}

/** A call was made after `close()`. */
export class ClosedError extends Error {
  override readonly name = "ClosedError";
}

/**
 *   reason               what happened
 *   queue-full           the queue was full when the call was made
 *   rejected             the endpoint responded with a status that is not retried
 *   attempts-exhausted   every attempt ended in a network error, 408, 429 or 5xx
 *   closed               the timeout of `close({ timeoutMs })` passed first
 */
export type LossReason = "queue-full" | "rejected" | "attempts-exhausted" | "closed";

export interface Loss {
  readonly reason: LossReason;
  /** One sentence that describes the loss. */
  readonly message: string;
  /** Number of requests that contained this call. */
  readonly attempts: number;
  /** Status of the last response; null if there was none. */
  readonly status: number | null;
  /** Error of the last request; undefined if there was a response, or no request was made. */
  readonly cause: unknown;
}

/** A lost call. */
export interface LostCall extends Loss {
  /** The call as it would have been sent, including `type` and `messageId`. */
  readonly call: Readonly<Record<string, unknown>>;
}

/** The error with which an awaited call rejects. */
export class LostCallError extends Error implements LostCall {
  override readonly name = "LostCallError";
  readonly reason: LossReason;
  readonly attempts: number;
  readonly status: number | null;
  readonly call: LostCall["call"];
  override readonly cause: unknown;

  constructor({ reason, message, attempts, status, cause, call }: LostCall) {
    super(message);
    this.reason = reason;
    this.attempts = attempts;
    this.status = status;
    this.cause = cause;
    this.call = call;
  }
}

/** Calls that the endpoint has acknowledged in one request. */
export interface SentBatch {
  /** The calls as they were sent, in order, including `type` and `messageId`. */
  readonly calls: readonly Readonly<Record<string, unknown>>[];
  /** Number of requests made, including the acknowledged one. */
  readonly attempts: number;
}
