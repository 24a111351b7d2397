/** Answers of the server, before they are sent. */

import type { PageFile } from "./ports.ts";

export interface Answer {
  readonly status: number;
  readonly type: string;
  readonly body: string | Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
}

/** @param acceptEncoding the header of the request */
export function file(
  { type, bytes, gzip }: PageFile,
  kept: string,
  acceptEncoding: string | readonly string[] | undefined,
): Answer {
  const headers = { "cache-control": kept, vary: "accept-encoding" };
  if (!/\bgzip\b/.test(`${acceptEncoding}`)) {
    return { status: 200, type, body: bytes, headers };
  }
  return { status: 200, type, body: gzip, headers: { ...headers, "content-encoding": "gzip" } };
}

export function json(status: number, value: object): Answer {
  return { status, type: "application/json; charset=utf-8", body: JSON.stringify(value) };
}

export function text(status: number, body: string, headers = {}): Answer {
  return { status, type: "text/plain; charset=utf-8", body: `${body}\n`, headers };
}

export function empty(headers: Readonly<Record<string, string>> = {}): Answer {
  return { status: 204, type: "", body: "", headers };
}
