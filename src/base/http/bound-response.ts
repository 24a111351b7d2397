/**
 * The stream between undici and a socket. It limits the number of bytes that are read for one response. Whatever an
 * endpoint sends, reading the response therefore takes at most a fixed number of bytes and a limited time.
 *
 *   bytes received for one request                             count against the limit
 *   body                                                       none: its reader has a separate limit
 *   everything else: interim responses, head, chunk sizes and
 *   extensions, trailers, blank lines                          each byte
 *   each read                                                  READ_BYTES in addition
 *   a line outside the body, if there are many such bytes      LINE_BYTES in addition
 *
 * If the limit is exceeded, the stream is destroyed with `ResponseTooLargeError`. The limit also bounds the time,
 * because most of the time is spent on reads and lines. The parser can be stopped only between two buffers, so it gets
 * small buffers. Lines are counted only if more than LINES_FROM_BYTES of a buffer are not part of the body, which does
 * not happen with ordinary responses.
 */

import type { Socket } from "node:net";
import { Duplex } from "node:stream";

import { InterimFilter, ResponseHead } from "./response-head.ts";
import type { Tunnel } from "./tunnel.ts";

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

/**
 * When a response ends, undici makes an array for the headers of the next one. After a pause, the array is in the old
 * generation. It would keep the headers, and the bytes from which they were read, in memory until the whole heap is
 * collected. If undici gets this interim response first, it makes another
 * (docs/decisions/0007-garbage-collection.md#an-empty-array-that-waits).
 */
const INTERIM = Buffer.from("HTTP/1.1 102 \r\n\r\n");
const PAUSE_MS = 100;

class ResponseTooLargeError extends Error {
  override readonly name = "ResponseTooLargeError";
  readonly code = "RESPONSE_TOO_LARGE";
}

type Done = (error?: Error | null) => void;

export class BoundedStream extends Duplex {
  readonly head = new ResponseHead();
  readonly #interim = new InterimFilter();
  readonly tcp: Socket;
  /** Null if the connection does not use a proxy. */
  readonly tunnel: Tunnel | null;
  /** The TCP socket, or the TLS socket that uses it. */
  #socket: Socket;
  /** Gets the bytes until the tunnel is open; null after that. Set by `openTunnel`. */
  #reader: ((bytes: Buffer) => void) | null = null;
  #isAwaited = false;
  #bytesLeft = OTHER_MAX_BYTES;
  /** The bytes that the TCP socket had received at about the start of the request; null until they are counted. */
  #wireFrom: number | null = null;
  /** Bytes that were read, and that undici gets later. */
  #rest: Buffer | null = null;
  /** The piece that undici is parsing. */
  #piece: Buffer | null = null;
  #leftBeforePiece = 0;
  /** When undici made its array of headers, at the earliest. */
  #headersAtMs = performance.now();
  #isParsed = true;
  #isPaused = false;

  constructor(tcp: Socket, tunnel: Tunnel | null = null) {
    super({ allowHalfOpen: false, readableHighWaterMark: 0 });
    this.tcp = tcp;
    this.tunnel = tunnel;
    this.#socket = this.#use(tcp);
  }

  /**
   * @param tls uses the socket. From now on, the stream reads and writes through TLS.
   * @param then called when the certificate was accepted.
   */
  secure(tls: Socket, then: () => void): void {
    this.#socket = this.#use(tls);
    tls.once("secureConnect", () => {
      // A certificate that is rejected destroys the socket.
      if (!tls.destroyed) then();
    });
    tls.on("data", (bytes) => this.receive(bytes) || tls.pause());
    boundWireBytes(this);
  }

  /** Asks the proxy for the tunnel. Calls `then` with the socket that reaches the endpoint. */
  openTunnel(tunnel: Tunnel, then: (socket: Socket) => void): void {
    this.#reader = (bytes) => {
      const taken = tunnel.take(bytes);
      if (taken === null) return;
      this.#reader = null;
      if (taken === "open") then(this.#socket);
      else this.destroy(taken);
    };
    this.#socket.write(tunnel.request());
  }

  #use(socket: Socket): Socket {
    socket.on("error", (error) => this.destroy(error));
    socket.on("close", () => this.destroy());
    socket.on("end", () => this.push(null));
    return socket;
  }

  /** Call before each request. */
  begin(): void {
    this.#isAwaited = true;
    this.#interim.reset();
    this.head.forget();
    this.#bytesLeft = OTHER_MAX_BYTES;
    this.#piece = null;
    this.#wireFrom = null;
  }

  /** Call when this many of the bytes that were read last are part of the body. */
  wasBody(bytes: number): void {
    this.#bytesLeft += bytes;
  }

  /** Call with the bytes of each read. Returns false if the socket must not read more until it is resumed. */
  receive(bytes: Buffer): boolean {
    if (this.#reader !== null) {
      this.#reader(bytes);
      return true;
    }
    this.#bytesLeft -= READ_BYTES;
    this.#isPaused = this.#rest !== null;
    this.#rest = this.#rest === null ? bytes : Buffer.concat([this.#rest, bytes]);
    this.#passOn();
    return !this.#isPaused;
  }

  #passOn(): void {
    while (this.#isParsed && !this.#isOver() && this.#rest !== null) {
      const piece: Buffer = this.#rest.subarray(0, PIECE_BYTES);
      this.#rest = this.#rest.length > PIECE_BYTES ? this.#rest.subarray(PIECE_BYTES) : null;
      this.#piece = piece;
      this.#leftBeforePiece = this.#bytesLeft;
      this.#bytesLeft -= piece.length;
      const passed = this.#isAwaited ? this.#wholeHead(piece) : piece;
      if (passed === null) continue;
      this.#isParsed = false;
      this.push(passed);
    }
  }

  #isOver(): boolean {
    if (this.#piece !== null && this.#leftBeforePiece - this.#bytesLeft > LINES_FROM_BYTES) {
      this.#bytesLeft -= LINE_BYTES * (this.#piece.toString("latin1").split("\n").length - 1);
    }
    this.#piece = null;
    if (this.#bytesLeft < 0) {
      this.destroy(new ResponseTooLargeError("the response exceeds the size limit"));
    }
    return this.destroyed;
  }

  #wholeHead(piece: Buffer): Buffer | null {
    const final = this.#interim.take(piece);
    const whole = final === null ? null : this.head.take(final);
    if (whole === null) return null;
    this.#isAwaited = false;
    const nowMs = performance.now();
    if (nowMs - this.#headersAtMs > PAUSE_MS) this.push(INTERIM);
    this.#headersAtMs = nowMs;
    return whole;
  }

  /** undici has parsed the last piece: with this high-water mark, the stream asks for more only when it is empty. */
  override _read(): void {
    this.#isParsed = true;
    this.#passOn();
    if (!this.#isPaused || this.#rest !== null) return;
    this.#isPaused = false;
    this.#socket.resume();
  }

  override _write(bytes: Buffer, _encoding: BufferEncoding, done: Done): void {
    this.#socket.write(bytes);
    // If the operating system has rejected the write, the socket already has the error.
    if (this.#socket.writableNeedDrain) this.#socket.once("drain", done);
    else done(this.#socket.errored);
  }

  /** The head and the body of a request leave in one packet. */
  override _writev(chunks: readonly { readonly chunk: Buffer }[], done: Done): void {
    this._write(Buffer.concat(chunks.map(({ chunk }) => chunk)), "binary", done);
  }

  override _destroy(error: Error | null, done: Done): void {
    this.#rest = null;
    this.#socket.destroy();
    done(error);
  }

  /** undici calls `ref` and `unref` if a stream has them. */
  ref(): void {
    this.tcp.ref();
  }

  unref(): void {
    this.tcp.unref();
  }

  checkWireBytes(): void {
    const bytes = this.tcp.bytesRead;
    this.#wireFrom ??= bytes;
    if (bytes - this.#wireFrom <= WIRE_MAX_BYTES) return;
    const message = "the bytes received for one response exceed the limit";
    this.destroy(new ResponseTooLargeError(message));
  }
}

/** Responses of honest servers stay below half of this, even with small TLS records. */
export const WIRE_MAX_BYTES = 262_144;
const LOOK_EVERY_MS = 50;

const watched = new Set<BoundedStream>();
let timer: NodeJS.Timeout | null = null;

/**
 * Limits how many bytes a TLS connection may receive for one response. The limit applies until the stream is closed.
 * OpenSSL itself handles TLS messages such as KeyUpdate, session tickets and new handshakes, which the socket's reader
 * does not get, so the number of bytes below TLS is checked periodically.
 *
 *   since the request or the connection started     connection
 *   at most WIRE_MAX_BYTES were received             stays open
 *   more were received                               is destroyed, with `ResponseTooLargeError`
 */
function boundWireBytes(stream: BoundedStream): void {
  watched.add(stream);
  stream.once("close", () => watched.delete(stream));
  timer ??= setInterval(checkWireBytes, LOOK_EVERY_MS).unref();
}

function checkWireBytes(): void {
  for (const stream of watched) stream.checkWireBytes();
  if (watched.size > 0 || timer === null) return;
  clearInterval(timer);
  timer = null;
}
