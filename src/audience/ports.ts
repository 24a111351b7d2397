/** The ports that the work on a partition uses. `stage.ts` provides them. */

import type { Became, DeadLetter, DeadLettered } from "../domain/dead-letter-records.ts";
import type { Producer } from "../kafka/port.ts";
import type { Audience, Counts } from "./audience.ts";

export type StoreEntry = readonly [key: string, value: string];
/** A value of null removes the key. */
export type StoreChange = readonly [key: string, value: string | null];

/**
 * The ordered local store of one partition. Keys are ordered by their UTF-8 bytes.
 */
export interface Store {
  getMany(keys: readonly string[]): Promise<readonly (string | undefined)[]>;
  /**
   * Yields the entries from key `from` up to, but not including, key `to`, in order, as they were at the time of the
   * call.
   */
  pieces(from: string, to: string): AsyncIterable<readonly StoreEntry[]>;
  /**
   * Writes all changes, or fails without writing any. Several calls take effect in the order in which they were
   * made.
   */
  write(changes: readonly StoreChange[]): Promise<void>;
  close(): Promise<void>;
}

export type Writer = Pick<Producer, "send">;

export interface DeadLetterWriter {
  /** Resolves with the written dead letters when everything has been acknowledged. */
  write(
    became: readonly Became[],
    deadLettered: readonly DeadLettered[],
  ): Promise<{ readonly deadLetters: readonly DeadLetter[] }>;
}

export type ClaimResult =
  | { readonly kind: "claimed" }
  | { readonly kind: "refused"; readonly error: string };

export interface ClaimRequest {
  readonly id: string;
  readonly name: string;
  readonly key: string;
  readonly partition: number;
  readonly first: number;
}

/** The audiences of all partitions, from the topic `audiences`. */
export interface Registry {
  /** Claims an ID and a key. Resolves when it is known which partition owns them. */
  claim(request: ClaimRequest): Promise<ClaimResult>;
  /** Writes the state of the partition's audiences, given by ID. The state is null if an audience was deleted. */
  report(audiences: ReadonlyMap<string, ReportedAudience | null>, partition: number): Promise<void>;
}

export interface ReportedAudience {
  readonly audience: Audience;
  readonly counts: Counts;
}

export type SyncOutcome =
  | "complete"
  | "awaiting-approval"
  | "approved"
  | "abandoned"
  | "count-mismatch"
  | "deleted";

export interface SyncReport {
  readonly audience: Audience;
  readonly syncId: string;
  readonly outcome: SyncOutcome;
  readonly members: number;
  /** The number of users that the sync removed. */
  readonly left: number;
  readonly arrived: number;
  /** Record time of the sync's `begin` record. */
  readonly beganAtMs: number;
}

/** Events for logs and metrics. */
export interface Events {
  readonly started: (audience: Audience, syncId: string) => void;
  readonly ended: (report: SyncReport) => void;
  readonly deadLettered: (deadLetters: readonly DeadLetter[]) => void;
  /**
   * Called when calls have been acknowledged, with the numbers of users who entered or left, and of traits that
   * changed.
   */
  readonly changed: (changes: {
    readonly entered: number;
    readonly left: number;
    readonly traits: number;
  }) => void;
  readonly applied: (records: number) => void;
  /** Called when the topic `audience-syncs` was recreated. */
  readonly topicRecreated: (partition: number) => void;
}
