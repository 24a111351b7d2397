/** The ports that the work on a partition uses. `stage.ts` provides them. */

import type { Became, DeadLetter, DeadLettered } from "../../domain/dead-letter-records.ts";
import type { Producer } from "../../kafka/port.ts";
import type { Audience, Counts } from "./audience.ts";
import type { ClaimedAudience } from "./claims.ts";
import type { OrderedStore } from "./store/ordered-store.ts";

/** The local store of one partition. */
export type Store = Omit<OrderedStore, "compact">;

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

export type ClaimRequest = Pick<ClaimedAudience, "id" | "name" | "key" | "partition" | "first">;

/** The audiences of all partitions, from the topic `audiences`. */
export interface Registry {
  /**
   * The partition that owns an audience whose records now arrive in this one, because partitions were added to the
   * topic; null if this partition owns the audience or may claim it, or if the key or the partitioner is wrong.
   */
  movedFrom(id: string, partition: number): Promise<number | null>;
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

export interface ChangeCounts {
  readonly entered: number;
  readonly left: number;
  readonly traits: number;
}

/** Events for logs and metrics. */
export interface Events {
  readonly started: (audience: Audience, syncId: string) => void;
  readonly ended: (report: SyncReport) => void;
  readonly deadLettered: (deadLetters: readonly DeadLetter[]) => void;
  /**
   * Called when calls have been acknowledged, with the numbers of users who entered, users who left, and traits that
   * changed.
   */
  readonly changed: (changes: ChangeCounts) => void;
  readonly applied: (records: number) => void;
  /** Called when the topic `audience-syncs` was recreated. */
  readonly topicRecreated: (partition: number) => void;
}
