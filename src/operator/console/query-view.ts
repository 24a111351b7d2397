/** The results of queries, as the server sends them. Instants have the same form as in `view.ts`. */

import type { Series } from "./view.ts";

export interface DeadLetterView {
  /** Null if the dead letter has not been replayed. */
  readonly replayedAt: string | null;
  readonly at: string;
  readonly stage: string;
  readonly reason: string;
  /** One sentence. */
  readonly error: string;
  readonly destination: string | null;
  readonly messageId: string | null;
  readonly from: string;
  /** The start of the record's value; null if the configuration does not allow it, or if there is no value. */
  readonly payload: string | null;
}

export interface DeadLettersView {
  /** Counts of the dead letters that match the filters. The largest count is first. */
  readonly counts: readonly {
    readonly destination: string | null;
    readonly reason: string;
    readonly count: number;
    /** How many of these dead letters have been replayed. */
    readonly replayed: number;
  }[];
  readonly total: number;
  /** How many of all dead letters have been replayed. */
  readonly replayed: number;
  /** The latest dead letters, newest first. */
  readonly samples: readonly DeadLetterView[];
  /** True if there are more dead letters than could be read in time. */
  readonly isCut: boolean;
}

export interface CallStep {
  readonly at: string;
  /** Null if the step is about the call as a whole. */
  readonly destination: string | null;
  readonly kind: string;
  readonly text: string;
  readonly tone: "good" | "bad" | "warn" | "quiet";
}

/** The request that the deliver stage would now send for the call. Nothing is sent. */
export interface CallRequest {
  /** A destination's ID. */
  readonly destination: string;
  /** The endpoint's name; null if there is no request, for the reason in `note`. */
  readonly endpoint: string | null;
  readonly method: string;
  /** Scheme, host and port. The rest may be secret. */
  readonly origin: string;
  /** A value that is hidden is null. */
  readonly headers: readonly (readonly [name: string, value: string | null])[];
  /** Null if the configuration does not allow showing the body, or if there is no body. */
  readonly body: string | null;
  readonly bodyBytes: number;
  /** The reason why no request would be sent; null if one would be sent. */
  readonly note: string | null;
}

/**
 * What the route stage would now decide about the call for a destination that is connected to the call's source, as
 * in `explain`.
 */
export interface CallDecision {
  readonly destination: string;
  readonly gets: boolean;
  /** Names the step that made the decision, such as `filtered`. */
  readonly reason: string;
  /**
   * Names the filter that skipped the call, or the properties that the rules change. It never contains the values of
   * properties.
   */
  readonly text: string;
}

/** The timeline of a call. */
export interface CallView {
  /** The latest record of the call on `calls`; null if none was found. */
  readonly place: { readonly partition: number; readonly offset: number } | null;
  readonly decisions: readonly CallDecision[];
  readonly requests: readonly CallRequest[];
  readonly steps: readonly CallStep[];
  /** The final state at each destination. */
  readonly finalStates: readonly Omit<CallStep, "at" | "kind">[];
  /** Sentences about what is unknown. */
  readonly gaps: readonly string[];
}

export interface LatestCall {
  readonly at: string;
  readonly messageId: string;
  readonly type: string;
  /** Null if the configuration does not allow showing the name, or if the call has no event name. */
  readonly event: string | null;
  readonly source: string;
}

export interface CallsView {
  /** The latest first. */
  readonly calls: readonly LatestCall[];
  /** The number of records that were read. */
  readonly scanned: number;
  /**
   * All records from this time on were read. If the time limit was reached or enough calls were found, the time is
   * later than requested.
   */
  readonly since: string;
  /** True if the time limit was reached. */
  readonly isCut: boolean;
}

export interface AttemptView {
  readonly at: string;
  readonly messageId: string;
  readonly attempt: number;
  /** `accepted`, `retry`, `rejected` or `expired`. */
  readonly decision: string;
  /** The responses of all endpoints. */
  readonly text: string;
  /** When the delivery will be retried. */
  readonly retryAt: string | null;
  readonly tone: "good" | "bad" | "warn";
}

export interface AttemptsView {
  /** False if there is no attempts topic. */
  readonly isOn: boolean;
  /** The latest first. */
  readonly attempts: readonly AttemptView[];
  /** All records from this time on were read. */
  readonly since: string | null;
  readonly isCut: boolean;
}

export interface SyncView {
  readonly syncId: string;
  readonly endedAt: string;
  /** The number of members after the sync. */
  readonly members: number;
}

export interface AudienceView {
  readonly id: string;
  readonly name: string;
  readonly key: string;
  readonly members: number;
  readonly openSyncId: string | null;
  readonly last: { readonly syncId: string; readonly endedAt: string } | null;
  /** All syncs that the topic still contains, the latest first. */
  readonly syncs: readonly SyncView[];
  /**
   * The number of members over the period that the topic's records still cover, which is about a day; null if unknown.
   */
  readonly history: Series<"members"> | null;
  readonly awaitingApproval: {
    readonly syncId: string;
    readonly since: string;
    readonly removals: number;
    /** The command that approves the sync. */
    readonly command: string;
  } | null;
}

export interface ConfigurationView {
  /** The configuration file of this process, with secrets hidden; null if the file is invalid. */
  readonly yaml: string | null;
  readonly hash: string;
}

const DAY_MS = 86_400_000;
/** The times that the console offers for looking back. */
export const SINCE: ReadonlyMap<string, number> = new Map([
  ["1h", DAY_MS / 24],
  ["1d", DAY_MS],
  ["7d", 7 * DAY_MS],
  ["30d", 30 * DAY_MS],
]);

/** Any other text counts as `1d`. */
export function readSince(text: string | null): number {
  return SINCE.get(text ?? "") ?? DAY_MS;
}

/** The results of queries, by the names that their addresses contain. */
export interface QueryResults {
  /** The dead letters that match the filters. */
  readonly "dead-letters": DeadLettersView;
  readonly audiences: readonly AudienceView[];
  /** The timeline of a call, by its message ID. It has no steps if nothing was found. */
  readonly call: CallView;
  /** The latest calls, or those of the user with the given hash. */
  readonly calls: CallsView;
  /** The latest attempts of a destination. */
  readonly attempts: AttemptsView;
  readonly configuration: ConfigurationView;
}
export type QueryName = keyof QueryResults;
/** All of the others read Kafka. */
export type KafkaQueryName = Exclude<QueryName, "configuration">;
