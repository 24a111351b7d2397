/**
 * Bounds the bytes that come on a TLS connection for one answer. OpenSSL works messages of TLS
 * itself off (KeyUpdate, session tickets, new handshakes), and no reader hears of them. So the bytes
 * below TLS are looked at, now and then.
 *
 *   since the request began, or since the connection did     connection
 *   at most WIRE_MAX_BYTES have come                          left alone
 *   more                                                      destroyed, with `AnswerTooLongError`
 */

import type { Socket } from "node:net";

import { type Answer, AnswerTooLongError } from "./bound-response.ts";

/** An answer is less than half of that, however small its TLS records are cut by honest servers. */
export const WIRE_MAX_BYTES = 262_144;
const LOOK_EVERY_MS = 50;

const watched = new Map<Socket, Answer>();
let timer: NodeJS.Timeout | null = null;

/** Until the socket is closed. */
export function watchWire(socket: Socket, answer: Answer): void {
  watched.set(socket, answer);
  socket.once("close", () => watched.delete(socket));
  timer ??= setInterval(look, LOOK_EVERY_MS).unref();
}

function look(): void {
  for (const [socket, answer] of watched) {
    const bytes = wireBytes(socket);
    if (bytes === null) continue;
    answer.wireFrom ??= bytes;
    if (bytes - answer.wireFrom <= WIRE_MAX_BYTES) continue;
    socket.destroy(new AnswerTooLongError("more bytes have come than an answer may have"));
  }
  if (watched.size > 0 || timer === null) return;
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
