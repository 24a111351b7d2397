/** The steps of a timeline. All times are in milliseconds. */

import type { AttemptBatch, AttemptRecord } from "../../domain/attempt-record.ts";
import type { RecordPlace } from "../../domain/record.ts";

interface StepBase {
  readonly atMs: number;
}

interface DestinationStep extends StepBase {
  readonly destination: string;
}

/** The call is on `calls`. */
interface ReceivedStep extends StepBase {
  readonly kind: "received";
  readonly place: RecordPlace;
  readonly type: string;
  readonly event: string | null;
  readonly source: string;
  readonly namedBy: string;
  /** When the ingest stage or a producer received the call, according to the call itself. */
  readonly receivedAtMs: number;
  /** True if the call was already on the topic: a client sent it again, or it was written again after a crash. */
  readonly isRepeated: boolean;
}

/** A record on `calls` that the route stage cannot use. */
interface UnusableStep extends StepBase {
  readonly kind: "unusable";
  readonly place: RecordPlace;
  readonly reason: string;
  readonly error: string;
}

/** The call is not routed to one of its source's destinations. */
interface SkippedStep extends DestinationStep {
  readonly kind: "skipped";
  readonly why: string;
}

interface RoutedStep extends DestinationStep {
  readonly kind: "routed";
  readonly place: RecordPlace;
  /**
   * The reason for routing the call. Null if the current configuration would not route the call to the destination,
   * or if the call was not found.
   */
  readonly why: string | null;
}

/** The delivery was written to the queue again or, if it is replayed, to the retry topic. */
interface RepeatedStep extends DestinationStep {
  readonly kind: "replayed" | "requeued";
  readonly place: RecordPlace;
}

export interface AttemptStep
  extends DestinationStep,
    Pick<AttemptRecord, "attempt" | "decision" | "requests" | "next"> {
  readonly kind: "attempt";
  /** Null if the requests contained no other calls, or if the attempt is inferred. */
  readonly batch: AttemptBatch | null;
  /**
   * `headers`: the attempt is not on the attempts topic. It is inferred from the delivery's headers, without phases
   * and durations.
   */
  readonly from: "attempts" | "headers";
}

export interface RetryScheduledStep extends DestinationStep {
  readonly kind: "retry-scheduled" | "rerouted";
  readonly place: RecordPlace;
  readonly retryDelay: string;
  readonly dueAtMs: number;
  readonly notBeforeMs: number | null;
  /** The ID of the only endpoint that the retry is for; null unless `deliver: every` is set. */
  readonly endpoint: string | null;
}

export interface ReturnedStep extends DestinationStep {
  readonly kind: "returned";
  readonly place: RecordPlace;
  /**
   * How long the delivery was overdue. Negative if an operator's retry returned it early, or if clocks differ
   * slightly.
   */
  readonly lateMs: number;
  readonly endpoint: string | null;
}

export interface DeadLetteredStep extends StepBase {
  readonly kind: "dead-lettered";
  /** Null if the record was not a delivery. */
  readonly destination: string | null;
  readonly place: RecordPlace;
  /** Topic, partition and offset of the record that was dead-lettered. */
  readonly from: string;
  readonly stage: string;
  readonly reason: string;
  readonly error: string;
}

/** The delivery was processed without an attempt, because its user was suppressed. */
export interface SuppressedStep extends DestinationStep {
  readonly kind: "suppressed";
}

export type TimelineStep =
  | ReceivedStep
  | UnusableStep
  | SkippedStep
  | RoutedStep
  | RepeatedStep
  | AttemptStep
  | RetryScheduledStep
  | ReturnedStep
  | SuppressedStep
  | DeadLetteredStep;

/** The final state of a call at a destination. */
export type FinalStateKind =
  | "accepted"
  | "dead-lettered"
  | "waiting"
  | "due"
  | "queued"
  | "written"
  | "suppressed"
  | "finished";

export interface FinalState {
  readonly destination: string;
  readonly kind: FinalStateKind;
  /**
   * The time of the event that decides the state: when the delivery was accepted or dead-lettered, or when it is
   * due.
   */
  readonly atMs: number;
  /** The number of known attempts. */
  readonly attempts: number;
  /** The time from receiving the call to its acceptance; null if one of the two times is unknown. */
  readonly tookMs: number | null;
  /**
   * The time from which the call's user has been suppressed, if the state is `finished`, because the delivery may then
   * not have been sent; otherwise null.
   */
  readonly suppressedAtMs: number | null;
  /** The message ID of the delivery behind which a queued one waits; absent if it does not wait for its user's order. */
  readonly behind?: string;
}

/** What could not be found out about a call. Each kind has its own hint for operators. */
export type Gap =
  | { readonly kind: "no-attempts-topic" }
  | { readonly kind: "call-not-found"; readonly sinceMs: number }
  | { readonly kind: "attempts-missing"; readonly destinations: readonly string[] }
  /** Topics that could not be read, each with the reason. */
  | { readonly kind: "unread"; readonly topics: readonly string[] };

export interface CallTimeline {
  readonly messageId: string;
  /** In order of time. Empty if nothing was found. */
  readonly steps: readonly TimelineStep[];
  /** One state per destination, in the order in which the call was routed. */
  readonly finalStates: readonly FinalState[];
  readonly gaps: readonly Gap[];
}
