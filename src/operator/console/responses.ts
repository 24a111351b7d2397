/** Reads bodies of requests, and prepares responses. */

import type { IncomingMessage } from "node:http";

import type { PageFile } from "./ports.ts";

/**
 * Headers of every response. They forbid content from other origins, scripts other than the console's own, and
 * framing.
 */
export const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  "content-security-policy": [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join("; "),
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": "camera=(), geolocation=(), microphone=()",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
};

/** An asset can be cached indefinitely, because its name contains a hash of its content. */
export const KEPT = "public, max-age=31536000, immutable";
export const NOT_KEPT = "no-store";

export interface HttpResponse {
  readonly status: number;
  readonly type: string;
  readonly body: string | Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
}

/** @param acceptEncoding the value of the request's `Accept-Encoding` header. */
export function file(
  { type, bytes, gzip }: PageFile,
  kept: string,
  acceptEncoding: string | readonly string[] | undefined,
): HttpResponse {
  const headers = { "cache-control": kept, vary: "accept-encoding" };
  if (!/\bgzip\b/.test(`${acceptEncoding}`)) {
    return { status: 200, type, body: bytes, headers };
  }
  return { status: 200, type, body: gzip, headers: { ...headers, "content-encoding": "gzip" } };
}

export function json(status: number, value: object): HttpResponse {
  return { status, type: "application/json; charset=utf-8", body: JSON.stringify(value) };
}

export function text(status: number, body: string, headers = {}): HttpResponse {
  return { status, type: "text/plain; charset=utf-8", body: `${body}\n`, headers };
}

export function empty(headers: Readonly<Record<string, string>> = {}): HttpResponse {
  return { status: 204, type: "", body: "", headers };
}

/** Resolves with null if the body is larger than allowed. The rest of the body is then not read. */
export async function readBody(request: IncomingMessage, maxBytes: number): Promise<Buffer | null> {
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of request) {
    size += (piece as Buffer).length;
    if (size > maxBytes) return null;
    pieces.push(piece as Buffer);
  }
  return Buffer.concat(pieces);
}
