/**
 * Judges the result of one request (docs/webhooks.md#responses).
 *
 *   result                            outcome     Retry-After
 *   2xx                               accepted    -
 *   429, 503                          retry       read
 *   401, with `auth`                  retry       read
 *   408, 425, other 5xx               retry       not read
 *   no response, for any cause        retry       -
 *   410                               rejected    -             the endpoint is gone: it gets no more requests
 *   any other status                  rejected    -
 *
 * A 401 is retried if requests to the destination are authenticated, because the call is not the cause, and a token
 * or a password can be replaced.
 *
 * Redirects are not followed, and count as "any other status". Following a redirect would send signed data to an
 * address that is not configured.
 */

import { retryAfterMs } from "../../../domain/retry-after.ts";
import { type Outcome, RETRY, type SendResult } from "../port.ts";

const ACCEPTED: Outcome = { kind: "accepted" };
const REJECTED: Outcome = { kind: "rejected" };
const GONE: Outcome = { kind: "rejected", isGone: true };

/**
 * @param nowMs when the response arrived. If `Retry-After` contains a date, the wait is measured from this time.
 * @param hasAuth true if the request was authenticated by the setting `auth`.
 */
export function judge(result: SendResult, nowMs: number, hasAuth = false): Outcome {
  if (result.kind === "no-response") return RETRY;
  const { status } = result;
  if (status >= 200 && status < 300) return ACCEPTED;
  if (status === 429 || status === 503 || (status === 401 && hasAuth)) {
    return { kind: "retry", retryAfterMs: retryAfterMs(result.retryAfter, nowMs) };
  }
  if (status === 408 || status === 425 || (status >= 500 && status < 600)) return RETRY;
  return status === 410 ? GONE : REJECTED;
}
