/**
 * Takes interim responses (1xx) out of what a socket reads. A client must be able to skip them (RFC
 * 9110, 15.2) even if it never asked for any; undici drops the connection at `100 Continue`.
 *
 *   what is read where a response begins      passed on
 *   a response with a final status, or 101    as it is, and so is everything after it
 *   a whole interim response                  what follows it
 *   less than that can be told from           nothing, until more has come
 */

import type { Socket } from "node:net";

/** Set `awaits` before each request. */
export interface ResponseStart {
  awaits: boolean;
}

const STATUS_END = "HTTP/1.1 100".length;
const STATUS_AT = "HTTP/1.1 ".length;
const DIGIT_1 = 0x31;
const INTERIM = /^HTTP\/1\.[01] 1(?!01)\d\d$/;
/** What the head of one may begin with. */
const BEGUN = /^H(T(T(P(\/(1(\.([01]( (1\d?)?)?)?)?)?)?)?)?)?$/;
const END = "\r\n\r\n";
/** A longer head is left to the parser, which refuses it. */
const HEAD_BYTES_MAX = 16_384;

/** Replaces the socket's `read`; undici uses nothing else to read. */
export function skipInterim(socket: Socket, start: ResponseStart): void {
  const read: (size?: number) => Buffer | null = socket.read.bind(socket);
  let kept: Buffer | null = null;
  socket.read = (size?: number): Buffer | null => {
    let chunk = read(size);
    while (chunk !== null && start.awaits) {
      const bytes: Buffer = kept === null ? chunk : Buffer.concat([kept, chunk]);
      kept = null;
      const rest = afterInterim(bytes);
      if (rest === bytes) {
        start.awaits = false;
        return bytes;
      }
      if (rest === null) kept = bytes;
      // What follows one may be another.
      chunk = rest === null || rest.length === 0 ? read(size) : rest;
    }
    return chunk;
  };
}

/** What follows an interim response; the bytes themselves when there is none; null when unknown. */
function afterInterim(bytes: Buffer): Buffer | null {
  // Hardly any response has another than a final status: it shows at once.
  if (bytes.length >= STATUS_END && bytes[STATUS_AT] !== DIGIT_1) return bytes;
  const head = bytes.toString("latin1", 0, STATUS_END);
  if (!INTERIM.test(head)) return head.length < STATUS_END && BEGUN.test(head) ? null : bytes;
  const endAt = bytes.indexOf(END);
  if (endAt >= 0) return bytes.subarray(endAt + END.length);
  return bytes.length > HEAD_BYTES_MAX ? bytes : null;
}
