/**
 * Limits, at the socket, the number of bytes that are read for one response. Whatever an endpoint sends, reading the
 * response therefore takes at most a fixed number of bytes and a limited time.
 *
 *   bytes received for one request                             count against the limit
 *   body                                                       none: its reader has a separate limit
 *   everything else: interim responses, head, chunk sizes and
 *   extensions, trailers, blank lines                          each byte
 *   each read                                                  READ_BYTES in addition
 *   a line outside the body, if there are many such bytes      LINE_BYTES in addition
 *
 * If the limit is exceeded, the socket is destroyed with `ResponseTooLargeError`. The limit also bounds the time,
 * because most of the time is spent on reads and lines. The parser can be stopped only between two buffers, so it gets
 * small buffers. Lines are counted only if more than LINES_FROM_BYTES of a buffer are not part of the body, which does
 * not happen with ordinary responses.
 */

import type { Socket } from "node:net";
import { InterimFilter, ResponseHead } from "./response-head.ts";

/**
 * Maximum bytes of a response outside its body. Together with 64 KiB of body and one more read, the total is below 128
 * KiB. Heads of real endpoints are below 16 KiB, the maximum of Node's own parser.
 */
export const OTHER_MAX_BYTES = 24_576;
/** Parsing this many bytes takes as long as one read. */
const READ_BYTES = 128;
/** Parsing this many bytes takes as long as handling one header, trailer or chunk. */
const LINE_BYTES = 32;
const LINES_FROM_BYTES = 1_024;
const PIECE_BYTES = 4_096;
const LINE_FEED = 0x0a;

class ResponseTooLargeError extends Error {
  override readonly name = "ResponseTooLargeError";
  readonly code = "RESPONSE_TOO_LARGE";
}

/** Tracks how many bytes may still be received on a connection. */
export class ResponseBounds {
  readonly interim = new InterimFilter();
  readonly head = new ResponseHead();
  isAwaited = false;
  bytesLeft = OTHER_MAX_BYTES;
  /**
   * The number of bytes that had been received below TLS at about the start of the request; null until this is
   * determined.
   */
  wireFrom: number | null = null;

  /** The connection, once it is established. */
  socket: Socket | null = null;

  /** Call before each request. */
  begin(): void {
    this.isAwaited = true;
    if (this.socket !== null) renewHeaders(this.socket);
    this.interim.reset();
    this.head.forget();
    this.bytesLeft = OTHER_MAX_BYTES;
    this.wireFrom = null;
  }

  /** Call when this many of the bytes that were read last are part of the body. */
  wasBody(bytes: number): void {
    this.bytesLeft += bytes;
  }
}

/** Replaces the socket's methods `read` and `push`, the only ones that undici uses for reading. */
export function boundResponse(socket: Socket, bounds: ResponseBounds): void {
  bounds.socket = socket;
  const read: () => Buffer | null = socket.read.bind(socket);
  const push: (chunk: unknown) => boolean = socket.push.bind(socket);
  let rest: Buffer | null = null;
  /** The buffer that the parser is parsing, or that it parsed last. */
  let piece: Buffer | null = null;
  let leftBeforePiece = 0;
  const isOver = (): boolean => {
    if (bounds.bytesLeft < 0 && !socket.destroyed) {
      socket.destroy(new ResponseTooLargeError("the response exceeds the size limit"));
    }
    return socket.destroyed;
  };
  const countLines = () => {
    if (piece !== null && leftBeforePiece - bounds.bytesLeft > LINES_FROM_BYTES) {
      bounds.bytesLeft -= LINE_BYTES * linesOf(piece);
    }
    piece = null;
  };
  socket.push = (chunk: unknown): boolean => {
    if (chunk === null) return push(null);
    bounds.bytesLeft -= READ_BYTES;
    return !isOver() && push(chunk);
  };
  socket.read = (): Buffer | null => {
    for (;;) {
      countLines();
      if (isOver()) return null;
      const bytes = rest ?? read();
      if (bytes === null) return null;
      piece = bytes.length > PIECE_BYTES ? bytes.subarray(0, PIECE_BYTES) : bytes;
      rest = piece === bytes ? null : bytes.subarray(PIECE_BYTES);
      leftBeforePiece = bounds.bytesLeft;
      bounds.bytesLeft -= piece.length;
      if (!bounds.isAwaited) return piece;
      const final = bounds.interim.take(piece);
      const whole = final === null ? null : bounds.head.take(final);
      if (whole === null) continue;
      bounds.isAwaited = false;
      return whole;
    }
  };
}

function linesOf(bytes: Buffer): number {
  let lines = 0;
  for (let at = bytes.indexOf(LINE_FEED); at >= 0; at = bytes.indexOf(LINE_FEED, at + 1)) {
    lines += 1;
  }
  return lines;
}

interface Parser {
  headers: unknown;
}

/** The symbol under which undici stores its parser in a socket, taken from the first socket that has it. */
let symbol: symbol | undefined;

/**
 * undici keeps, with each connection, an array for the headers of the next response. On a connection that is used once
 * a second, the array has reached the old generation by the time of the response. If undici continued to use that
 * array, the array would keep the headers, and the bytes from which they were read, in memory until the whole heap is
 * collected (docs/decisions/0043-a-thousand-members.md). Each request therefore starts with a new array. If undici has
 * no such array, nothing happens.
 */
export function renewHeaders(socket: Socket): void {
  symbol ??= Object.getOwnPropertySymbols(socket).find(
    ({ description }) => description === "parser",
  );
  if (symbol === undefined) return;
  const parser = (socket as Socket & Record<symbol, Parser | null | undefined>)[symbol];
  if (Array.isArray(parser?.headers) && parser.headers.length === 0) parser.headers = [];
}

/** Responses of honest servers stay below half of this, even with small TLS records. */
export const WIRE_MAX_BYTES = 262_144;
const LOOK_EVERY_MS = 50;

const watchedSockets = new Map<Socket, ResponseBounds>();
let timer: NodeJS.Timeout | null = null;

/**
 * Limits how many bytes a TLS connection may receive for one response. The limit applies until the socket is closed.
 * OpenSSL itself handles TLS messages such as KeyUpdate, session tickets and new handshakes, which the socket's reader
 * does not get, so the number of bytes below TLS is checked periodically.
 *
 *   since the request or the connection started     connection
 *   at most WIRE_MAX_BYTES were received             stays open
 *   more were received                               is destroyed, with `ResponseTooLargeError`
 */
export function boundWireBytes(socket: Socket, bounds: ResponseBounds): void {
  watchedSockets.set(socket, bounds);
  socket.once("close", () => watchedSockets.delete(socket));
  timer ??= setInterval(checkWireBytes, LOOK_EVERY_MS).unref();
}

function checkWireBytes(): void {
  for (const [socket, bounds] of watchedSockets) {
    const bytes = wireBytes(socket);
    if (bytes === null) continue;
    bounds.wireFrom ??= bytes;
    if (bytes - bounds.wireFrom <= WIRE_MAX_BYTES) continue;
    socket.destroy(
      new ResponseTooLargeError("the bytes received for one response exceed the limit"),
    );
  }
  if (watchedSockets.size > 0 || timer === null) return;
  clearInterval(timer);
  timer = null;
}

/** Node counts these bytes in an internal property; a test fails if that changes. */
export function wireBytes(socket: Socket): number | null {
  const { _handle: handle } = socket as Socket & { readonly _handle?: TlsHandle | null };
  const bytes = handle?._parent?.bytesRead;
  return typeof bytes === "number" ? bytes : null;
}

interface TlsHandle {
  readonly _parent?: { readonly bytesRead?: unknown };
}
