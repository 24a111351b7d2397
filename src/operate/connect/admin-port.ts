/** Requests to a process's admin port. */

import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";

import { withoutBrackets } from "../../domain/addresses.ts";
import type { MeasuredStatus } from "../../domain/process-status.ts";
import { hearingLimit } from "../../runtime/hearing-limit.ts";
import { readStatus } from "./read-status.ts";

const ANSWER_LIMIT_MS = 3_000;

export interface Reading {
  /** The time on a monotonic clock. */
  readonly atMs: number;
  readonly status: MeasuredStatus;
}

/** @throws Error that `reasonOf` can describe. `ask` also throws such errors. */
export async function readProcess(address: string, signal: AbortSignal): Promise<Reading> {
  const { status, body } = await ask(address, "/status?metrics", signal);
  if (status !== 200) throw new Error(`it responded ${status}`);
  const found = readStatus(body);
  if (found === null) throw new Error("its response is not a status");
  return { atMs: performance.now(), status: found };
}

export async function ask(
  address: string,
  path: string,
  signal: AbortSignal,
): Promise<{ readonly status: number | undefined; readonly body: string }> {
  using late = hearingLimit(ANSWER_LIMIT_MS);
  const limit = AbortSignal.any([signal, late.signal]);
  // `fetch` blocks some ports, but an admin port can be any port.
  const colon = address.lastIndexOf(":");
  // A URL cannot contain the zone of an IPv6 address.
  const host = withoutBrackets(address.slice(0, colon));
  const port = address.slice(colon + 1);
  const request = get({ host, port, path, signal: limit, agent: false });
  const [response] = (await once(request, "response", { signal: limit })) as [IncomingMessage];
  return { status: response.statusCode, body: await text(response) };
}

export function reasonOf(error: Error): string {
  const { cause, code } = error as { readonly cause?: unknown; readonly code?: unknown };
  const isLate = [error, cause].some((e) => e instanceof Error && e.name === "TimeoutError");
  if (isLate) return `no response within ${ANSWER_LIMIT_MS / 1_000} s`;
  return typeof code === "string" ? code : error.message;
}
