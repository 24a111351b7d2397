/**
 * The interface between a type of destination and the rest of the program. `index.ts` contains the table of types.
 *
 *   user            uses
 *   config          `settings`, `plain`, `warnings` and `whenDisabled`
 *   explain         `preview`: what an attempt would send
 *   deliver         a `Transport`, opened once per process, and from that a `Sender` for each destination
 *
 *   an attempt      calls of its sender
 *   starts          `prepare` creates the data that all its requests use
 *   is sent         `send`, once for each endpoint
 *   gets a result   `judge`: accepted, to be retried, or rejected
 *
 * A unit is a list of deliveries that are sent together. Without `limits`, each unit contains one delivery. With
 * limits:
 *
 *   a unit           calls of its sender
 *   gets a delivery  `measure`: the delivery's bytes, and whether it must be sent alone; `hasRoom` checks the limits
 *   starts           `prepare`, with what `measure` returned
 *   gets a result    `judgeUnit`: the outcome of the request and of each call, or that the unit must be split
 */

import type { Section } from "../../base/settings/setting.ts";
import type { Network } from "../../domain/addresses.ts";
import type { DeliveredCall } from "../../domain/call.ts";
import type { Delivery } from "../../domain/delivery.ts";
import type { AttemptedDestination, Destination, Endpoint } from "../../domain/destination.ts";
import type { Egress } from "../../domain/live-settings.ts";
import type { DeleteNotification } from "../../domain/parse-call.ts";

export interface DestinationType<D extends Destination = Destination> {
  /** Decodes a destination of this type from its map in the file. */
  readonly settings: Section<D>;
  /**
   * Returns the destination as lists and maps, in the form in which it would be written in the file. The result may
   * contain secrets.
   */
  plain(destination: D): object;
  /**
   * Returns sentences about settings that are valid, but probably mistakes. The sentences do not contain the paths
   * of the settings.
   */
  warnings(destination: D): readonly string[];
  /**
   * What a destination misses while it is disabled. The text is the end of a sentence that starts with `crm is
   * disabled:`.
   */
  readonly whenDisabled: string;
  /** Null if the deliver stage does not send deliveries to this type. */
  readonly attempts: Attempts<D> | null;
}

interface Attempts<D> {
  /** Returns the request that would be sent to an endpoint. */
  preview(
    destination: D,
    unit: readonly Sendable[],
    endpoint: Endpoint,
    nowMs: number,
    egress: Pick<Egress, "proxy">,
  ): Preview;
  /** Null if each unit contains only one delivery. */
  limits(destination: D): UnitLimits | null;
  /**
   * Returns the units in which these deliveries would be sent if they arrived together, in this order, and were not
   * retries.
   */
  units(destination: D, deliveries: readonly Sendable[]): readonly (readonly Sendable[])[];
  /** Loads the code that sends requests, which only processes with the deliver stage need. */
  open(options: TransportOptions): Promise<Transport>;
}

export type Header = readonly [name: string, value: string];

export interface Preview {
  /** The host and the port of the proxy through which the request would be sent; null if there is none. */
  readonly proxy: string | null;
  readonly method: string;
  /** Everything after the origin may be secret. */
  readonly url: string;
  /** The headers in the order in which they are sent. */
  readonly headers: readonly Header[];
  /** The headers whose values may be secret. */
  readonly secret: readonly Header[];
  readonly body: Buffer;
}

export type Content = DeliveredCall | DeleteNotification;

/** One delivery, with the content of its record. */
export interface Sendable {
  readonly delivery: Delivery;
  readonly content: Content;
  /** The JSON of the content, exactly as it is in the record. */
  readonly text: string;
}

/** Limits how many deliveries may share a unit. */
export interface UnitLimits {
  /** At least 2. */
  readonly calls: number;
  /** Maximum sum of the bytes that `measure` returns. */
  readonly bytes: number;
  /** If a unit is not full, it starts this long after its first delivery arrived. */
  readonly waitMs: number;
}

/** A delivery that may share a unit with others. Once a delivery is measured, its content is no longer needed. */
export interface Measured {
  readonly delivery: Delivery;
  readonly bytes: number;
  /** True if the delivery must not share a unit. */
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

/** The name of a unit, for receivers and attempt records. */
export interface UnitName {
  readonly id: string;
  readonly calls: number;
}

export interface TransportOptions extends Egress {
  /** The time limit of a request, at most 5 s. */
  readonly timeoutMs: number;
  /** Private networks to which requests may be sent. */
  readonly allowNetworks: readonly Network[];
  /** The age from which a connection is not used for another request, and a TLS session not resumed. */
  readonly connectionMaxAgeMs: number;
}

export interface Transport {
  /** Opens the sender of one destination. The caller closes the sender. */
  open(destination: AttemptedDestination): Sender;
  /** Applies other settings. Senders that are opened or updated later use them. Returns true if they have changed. */
  update(egress: Egress): boolean;
}

/** The sender of one destination. A value that `prepare` returned may be passed only to the same sender. */
export interface Sender<Prepared = unknown> {
  /** Null if each unit contains only one delivery. The limits may change with `update`. */
  limits(): UnitLimits | null;
  /** Call this only if there are limits. */
  measure(sendable: Sendable): Measured;
  /**
   * @param unit the deliveries, in the order in which their calls are sent. If there are limits, they must be
   *   measured.
   */
  prepare(unit: readonly Sendable[] | readonly Measured[], nowMs: number): Prepared;
  /** The name of the unit; null if there are no limits. */
  nameOf(prepared: Prepared): UnitName | null;
  /**
   * Starts to send to one of the destination's endpoints. `done` is called once, after `send` has returned, and no
   * later than the deadline.
   *
   * @param phases filled in while the request runs; absent if they are not needed.
   * @param traceparent the trace to which the request belongs; absent if there is none.
   */
  send(
    endpoint: Endpoint,
    prepared: Prepared,
    done: (result: RequestResult) => void,
    phases?: Phases,
    traceparent?: string,
  ): void;
  /**
   * @param nowMs when the result arrived. If the result contains a date until which to wait, the wait is measured
   *   from this time.
   */
  judge(result: SendResult, nowMs: number): Outcome;
  /**
   * Call this instead of `judge` if there are limits.
   *
   * @param prepared the value with which the request was sent.
   */
  judgeUnit(result: SendResult, prepared: Prepared, nowMs: number): UnitVerdict;
  /** The name and the attributes of a request's span. They contain no secrets. */
  span(endpoint: Endpoint): { readonly name: string; readonly attributes: SpanAttributes };
  /**
   * Applies new settings of the same destination. Connections that are no longer needed are closed when they are
   * idle.
   */
  update(destination: AttemptedDestination): void;
  /** Absent if requests can always be sent. */
  readonly readiness?: Readiness;
  /** Drops all connections. Requests in flight end with the cause `reset`. */
  close(): Promise<void>;
}

/**
 * Shows whether a sender has what its requests need, such as a token. While something is missing, the destination is on
 * hold.
 */
export interface Readiness {
  /**
   * Called before each attempt. If it returns false, the sender requests what is missing, and notifies the listener
   * of `onChange` when it is available.
   */
  isReady(): boolean;
  /** Null if nothing is missing, or if no request has needed what is missing. */
  hold(): SenderHold | null;
  /** @param then called when the results of `isReady` or `hold` may have changed. */
  onChange(then: () => void): void;
}

export interface SenderHold {
  readonly reason: "token";
  readonly sinceMs: number;
  /** When the sender will next request what is missing. */
  readonly untilMs: number;
  /**
   * Why the last request for what is missing failed, as a sentence without secrets; null if no such request has
   * failed.
   */
  readonly error: string | null;
}

type SpanAttributes = Readonly<Record<string, string | number>>;

export type Outcome =
  | { readonly kind: "accepted" }
  | {
      readonly kind: "retry";
      /** The wait that the endpoint requested with `Retry-After`; null if it did not request a wait. */
      readonly retryAfterMs: number | null;
    }
  | {
      readonly kind: "rejected";
      /** True if the endpoint asked for no more requests at all, which concerns more than this delivery. */
      readonly isGone?: boolean;
    };

export interface UnitVerdict {
  /** The outcome of the request as a whole, for the circuit breaker and for `Retry-After`. */
  readonly outcome: Outcome;
  /** One verdict for each call, in the unit's order; null if `outcome` applies to every call. */
  readonly calls: readonly CallVerdict[] | null;
  /** True if the unit must be sent again in two halves, because a single call may be the cause of the failure. */
  readonly isSplit: boolean;
  /** True if a response that should contain a status for each call could not be read. */
  readonly isUnreadable: boolean;
}

export interface CallVerdict {
  readonly outcome: Outcome;
  readonly status: number;
  /** The error that the response contains for this call; null if there is none. */
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

/**
 * The result of one request. If a type's protocol has no status codes, the type uses the HTTP codes with the same
 * meaning.
 */
export type SendResult =
  | {
      readonly kind: "response";
      /** From 200 to 999. Responses with a 1xx status are skipped. */
      readonly status: number;
      /** The header `Retry-After` as the endpoint sent it, or null. */
      readonly retryAfter: string | null;
      readonly durationMs: number;
      readonly phases?: Phases | undefined;
      /** The complete body, if the request needs the body and it is not too large. */
      readonly body?: Buffer | undefined;
    }
  | {
      readonly kind: "no-response";
      readonly cause: Cause;
      readonly durationMs: number;
      /** The phases object that was passed to `send`. */
      readonly phases?: Phases | undefined;
    };

/**
 * Nothing of the request reached the endpoint, because a proxy in front of it failed, or because its token has ended and
 * there is no other. It counts as no attempt, and the deliveries wait.
 */
export interface NotSent {
  readonly kind: "not-sent";
  /** The host and the port of the proxy; null if a token is missing. */
  readonly proxy: string | null;
  /** A sentence that names the proxy or the token endpoint, and contains no secrets. */
  readonly error: string;
  readonly durationMs: number;
}

/** What became of a request. */
export type RequestResult = SendResult | NotSent;

/** Creates results with responses. All of them are created here, so that they have the same shape in V8. Pure. */
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
 * When a request reached each step, in milliseconds since its start. Steps that were not reached are absent. If the
 * connection already existed, the first four steps are absent, too.
 */
export interface Phases {
  /** A socket was created. If the host is a name, the lookup of the name started. */
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
  /** How many bytes of an unsuccessful response to keep; absent to keep none. */
  readonly keepBytes?: number;
  /** The start of the unsuccessful response, if it is kept. */
  kept?: Buffer[];
}
