/**
 * Decides the response of an endpoint to each attempt at a call. The seed decides, so that a repeated request gets the
 * same response as the first one.
 *
 *   fate of a call at a scripted endpoint   share
 *   accepted immediately                    70 %
 *   accepted after one to three failures    18 %
 *   rejected, with or without a failure      8 %
 *   never accepted                           4 %
 */

import type { Batch } from "../../src/router/destinations/webhook/settings.ts";
import { createPrng, type Prng } from "../support/clock/prng.ts";

export type ScriptedResponse =
  | {
      readonly kind: "status";
      readonly status: number;
      readonly retryAfterSeconds: number | null;
      readonly afterMs: number;
    }
  /** No response before the deadline. */
  | { readonly kind: "hang" }
  | { readonly kind: "reset" };

const REJECTED = 400;

type FinalState =
  | { readonly kind: "accepted"; readonly failures: number }
  | { readonly kind: "rejected"; readonly failures: number };

/** The response to a request with one or several calls. */
export interface Reply {
  readonly scripted: ScriptedResponse;
  /** The status of each call, in the body of the response; null if the response's status applies to all calls. */
  readonly each: readonly number[] | null;
  /** True if the calls are sent again immediately, in halves, so that nothing is decided for any of them. */
  readonly isSplit: boolean;
}

/**
 * The response to a request whose calls would get these responses separately; at least one. If the first of these is a
 * reset or a hang, it applies to the whole request; otherwise, each failure has its status.
 *
 * @param responses the setting of the destination's `batch`; null if it has no batches.
 */
export function replyTo(
  planned: readonly ScriptedResponse[],
  responses: Batch["responses"] | null,
): Reply {
  const [first] = planned;
  if (first === undefined) throw new Error("a request has no calls");
  if (responses === null || first.kind !== "status") {
    return { scripted: first, each: null, isSplit: false };
  }
  const statuses = planned.map((each) => (each.kind === "status" ? each : status(503, 0)));
  const codes = statuses.map((each) => each.status);
  const waitSeconds = Math.max(...statuses.map(({ retryAfterSeconds }) => retryAfterSeconds ?? 0));
  const afterMs = Math.max(...statuses.map((each) => each.afterMs));
  const responded = (code: number) => status(code, afterMs, waitSeconds || null);
  if (responses === "each") return { scripted: responded(200), each: codes, isSplit: false };
  const rejected = codes.find((code) => code === REJECTED);
  const failed = codes.find((code) => code >= 300);
  const isSplit = rejected !== undefined && planned.length > 1;
  return { scripted: responded(rejected ?? failed ?? 200), each: null, isSplit };
}

/** The response of an endpoint that fails all requests at the moment. */
export function sickResponse(random: Prng): ScriptedResponse {
  return random.chance(0.2) ? { kind: "hang" } : status(random.pick([500, 502, 503]), 5);
}

export function healthyResponse(random: Prng): ScriptedResponse {
  return status(random.pick([200, 202, 204]), random.integer(0, 150));
}

/** @param attempt counted from 1. */
export function secondTryResponse(random: Prng, attempt: number): ScriptedResponse {
  return attempt === 1 ? status(503, random.integer(0, 50)) : healthyResponse(random);
}

/**
 * One call in 25 is always rejected, and for another one in 25, the first attempt fails.
 * @param attempt counted from 1.
 */
export function poisonResponse(
  seed: number,
  endpoint: string,
  messageId: string,
  attempt: number,
): ScriptedResponse {
  const random = createPrng(hash(`${seed} ${endpoint} ${messageId}`));
  const share = random.fraction();
  if (share < 0.04) return status(REJECTED, random.integer(0, 50));
  return share < 0.08 ? secondTryResponse(random, attempt) : healthyResponse(random);
}

/**
 * One call in 50 is rejected, one in 16 fails once or twice, and one in 500 is never accepted: users with a strict order
 * must not get more calls than they can be sent.
 *
 * @param attempt counted from 1.
 */
export function moodyResponse(
  seed: number,
  endpoint: string,
  messageId: string,
  attempt: number,
): ScriptedResponse {
  const random = createPrng(hash(`${seed} ${endpoint} ${messageId}`));
  const share = random.fraction();
  const failures = share < 0.0225 ? Number.POSITIVE_INFINITY : random.integer(1, 2);
  if (share < 0.02) return status(REJECTED, random.integer(0, 50));
  return share < 0.0825 && attempt <= failures ? failure(random) : healthyResponse(random);
}

/** @param attempt counted from 1. */
export function scriptedResponse(
  seed: number,
  endpoint: string,
  messageId: string,
  attempt: number,
): ScriptedResponse {
  const finalState = finalStateOf(createPrng(hash(`${seed} ${endpoint} ${messageId}`)));
  const random = createPrng(hash(`${seed} ${endpoint} ${messageId} ${attempt}`));
  if (attempt <= finalState.failures) return failure(random);
  return finalState.kind === "accepted"
    ? healthyResponse(random)
    : status(REJECTED, random.integer(0, 50));
}

function finalStateOf(random: Prng): FinalState {
  const share = random.fraction();
  if (share < 0.7) return { kind: "accepted", failures: 0 };
  if (share < 0.88) return { kind: "accepted", failures: random.integer(1, 3) };
  if (share < 0.96) return { kind: "rejected", failures: random.integer(0, 1) };
  return { kind: "accepted", failures: Number.POSITIVE_INFINITY };
}

/**
 * `Retry-After` is rare, because it puts all deliveries of the endpoint on hold, in all processes. A destination with
 * 64 concurrent requests continues within about 20 ms after such a hold. Nevertheless, if 1.2 % of the responses have a
 * `Retry-After` of 1 to 3 s, no more than about 60 requests per second are possible, which is the rate of the rounds.
 */
function failure(random: Prng): ScriptedResponse {
  const share = random.fraction();
  if (share < 0.1) return { kind: "hang" };
  if (share < 0.25) return { kind: "reset" };
  const afterMs = random.integer(0, 100);
  if (share < 0.255) return status(429, afterMs, random.integer(1, 3));
  if (share < 0.26) return status(503, afterMs, random.integer(1, 3));
  return status(random.pick([408, 429, 500, 502, 503, 503]), afterMs);
}

function status(
  code: number,
  afterMs: number,
  retryAfterSeconds: number | null = null,
): Extract<ScriptedResponse, { readonly kind: "status" }> {
  return { kind: "status", status: code, retryAfterSeconds, afterMs };
}

/** FNV-1a. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (const character of text) {
    value = Math.imul(value ^ (character.codePointAt(0) ?? 0), 0x01000193);
  }
  return value >>> 0;
}
