/**
 * Records what happened to every call on its way to every destination, according to the endpoints and the topics, and
 * checks the laws that must hold regardless of the faults.
 */

import type { DeadLetterReason } from "../../../src/domain/dead-letter.ts";
import { DELIVERY_HEADER } from "../../../src/domain/delivery.ts";
import type { EndpointKey } from "../../../src/domain/ids.ts";
import type { RetryPolicy } from "../../../src/router/deliver/choose-retry-delay.ts";
import type { Deliver } from "../../../src/router/deliver/decide.ts";

/** A request that an endpoint has received. */
export interface Request {
  readonly endpoint: EndpointKey;
  /** The number of the attempt from the request, counted from 1. */
  readonly attempt: number;
  readonly atMs: number;
  readonly endAtMs: number;
  /** Null if the endpoint sent no response. */
  readonly status: number | null;
  /** The same number for all calls of one request; absent if it is unknown. */
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
  /** The requests, in the order of time. */
  readonly requests: Request[];
  readonly deadLetters: DeadLettered[];
  /** When records of the delivery were written to any topic. */
  readonly writtenAtMs: number[];
  /** When the retry window started, according to records in delay topics. Writing these records may have taken long. */
  readonly beganAtMs: number[];
}

export interface Recipient {
  readonly id: string;
  readonly deliver: Deliver;
  readonly endpoints: readonly EndpointKey[];
}

/** A period whose work may be repeated, because it may not have been committed. */
export interface Exposure {
  readonly fromMs: number;
  readonly toMs: number;
}

/**
 * Finds retry windows that started while the proxy in front of all endpoints was down, although a request that is not
 * sent is no attempt.
 */
export function begunWithoutProxy(
  { beganAtMs }: Pick<Entry, "beganAtMs">,
  outages: readonly Exposure[],
): string[] {
  return outages.flatMap(({ fromMs, toMs }) =>
    beganAtMs
      .filter((atMs) => atMs >= fromMs && atMs < toMs)
      .map((atMs) => `its retry window began ${toMs - atMs} ms before the proxy was back`),
  );
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

/** When enough endpoints had accepted the delivery; infinite if they have not. */
export function acceptedMs(
  requests: readonly Request[],
  { deliver, endpoints }: Recipient,
): number {
  const firstMs = (some: readonly Request[]) =>
    Math.min(...some.filter(isAccepted).map(({ endAtMs }) => endAtMs));
  if (deliver === "any") return firstMs(requests);
  const ofEndpoint = (key: EndpointKey) => requests.filter(({ endpoint }) => endpoint === key);
  return Math.max(...endpoints.map((key) => firstMs(ofEndpoint(key))));
}

/** True if the delivery is complete: accepted or dead-lettered, with `every` for each endpoint. */
export function isSettled(entry: Entry, recipient: Recipient): boolean {
  const { requests, deadLetters } = entry;
  if (recipient.deliver === "any") return deadLetters.length > 0 || requests.some(isAccepted);
  return recipient.endpoints.every(
    (key) =>
      // A record without an endpoint is for all endpoints that were never requested.
      deadLetters.some(({ endpoint }) => endpoint === null || endpoint === key) ||
      requests.some((request) => request.endpoint === key && isAccepted(request)),
  );
}

/** Sentences about broken laws; empty if all laws hold. */
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

/** Finds attempts that follow the previous attempt too early, before the retry delay has passed. */
export function early(entry: Entry, recipient: Recipient, policy: RetryPolicy): string[] {
  return entry.requests.flatMap(({ attempt, endpoint, atMs }) => {
    if (attempt === 1) return [];
    const before = entry.requests.filter(
      (request) =>
        request.attempt === attempt - 1 &&
        (recipient.deliver !== "every" || request.endpoint === endpoint),
    );
    const last = policy.retryDelaysMs.length - 1;
    const delayMs = policy.retryDelaysMs[Math.min(attempt - 2, last)] ?? 0;
    if (before.some((request) => request.atMs + delayMs <= atMs)) return [];
    return [`attempt ${attempt} came less than ${delayMs} ms after attempt ${attempt - 1}`];
  });
}

/**
 * When the retry window of a delivery started, according to its record in a delay topic. There is none if the delivery
 * was rerouted without an attempt or a scheduled retry.
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
 * When the retry window started: at the first attempt, or when the first retry was scheduled. If a delivery continues
 * twice, each half has its own start, and it is unknown which first attempt belongs to which half, so the latest one
 * counts.
 */
export function windowBeganMs(entry: Entry, mayBeTwo: boolean): number {
  const firstMs = entry.requests.filter(({ attempt }) => attempt === 1).map(({ atMs }) => atMs);
  return mayBeTwo ? Math.max(...firstMs) : Math.min(...firstMs, ...entry.beganAtMs);
}

/** Finds attempts after the retry window. */
function late(entry: Entry, { retryWindowMs }: RetryPolicy, mayBeTwo: boolean): string[] {
  const endMs = windowBeganMs(entry, mayBeTwo) + retryWindowMs;
  return entry.requests
    .filter(({ atMs }) => atMs > endMs)
    .map(({ attempt, atMs }) => `attempt ${attempt} came ${atMs - endMs} ms after the window`);
}

/**
 * Finds deliveries that expired too early. A delivery may expire only if the longest delay would end after the retry
 * window. The window starts when the first retry is scheduled, if that is before the first attempt.
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
    const requests = (key: EndpointKey) => entry.requests.filter((each) => each.endpoint === key);
    const hasRejected = (key: EndpointKey) => requests(key).some(({ status }) => status === 400);
    const isWhole = endpoint === null && recipient.deliver === "every-ordered";
    const isDone = (key: EndpointKey) =>
      hasRejected(key) || (isWhole && requests(key).some(isAccepted));
    const isCorrect = keys.every(isDone) && keys.some(hasRejected);
    return isCorrect ? [] : ["it is called rejected and was not"];
  });
}

/** True if something was done for the delivery at a time for which a crash could undo it. */
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
