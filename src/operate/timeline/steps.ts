/** The steps of one call's way, as programs and people get them. All instants are milliseconds. */

import type { AttemptNext, AttemptRequestRecord } from "../../domain/attempt-record.ts";
import type { RecordPlace } from "../../domain/record.ts";

interface StepBase {
  readonly atMs: number;
}

interface DestinationStep extends StepBase {
  readonly destination: string;
}

/** The call stands on `calls`. */
interface ReceivedStep extends StepBase {
  readonly kind: "received";
  readonly place: RecordPlace;
  readonly type: string;
  readonly event: string | null;
  readonly source: string;
  readonly namedBy: string;
  /** When the call says that it was received, by ingest or a producer. */
  readonly receivedAtMs: number;
  /** It was there before: a client, or a crash, sent it again. */
  readonly isRepeated: boolean;
}

/** It stands there, and route cannot use it. */
interface UnusableStep extends StepBase {
  readonly kind: "unusable";
  readonly place: RecordPlace;
  readonly reason: string;
  readonly error: string;
}

/** A destination of its source does not get it. */
interface SkippedStep extends DestinationStep {
  readonly kind: "skipped";
  readonly why: string;
}

interface RoutedStep extends DestinationStep {
  readonly kind: "routed";
  readonly place: RecordPlace;
  /** Null: the configuration of now would not route it there, or the call was not found. */
  readonly why: string | null;
}

/** It was written to its line once more, after it had been there. */
interface RepeatedStep extends DestinationStep {
  readonly kind: "replayed" | "requeued";
  readonly place: RecordPlace;
}

export interface AttemptStep extends DestinationStep {
  readonly kind: "attempt";
  readonly attempt: number;
  /** `accepted`, `retry`, `rejected` or `expired`. */
  readonly decision: string;
  readonly requests: readonly AttemptRequestRecord[];
  readonly next: readonly AttemptNext[];
  /**
   * `headers`: the topic of attempts does not have it. The delivery carried
   * away from it no phases and no durations.
   */
  readonly from: "attempts" | "headers";
}

export interface RetryScheduledStep extends DestinationStep {
  readonly kind: "retry-scheduled" | "rerouted";
  readonly place: RecordPlace;
  readonly retryDelay: string;
  readonly dueAtMs: number;
  readonly notBeforeMs: number | null;
  /** Only with `deliver: every`: the key of the endpoint that it is for. */
  readonly endpoint: string | null;
}

export interface ReturnedStep extends DestinationStep {
  readonly kind: "returned";
  readonly place: RecordPlace;
  /** After its due time; negative: a retry returned it before, or clocks differ a little. */
  readonly lateMs: number | null;
  readonly endpoint: string | null;
}

export interface DeadLetteredStep extends StepBase {
  readonly kind: "dead-lettered";
  /** Null: it was no delivery yet. */
  readonly destination: string | null;
  readonly place: RecordPlace;
  /** Where the record stood that was given up: topic, partition and offset. */
  readonly from: string;
  readonly stage: string;
  readonly reason: string;
  readonly error: string;
}

export type Step =
  | ReceivedStep
  | UnusableStep
  | SkippedStep
  | RoutedStep
  | RepeatedStep
  | AttemptStep
  | RetryScheduledStep
  | ReturnedStep
  | DeadLetteredStep;

/** How it stands with a destination. */
export type FinalStateKind =
  | "accepted"
  | "dead-lettered"
  | "waiting"
  | "due"
  | "queued"
  | "written"
  | "finished";

export interface FinalState {
  readonly destination: string;
  readonly kind: FinalStateKind;
  /** Of what decided it: when it was accepted, given up, is due. */
  readonly atMs: number;
  /** Attempts that are known. */
  readonly attempts: number;
  /** From the receipt to the acceptance; null where either is not known. */
  readonly tookMs: number | null;
}

/** Something that cannot be known, and how it would be. */
export type Gap =
  | { readonly kind: "no-attempts-topic" }
  | { readonly kind: "call-not-found"; readonly sinceMs: number }
  | { readonly kind: "attempts-missing"; readonly destinations: readonly string[] }
  /** Topics that could not be read, each with the reason. */
  | { readonly kind: "unread"; readonly topics: readonly string[] };

export interface CallTimeline {
  readonly messageId: string;
  /** In order of time. Empty: nothing was found. */
  readonly steps: readonly Step[];
  /** By destination, in the order in which it was routed. */
  readonly finalStates: readonly FinalState[];
  readonly gaps: readonly Gap[];
}
