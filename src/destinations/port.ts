/**
 * A type of destination, as the rest of the program sees it. `index.ts` has the table of types.
 *
 *   who asks        for
 *   config          `settings`, `plain`, `warnings` and `whenDisabled`
 *   explain         `preview`: what an attempt would send
 *   deliver         a `Transport`, opened once for the process, and a `Sender` from it for each destination
 *
 *   an attempt      calls of its sender
 *   starts          `prepare` makes what its requests share
 *   is sent         `send`, once for each endpoint
 *   gets a result   `judge`: accepted, to be retried, or rejected
 *
 * A unit of work is a list of deliveries that are sent together. Without `limits` each unit has one delivery. With limits:
 *
 *   a unit           calls of its sender
 *   gets a delivery  `measure`: its bytes, and whether it must be sent alone; `hasRoom` compares them with the limits
 *   starts           `prepare`, with what `measure` returned
 *   gets a result    `judgeUnit`: the outcome of the request and of each call, or that the unit is to be split
 */

import type { Network } from "../domain/addresses.ts";
import type { DeliveredCall } from "../domain/call.ts";
import type { Delivery } from "../domain/delivery.ts";
import type { AttemptedDestination, Destination, Endpoint } from "../domain/destination.ts";
import type { DeleteNotification } from "../domain/parse-delete.ts";
import type { Section } from "../settings/setting.ts";

export interface DestinationType<D extends Destination = Destination> {
  /** Decodes a destination of this type from its map in the file. */
  readonly settings: Section<D>;
  /** The destination with its lists and maps as the file would have them. Parts may be secret. */
  plain(destination: D): object;
  /** Sentences about settings that are valid but most likely a mistake, without the path. */
  warnings(destination: D): readonly string[];
  /** What a disabled destination misses: the rest of the sentence `crm is disabled: …`. */
  readonly whenDisabled: string;
  /** Null if the deliver stage does not send deliveries to this type. */
  readonly attempts: Attempts<D> | null;
}

interface Attempts<D> {
  /** The request that an endpoint would be sent. */
  preview(destination: D, unit: readonly Sendable[], endpoint: Endpoint, nowMs: number): Preview;
  /** Null: each unit has one delivery. */
  limits(destination: D): UnitLimits | null;
  /** The units in which deliveries are sent that arrive together, in this order, and are not retries. */
  units(destination: D, deliveries: readonly Sendable[]): readonly (readonly Sendable[])[];
  /** Loads the code that sends, which a process without the deliver stage does not need. */
  open(options: TransportOptions): Promise<Transport>;
}

export type Header = readonly [name: string, value: string];

export interface Preview {
  readonly method: string;
  /** All but its origin may be secret. */
  readonly url: string;
  /** In the order sent. */
  readonly headers: readonly Header[];
  /** Those of them whose values may be secret. */
  readonly secret: readonly Header[];
  readonly body: Buffer;
}

export type Content = DeliveredCall | DeleteNotification;

/** One delivery, with the content of its record. */
export interface Sendable {
  readonly delivery: Delivery;
  readonly content: Content;
  /** Its JSON, as the record has it. */
  readonly text: string;
}

/** How many deliveries may share a unit. */
export interface UnitLimits {
  /** At least 2. */
  readonly calls: number;
  /** Maximum sum of what `measure` returns. */
  readonly bytes: number;
  /** A unit that is not full starts this long after its first delivery arrived. */
  readonly waitMs: number;
}

/** A delivery that may share a unit. It no longer needs its content. */
export interface Measured {
  readonly delivery: Delivery;
  readonly bytes: number;
  /** It does not share a unit. */
  readonly isAlone: boolean;
}

export function hasRoom(limits: UnitLimits, unit: UnitSize, next: Measured): boolean {
  if (next.isAlone) return unit.calls === 0;
  return unit.calls < limits.calls && unit.bytes + next.bytes <= limits.bytes;
}

export interface UnitSize {
  readonly calls: number;
  readonly bytes: number;
}

/** A unit as receivers and attempt records name it. */
export interface UnitName {
  readonly id: string;
  readonly calls: number;
}

export interface TransportOptions {
  /** At most 5 s. */
  readonly timeoutMs: number;
  /** Networks that may be requested although they are private. */
  readonly allowNetworks: readonly Network[];
  /** PEM text of a private CA, added to the public roots; null: none. */
  readonly ca: string | null;
}

export interface Transport {
  /** What sends the deliveries of one destination. The caller closes it. */
  open(destination: AttemptedDestination): Sender;
  /**
   * Trusts another private CA, as PEM text, for what is opened or updated from now on. Returns true if it changed.
   */
  trust(ca: string | null): boolean;
}

/** The sender of one destination. What `prepare` returns is for its `send` alone. */
export interface Sender<Prepared = unknown> {
  /** Null: each unit has one delivery. Changes with `update`. */
  limits(): UnitLimits | null;
  /** Call only if there are limits. */
  measure(sendable: Sendable): Measured;
  /** @param unit in the order in which the calls are sent; measured if there are limits. */
  prepare(unit: readonly Sendable[] | readonly Measured[], nowMs: number): Prepared;
  /** The name of a unit that may have several deliveries; null if there are no limits. */
  nameOf(prepared: Prepared): UnitName | null;
  /**
   * Sends to one of the destination's endpoints immediately. `done` is called once, after `send` has returned, and at the
   * latest at the deadline.
   *
   * @param phases filled in while the request runs; absent if they are not needed.
   * @param traceparent the trace that the request names; absent if none.
   */
  send(
    endpoint: Endpoint,
    prepared: Prepared,
    done: (result: SendResult) => void,
    phases?: Phases,
    traceparent?: string,
  ): void;
  /** @param nowMs when the result came; dates in it are measured from then. */
  judge(result: SendResult, nowMs: number): Outcome;
  /**
   * Call in place of `judge` if there are limits.
   *
   * @param prepared that the request was sent with.
   */
  judgeUnit(result: SendResult, prepared: Prepared, nowMs: number): UnitVerdict;
  /** The name and the attributes of the span of a request. They contain no secrets. */
  span(endpoint: Endpoint): { readonly name: string; readonly attributes: SpanAttributes };
  /**
   * Applies new settings of the same destination. Connections that are no longer needed are closed as soon as they are idle.
   */
  update(destination: AttemptedDestination): void;
  /** Absent: requests can always be sent. */
  readonly readiness?: Readiness;
  /** Drops every connection; requests in flight end as `reset`. */
  close(): Promise<void>;
}

/** What a sender shows of the things that its requests need, such as a token. While one is missing, the destination is on hold. */
export interface Readiness {
  /** Called before each attempt. If false, what is missing is obtained, and `onChange` reports it. */
  isReady(): boolean;
  /** Null: nothing is missing, or nothing has been needed yet. */
  hold(): SenderHold | null;
  /** @param then called when one of them may have changed. */
  onChange(then: () => void): void;
}

export interface SenderHold {
  readonly reason: "token";
  readonly sinceMs: number;
  /** When it is requested again. */
  readonly untilMs: number;
  /** Why the last request for it failed, as a sentence without secrets; null if none has failed. */
  readonly error: string | null;
}

type SpanAttributes = Readonly<Record<string, string | number>>;

export type Outcome =
  | { readonly kind: "accepted" }
  | {
      readonly kind: "retry";
      /** The wait that the endpoint asked for with `Retry-After`; null if it did not. */
      readonly retryAfterMs: number | null;
    }
  | { readonly kind: "rejected" };

/** How the request of a unit is judged. */
export interface UnitVerdict {
  /** The outcome of the request, which circuit breakers and `Retry-After` go by. */
  readonly outcome: Outcome;
  /** One for each call, in the unit's order; null: `outcome` holds for each. */
  readonly calls: readonly CallVerdict[] | null;
  /** The unit must be sent again in two halves, because one of its calls may be the cause. */
  readonly isSplit: boolean;
  /** The response should have judged each call, and could not be read. */
  readonly isUnreadable: boolean;
}

export interface CallVerdict {
  readonly outcome: Outcome;
  readonly status: number;
  /** What the response said of the call; null: nothing. */
  readonly error: string | null;
}

/** A failure without `Retry-After`. */
export const RETRY: Outcome = { kind: "retry", retryAfterMs: null };

/** Causes of a missing response. They are values of a metric label, so the list must stay short. */
export const CAUSES = [
  "dns",
  "refused",
  "unreachable",
  "address",
  "reset",
  "timeout",
  "tls-self-signed",
  "tls-unknown-ca",
  "tls-expired",
  "tls-wrong-host",
  "tls-protocol",
  "tls",
  "protocol",
  "other",
] as const;

export type Cause = (typeof CAUSES)[number];

/** The result of one request. A type without status codes uses the HTTP codes with the same meaning. */
export type SendResult =
  | {
      readonly kind: "response";
      /** 200 to 999; 1xx are skipped. */
      readonly status: number;
      /** The header `Retry-After` as sent, or null. */
      readonly retryAfter: string | null;
      readonly durationMs: number;
      readonly phases?: Phases | undefined;
      /** The complete body, if the request needs it and it is not too large. */
      readonly body?: Buffer | undefined;
    }
  | {
      readonly kind: "no-response";
      readonly cause: Cause;
      readonly durationMs: number;
      /** Those that the request was sent with. */
      readonly phases?: Phases | undefined;
    };

/** All results are made here, so that they have the same shape for V8. Pure. */
export function responded(
  status: number,
  retryAfter: string | null,
  durationMs: number,
  phases: Phases | undefined,
  body?: Buffer,
): SendResult {
  return { kind: "response", status, retryAfter, durationMs, phases, body };
}

/**
 * When a request reached each step, in milliseconds from its start. Steps that were not reached are absent, and so are the
 * first four if the connection existed already.
 */
export interface Phases {
  /** A socket was created, and the lookup of its host started if it is a name. */
  openedMs?: number;
  lookedUpMs?: number;
  connectedMs?: number;
  securedMs?: number;
  /** The request was written. */
  sentMs?: number;
  /** The response headers arrived. */
  headMs?: number;
  /** True if the host is a name rather than an address. */
  isName?: boolean;
  isSecure?: boolean;
  /** Number of bytes of an unsuccessful response to keep; absent: none. */
  readonly keepBytes?: number;
  /** The start of that response. */
  kept?: Buffer[];
}
