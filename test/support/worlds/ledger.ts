/**
 * Records what happened to every call on its way to every destination, as seen by the endpoints and the topics,
 * and checks the laws that must hold whatever went wrong in between.
 */

import type { RetryPolicy } from "../../../src/deliver/choose-retry-delay.ts";
import type { DeadLetterReason } from "../../../src/domain/dead-letter.ts";
import { DELIVERY_HEADER } from "../../../src/domain/delivery.ts";
import type { EndpointKey } from "../../../src/domain/ids.ts";

/** A request that an endpoint has received. */
export interface Request {
  readonly endpoint: EndpointKey;
  /** Counted from 1, as the request says. */
  readonly attempt: number;
  readonly atMs: number;
  readonly endAtMs: number;
  /** Null: the endpoint gave no answer. */
  readonly status: number | null;
  /** The same number for all calls of one request; absent if it is not known. */
  readonly unit?: number;
}

export interface DeadLettered {
  readonly endpoint: EndpointKey | null;
  readonly reason: DeadLetterReason;
  readonly atMs: number;
}

/** One call for one destination. */
export interface Entry {
  readonly messageId: string;
  readonly destination: string;
  /** In the order of time. */
  readonly requests: Request[];
  readonly deadLetters: DeadLettered[];
  /** When its records were written to any topic. */
  readonly writtenAtMs: number[];
  /** When its window began, as records in delay topics say: writing them may have taken long. */
  readonly beganAtMs: number[];
}

export interface Recipient {
  readonly id: string;
  readonly deliver: "any" | "every";
  readonly endpoints: readonly EndpointKey[];
}

/** A time in which repeats may arise: what was done then may not have been committed. */
export interface Exposure {
  readonly fromMs: number;
  readonly toMs: number;
}

export class Ledger {
  readonly #entries = new Map<string, Entry>();

  entry(messageId: string, destination: string): Entry {
    const key = `${messageId} ${destination}`;
    let entry = this.#entries.get(key);
    if (entry === undefined) {
      const none = { requests: [], deadLetters: [], writtenAtMs: [], beganAtMs: [] };
      entry = { messageId, destination, ...none };
      this.#entries.set(key, entry);
    }
    return entry;
  }

  entries(): Iterable<Entry> {
    return this.#entries.values();
  }
}

export function isAccepted({ status }: Request): boolean {
  return status !== null && status >= 200 && status < 300;
}

/** True if the delivery is complete: accepted or dead-lettered, with `every` for each endpoint. */
export function isSettled(entry: Entry, recipient: Recipient): boolean {
  const { requests, deadLetters } = entry;
  if (recipient.deliver === "any") return deadLetters.length > 0 || requests.some(isAccepted);
  return recipient.endpoints.every(
    (key) =>
      // Without an endpoint it is for all that were never requested.
      deadLetters.some(({ endpoint }) => endpoint === null || endpoint === key) ||
      requests.some((request) => request.endpoint === key && isAccepted(request)),
  );
}

/** Sentences about broken laws; none when all hold. */
export function violations(
  entry: Entry,
  recipient: Recipient,
  policy: RetryPolicy,
  exposures: readonly Exposure[],
): string[] {
  const mayBeTwo = isExposed(entry, exposures);
  const found = [
    ...(isSettled(entry, recipient) ? [] : ["it is lost"]),
    ...early(entry, recipient, policy),
    ...late(entry, policy, mayBeTwo),
    ...deadLetteredEarly(entry, policy),
    ...deadLetteredWithoutReason(entry, recipient),
  ];
  if (!mayBeTwo) found.push(...repeats(entry, recipient));
  return found.map((what) => `${entry.messageId} for ${entry.destination}: ${what}`);
}

/** An attempt comes after the one before it and at least the delay of its tier. */
export function early(entry: Entry, recipient: Recipient, policy: RetryPolicy): string[] {
  return entry.requests.flatMap(({ attempt, endpoint, atMs }) => {
    if (attempt === 1) return [];
    const before = entry.requests.filter(
      (request) =>
        request.attempt === attempt - 1 &&
        (recipient.deliver === "any" || request.endpoint === endpoint),
    );
    const last = policy.retryDelaysMs.length - 1;
    const delayMs = policy.retryDelaysMs[Math.min(attempt - 2, last)] ?? 0;
    if (before.some((request) => request.atMs + delayMs <= atMs)) return [];
    return [`attempt ${attempt} came less than ${delayMs} ms after attempt ${attempt - 1}`];
  });
}

/**
 * When the window of a delivery began, as its record on a delay topic says: none for one that was
 * neither attempted nor parked, and goes around a topic that takes nothing.
 */
export function windowBegan(
  texts: Readonly<Record<string, string | null>>,
  writtenAtMs: number,
): readonly number[] {
  const first = texts[DELIVERY_HEADER.firstAttemptAt];
  if (first !== undefined) return [Number(first)];
  return Number(texts[DELIVERY_HEADER.retryCount] ?? 0) > 0 ? [writtenAtMs] : [];
}

/**
 * When its window began: it was first tried or first parked. Of a delivery that goes on twice each
 * half has its own, and nobody knows which first attempt was parked before: the latest one counts.
 */
export function windowBeganMs(entry: Entry, mayBeTwo: boolean): number {
  const firstMs = entry.requests.filter(({ attempt }) => attempt === 1).map(({ atMs }) => atMs);
  return mayBeTwo ? Math.max(...firstMs) : Math.min(...firstMs, ...entry.beganAtMs);
}

/** No attempt is made after the window. */
function late(entry: Entry, { retryWindowMs }: RetryPolicy, mayBeTwo: boolean): string[] {
  const endMs = windowBeganMs(entry, mayBeTwo) + retryWindowMs;
  return entry.requests
    .filter(({ atMs }) => atMs > endMs)
    .map(({ attempt, atMs }) => `attempt ${attempt} came ${atMs - endMs} ms after the window`);
}

/**
 * It expires only when the longest delay would end after the window, which begins when it is parked
 * if that is before a first attempt.
 */
export function deadLetteredEarly(
  entry: Entry,
  { retryDelaysMs, retryWindowMs }: RetryPolicy,
): string[] {
  const saidMs = Math.min(...entry.requests.map(({ atMs }) => atMs), ...entry.beganAtMs);
  const firstMs = Math.max(saidMs, Math.min(...entry.writtenAtMs));
  const fromMs = firstMs + retryWindowMs - Math.max(...retryDelaysMs);
  return entry.deadLetters
    .filter(({ reason, atMs }) => reason === "expired" && atMs < fromMs)
    .map(({ atMs }) => `it expired ${fromMs - atMs} ms early`);
}

export function deadLetteredWithoutReason(entry: Entry, recipient: Recipient): string[] {
  return entry.deadLetters.flatMap(({ reason, endpoint }) => {
    if (reason === "expired") return [];
    if (reason !== "rejected") return [`it became a dead letter as ${reason}`];
    const keys = endpoint === null ? recipient.endpoints : [endpoint];
    const hasRejected = (key: EndpointKey) =>
      entry.requests.some((request) => request.endpoint === key && request.status === 400);
    return keys.every(hasRejected) ? [] : ["it is called rejected and was not"];
  });
}

/** Something was done for it when a crash could make that undone. */
function isExposed(entry: Entry, exposures: readonly Exposure[]): boolean {
  const steps = [...entry.writtenAtMs, ...entry.requests.map(({ atMs }) => atMs)];
  return exposures.some(({ fromMs, toMs }) => steps.some((ms) => ms >= fromMs && ms <= toMs));
}

function repeats(entry: Entry, { deliver }: Recipient): string[] {
  const found: string[] = [];
  const seen = new Set<string>();
  const accepted = new Map<string, number>();
  for (const request of entry.requests) {
    const { endpoint, attempt } = request;
    const key = `attempt ${attempt} at ${endpoint}`;
    if (seen.has(key)) found.push(`${key} was made again`);
    seen.add(key);
    const at = deliver === "any" ? "" : endpoint;
    if (attempt > (accepted.get(at) ?? attempt)) found.push(`${key} came after it was accepted`);
    if (isAccepted(request)) accepted.set(at, attempt);
  }
  const deadLetters = entry.deadLetters.map(({ endpoint }) => endpoint);
  if (new Set(deadLetters).size < deadLetters.length) found.push("it became a dead letter twice");
  return found;
}
