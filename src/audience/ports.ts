/** The ports of the work on a partition; `stage.ts` hands them in. */

import type { Became, DeadLetter, DeadLettered } from "../domain/dead-letter-records.ts";
import type { Producer } from "../kafka/port.ts";
import type { Audience, Counts } from "./audience.ts";

export type StoreEntry = readonly [key: string, value: string];
/** Null: the key is removed. */
export type StoreChange = readonly [key: string, value: string | null];

/**
 * The ordered local store of one partition; `store/` has two. Keys are ordered by UTF-8 bytes.
 */
export interface Store {
  getMany(keys: readonly string[]): Promise<readonly (string | undefined)[]>;
  /** From the key `from` on and before `to`, in order, as they were when this was asked for. */
  pieces(from: string, to: string): AsyncIterable<readonly StoreEntry[]>;
  /** All or nothing, and in the order of the calls. */
  write(changes: readonly StoreChange[]): Promise<void>;
  close(): Promise<void>;
}

export type Writer = Pick<Producer, "send">;

export interface DeadLetterWriter {
  /** Resolves when all is acknowledged, with the dead letters written. */
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

/** The audiences of all partitions, as the topic `audiences` has them. */
export interface Registry {
  /** Resolves when it is known who has the id and the key. */
  claim(request: ClaimRequest): Promise<ClaimResult>;
  /** Reports to others how audiences of the partition are, by id; null: it was deleted. */
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
  /** Users removed by it. */
  readonly left: number;
  readonly arrived: number;
  /** From the begin's record time. */
  readonly beganAtMs: number;
}

/** For logs and metrics. */
export interface Events {
  readonly started: (audience: Audience, syncId: string) => void;
  readonly ended: (report: SyncReport) => void;
  readonly deadLettered: (deadLetters: readonly DeadLetter[]) => void;
  /** Users who entered and left, and traits that changed, once their calls are acknowledged. */
  readonly changed: (changes: {
    readonly entered: number;
    readonly left: number;
    readonly traits: number;
  }) => void;
  readonly applied: (records: number) => void;
  /** The topic of syncs is another one than before. */
  readonly topicRecreated: (partition: number) => void;
}
