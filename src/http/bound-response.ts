/**
 * Bounds the bytes that are read of one answer, where the socket is read. However an endpoint
 * answers, it costs its reader no more than a fixed number of bytes and a little time.
 *
 *   bytes that come for one request                            count against the limit
 *   body                                                       no: its reader has its own limit
 *   all else: interim responses, head, chunk sizes and their
 *   extensions, trailers, blank lines                          each byte
 *   a read, however few bytes came                             as READ_BYTES more
 *   a line of all else, where there is much of it              as LINE_BYTES more
 *
 * Beyond the limit the socket is destroyed with `ResponseTooLargeError`. So the limit bounds the time
 * too: reads and lines take most of it. The parser reads to the end of each buffer that it is given,
 * and can be stopped only between two, so it is given small ones. Lines are counted only where more
 * than LINES_FROM_BYTES of a buffer turn out to be no body, which no ordinary answer comes to.
 */

import type { Socket } from "node:net";
import { InterimFilter, ResponseHead } from "./response-head.ts";

/**
 * Most bytes of an answer beside its body. With 64 KiB of body and a read beyond, that is less than
 * 128 KiB. Heads of real endpoints are below 16 KiB: no parser of Node's takes more.
 */
export const OTHER_MAX_BYTES = 24_576;
/** A read takes as long as parsing so many bytes. */
const READ_BYTES = 128;
/** So does a header, a trailer or a chunk, on top of its bytes. */
const LINE_BYTES = 32;
const LINES_FROM_BYTES = 1_024;
const PIECE_BYTES = 4_096;
const LINE_FEED = 0x0a;

class ResponseTooLargeError extends Error {
  override readonly name = "ResponseTooLargeError";
  readonly code = "RESPONSE_TOO_LARGE";
}

/** The bytes that may still come on a connection. */
export class ResponseBounds {
  readonly interim = new InterimFilter();
  readonly head = new ResponseHead();
  isAwaited = false;
  bytesLeft = OTHER_MAX_BYTES;
  /** The bytes that had come below TLS about when the request began; null: to be looked at. */
  wireFrom: number | null = null;

  /** The connection, when it stands. */
  socket: Socket | null = null;

  /** Before each request. */
  begin(): void {
    this.isAwaited = true;
    if (this.socket !== null) renewHeaders(this.socket);
    this.interim.reset();
    this.head.forget();
    this.bytesLeft = OTHER_MAX_BYTES;
    this.wireFrom = null;
  }

  /** So many of the bytes read last turn out to be body. */
  wasBody(bytes: number): void {
    this.bytesLeft += bytes;
  }
}

/** Replaces the socket's `read` and `push`; undici uses nothing else to read. */
export function boundResponse(socket: Socket, bounds: ResponseBounds): void {
  bounds.socket = socket;
  const read: () => Buffer | null = socket.read.bind(socket);
  const push: (chunk: unknown) => boolean = socket.push.bind(socket);
  let rest: Buffer | null = null;
  /** With the parser, or parsed. */
  let piece: Buffer | null = null;
  let leftBeforePiece = 0;
  const isOver = (): boolean => {
    if (bounds.bytesLeft < 0 && !socket.destroyed) {
      socket.destroy(new ResponseTooLargeError("the answer is longer than may be read"));
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

/** undici's, of the first socket that has one. */
let symbol: symbol | undefined;

/**
 * undici keeps an array for the headers of the next response with each connection. A connection that
 * is used once a second has it in the old generation by then. Left there after the response, it keeps
 * the headers, and the bytes that they were read from, alive until the whole heap is collected
 * (docs/decisions/0043-a-thousand-members.md). So each request starts with a new one. Does nothing
 * where undici keeps none.
 */
export function renewHeaders(socket: Socket): void {
  symbol ??= Object.getOwnPropertySymbols(socket).find(
    ({ description }) => description === "parser",
  );
  if (symbol === undefined) return;
  const parser = (socket as Socket & Record<symbol, Parser | null | undefined>)[symbol];
  if (Array.isArray(parser?.headers) && parser.headers.length === 0) parser.headers = [];
}

/** A response is less than half of that, however small its TLS records are cut by honest servers. */
export const WIRE_MAX_BYTES = 262_144;
const LOOK_EVERY_MS = 50;

const watchedSockets = new Map<Socket, ResponseBounds>();
let timer: NodeJS.Timeout | null = null;

/**
 * Bounds the bytes that come on a TLS connection for one response, until the socket is closed.
 * OpenSSL handles messages of TLS itself (KeyUpdate, session tickets, new handshakes), and no reader
 * sees them. So the bytes below TLS are counted, now and then.
 *
 *   since the request or the connection started     connection
 *   at most WIRE_MAX_BYTES have come                 stays
 *   more                                             destroyed, with `ResponseTooLargeError`
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
    socket.destroy(new ResponseTooLargeError("more bytes have come than an answer may have"));
  }
  if (watchedSockets.size > 0 || timer === null) return;
  clearInterval(timer);
  timer = null;
}

/** Node counts them, and shows them only inside; a test finds it when that changes. */
export function wireBytes(socket: Socket): number | null {
  const { _handle: handle } = socket as Socket & { readonly _handle?: TlsHandle | null };
  const bytes = handle?._parent?.bytesRead;
  return typeof bytes === "number" ? bytes : null;
}

interface TlsHandle {
  readonly _parent?: { readonly bytesRead?: unknown };
}
