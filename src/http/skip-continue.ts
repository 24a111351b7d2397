/**
 * Takes `100 Continue` out of what a socket reads. A client must be able to skip it (RFC 9110,
 * 15.2) even if it never asked; undici drops the connection instead. Other 1xx it skips itself.
 *
 *   what is read where a response begins      passed on
 *   a response with another status            as it is, and so is everything after it
 *   a whole 100 response                      what follows it
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
const END = "\r\n\r\n";
/** A 100 response longer than this is left to the parser, which refuses it. */
const HEAD_BYTES_MAX = 16_384;

/** Replaces the socket's `read`; undici uses nothing else to read. */
export function skipContinue(socket: Socket, start: ResponseStart): void {
  const read: (size?: number) => Buffer | null = socket.read.bind(socket);
  let kept: Buffer | null = null;
  socket.read = (size?: number): Buffer | null => {
    let chunk = read(size);
    while (chunk !== null && start.awaits) {
      const bytes: Buffer = kept === null ? chunk : Buffer.concat([kept, chunk]);
      kept = null;
      const rest = afterContinue(bytes);
      if (rest === bytes) {
        start.awaits = false;
        return bytes;
      }
      if (rest === null) kept = bytes;
      // What follows a 100 may be another one.
      chunk = rest === null || rest.length === 0 ? read(size) : rest;
    }
    return chunk;
  };
}

/** What follows a 100 response; the bytes themselves when there is none; null when unknown. */
function afterContinue(bytes: Buffer): Buffer | null {
  // Hardly any response has another than a final status: it shows at once.
  if (bytes.length >= STATUS_END && bytes[STATUS_AT] !== DIGIT_1) return bytes;
  const head = bytes.toString("latin1", 0, STATUS_END);
  if (!/^HTTP\/1\.[01] 100$/.test(head)) {
    const couldBecome =
      head.length < STATUS_END && /^H(T(T(P(\/(1(\.([01]( (10?)?)?)?)?)?)?)?)?)?$/.test(head);
    return couldBecome ? null : bytes;
  }
  const endAt = bytes.indexOf(END);
  if (endAt >= 0) return bytes.subarray(endAt + END.length);
  return bytes.length > HEAD_BYTES_MAX ? bytes : null;
}
