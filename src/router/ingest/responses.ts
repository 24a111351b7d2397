/**
 * The responses of the ingest stage: every code, with its status and a sentence that says what the client should do.
 * `docs/openapi.yaml` lists the same codes.
 *
 *   status           the client should
 *   200              drop the calls, because they are stored
 *   400, 413         not send the same request again
 *   401              use another write key
 *   404, 405, 431    be configured differently
 *   408, 429, 503    send the same request again, after `Retry-After` if it is set
 */

export const ANSWERS = {
  "invalid-request": { status: 400, message: "The request is not valid HTTP." },
  "invalid-encoding": {
    status: 400,
    message: "Send the body uncompressed, or with Content-Encoding: gzip.",
  },
  "invalid-gzip": { status: 400, message: "The body is not gzip, or it is truncated." },
  "invalid-json": { status: 400, message: "Send the body as JSON in UTF-8." },
  "invalid-body": {
    status: 400,
    message: "Send a JSON object whose field batch is a list of calls.",
  },
  "invalid-call": { status: 400, message: "Correct the call." },
  "call-too-large": { status: 400, message: "Send calls of at most 32 KB of JSON." },
  "missing-write-key": {
    status: 401,
    message:
      "Send a write key: as the user name of Basic authentication, or as writeKey in the body.",
  },
  "unknown-write-key": {
    status: 401,
    message: "No source has this write key. Compare it with Switchyard's configuration.",
  },
  "unknown-path": {
    status: 404,
    message:
      "Send calls to POST /v1/batch, /v1/{identify,track,page,screen,group,alias}, or another path listed in docs/http-apis.md.",
  },
  "wrong-method": { status: 405, message: "Send calls with POST." },
  "request-timeout": {
    status: 408,
    message: "The request took too long to arrive. Send it again.",
  },
  "body-too-large": {
    status: 413,
    message: "Send smaller requests, with fewer calls and at most 10 MiB after decompression.",
  },
  "headers-too-large": { status: 431, message: "Send at most 16 KiB of headers." },
  "rate-limited": {
    status: 429,
    message:
      "This source has reached its limit of calls per second. Retry after the number of seconds in Retry-After.",
  },
  overloaded: {
    status: 429,
    message:
      "The server has too many unacknowledged bytes in flight. Retry after the number of seconds in Retry-After.",
  },
  "kafka-unavailable": {
    status: 503,
    message:
      "Kafka did not store the calls in time. Retry after the number of seconds in Retry-After.",
  },
  stopping: { status: 503, message: "This server is stopping. Send the request again." },
} as const;

export type Code = keyof typeof ANSWERS;

export type Answer =
  | { readonly kind: "success" }
  /** Settings for an SDK. */
  | { readonly kind: "document"; readonly json: string }
  | {
      readonly kind: "failure";
      readonly code: Code;
      /** The problem of this request; null if there is nothing to add. Never contains any part of a call. */
      readonly detail: string | null;
      /** Whole seconds, 1 to 30; null if the response has no `Retry-After`. */
      readonly retryAfterS: number | null;
    };

export const SUCCESS: Answer = { kind: "success" };

export function failure(
  code: Code,
  detail: string | null = null,
  retryAfterS: number | null = null,
): Answer {
  return { kind: "failure", code, detail, retryAfterS };
}

export function statusOf(answer: Answer): number {
  return answer.kind === "failure" ? ANSWERS[answer.code].status : 200;
}

const SUCCESS_BODY = '{"success":true}';

export function bodyOf(answer: Answer): string {
  if (answer.kind === "success") return SUCCESS_BODY;
  if (answer.kind === "document") return answer.json;
  const { code, detail } = answer;
  const advice = ANSWERS[code].message;
  const message = detail === null ? advice : `${detail}. ${advice}`;
  return JSON.stringify({ success: false, code, message });
}

const RETRY_AFTER_MIN_S = 1;
const RETRY_AFTER_MAX_S = 30;

/**
 * The value of `Retry-After` for a wait. It is randomly chosen, up to twice the wait, so that clients do not all
 * return at the same time.
 *
 * @param random from 0 to below 1.
 */
export function retryAfterS(waitMs: number, random: number): number {
  const seconds = Math.ceil((waitMs * (1 + random)) / 1_000);
  return Math.min(RETRY_AFTER_MAX_S, Math.max(RETRY_AFTER_MIN_S, seconds));
}
