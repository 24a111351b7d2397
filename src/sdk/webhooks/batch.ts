/**
 * Functions for receivers of batches, which a destination with `batch` posts. The signature covers the whole body, so
 * call `verify` or `verifyStandard` first, as for a single request.
 *
 *   body                                                       is
 *   begins with `[`                                            a list of payloads
 *   `Content-Type: application/x-ndjson`                       one payload per line
 *   anything else, with `X-Switchyard-Batch`                   one payload per line, because a proxy may have
 *                                                              changed the type
 *   anything else                                              one payload
 *
 * If `X-Switchyard-Batch` is present, the body must have that number of payloads.
 */

import { type Payload, PayloadError, parseJson, payloadOf, textOf } from "./payload.ts";
import { header, type RawBody, type RequestHeaders } from "./verify.ts";

const COUNT_HEADER = "x-switchyard-batch";
const IDS_HEADER = "x-switchyard-message-id";
const LINES_TYPE = /^application\/x-ndjson\s*(?:;|$)/i;

/** Switchyard reads at most this much of a response to a batch. */
const RESPONSE_MAX_BYTES = 262_144;

/**
 * Returns the calls of a request in the order of its body; a request that is not a batch has one.
 *
 * @param rawBody as for `parsePayload`.
 * @param headers all headers of the request.
 * @throws TypeError for a parsed body.
 * @throws PayloadError that names the invalid call and the problem. If you respond to the batch with 400, Switchyard
 * sends the calls again in two halves, until the invalid call is alone and becomes a dead letter.
 */
export function parsePayloads(rawBody: RawBody, headers: RequestHeaders): readonly Payload[] {
  const text = textOf(rawBody);
  const entries = entriesOf(text, headers);
  const counted = header(headers, COUNT_HEADER);
  if (counted !== null && counted !== `${entries.length}`) {
    throw new PayloadError(
      `the body has ${entries.length} calls, but X-Switchyard-Batch has a different number`,
    );
  }
  return entries.map((read, index) => {
    try {
      return payloadOf(read());
    } catch (cause) {
      if (!(cause instanceof PayloadError) || entries.length === 1) throw cause;
      const place = `call ${index + 1} of ${entries.length}`;
      throw new PayloadError(`${place}: ${cause.message}`, { cause });
    }
  });
}

function entriesOf(text: string, headers: RequestHeaders): readonly (() => unknown)[] {
  if (/^\s*\[/.test(text)) {
    const list = parseJson(text) as readonly unknown[];
    return list.map((entry) => () => entry);
  }
  const isCounted = header(headers, COUNT_HEADER) !== null;
  if (!isCounted && !LINES_TYPE.test(header(headers, "content-type") ?? "")) {
    return [() => parseJson(text)];
  }
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  return lines.map((line) => () => parseJson(line));
}

/**
 * Returns the message IDs of a request's calls from the header, in the order of the body. A percent
 * sign, and characters other than visible ASCII, are percent-encoded in these IDs. Null if the destination has
 * `messageIdHeader: false`, if the header was omitted
 * because it would have been 8 KiB or longer, or if it does not have one ID for each call.
 */
export function messageIds(headers: RequestHeaders): readonly string[] | null {
  const ids = header(headers, IDS_HEADER);
  if (ids === null) return null;
  const counted = header(headers, COUNT_HEADER);
  // Commas in IDs are encoded only if the request is a batch.
  if (counted === null) return [ids];
  const list = ids.split(",").map((id) => id.trim());
  return counted === `${list.length}` ? list : null;
}

/** The result of a call. `error` is shown to operators, and may be cut or omitted. */
export interface CallStatus {
  /** An HTTP status from 200 to 599, with the same meaning for this call as for a single request. */
  readonly status: number;
  readonly error?: string | undefined;
}

/**
 * Returns the response body for a batch, if the destination has `responses: each`. Send it with the status 200 and
 * `Content-Type: application/json`. The body has one status for each call. Calls that are not in `failed` have the
 * status 200.
 *
 * @param calls what `parsePayloads` returned.
 * @param failed the calls that were not accepted, by their index in `calls`.
 * @throws RangeError for an index that is not one of `calls`, or a status that is not an integer from 200 to 599.
 */
export function eachResponse(
  calls: readonly unknown[],
  failed: ReadonlyMap<number, CallStatus> = new Map(),
): string {
  for (const [index, { status }] of failed) {
    if (!Number.isInteger(index) || index < 0 || index >= calls.length) {
      throw new RangeError(
        `failed lists index ${index}, but the batch has ${calls.length} calls, and the first has index 0`,
      );
    }
    if (!Number.isInteger(status) || status < 200 || status > 599) {
      throw new RangeError(`the status of call ${index} is not an integer from 200 to 599`);
    }
  }
  const statuses = calls.map((_, index) => failed.get(index) ?? { status: 200 });
  const full = JSON.stringify(statuses.map(({ status, error }) => ({ status, error })));
  if (new TextEncoder().encode(full).length <= RESPONSE_MAX_BYTES) return full;
  return JSON.stringify(statuses.map(({ status }) => ({ status })));
}
