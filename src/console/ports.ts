/** The parts that are passed to the console: a reader, an action runner, and the files for the browser. */

import type { Action, NamedReplay } from "./action-view.ts";
import type { AllCounters } from "./counters.ts";
import type {
  AttemptsView,
  AudienceView,
  CallsView,
  CallView,
  ChangesView,
  ComparedCallsView,
  ConfigurationView,
  DeadLettersView,
  ProblemsView,
} from "./query-view.ts";
import type { ConsoleSnapshot } from "./view.ts";

export interface Poll {
  readonly snapshot: ConsoleSnapshot;
  readonly counters: AllCounters;
}

export interface DeadLettersQuery {
  /** Null means all. */
  readonly destination: string | null;
  readonly reason: string | null;
  /** Null means both. */
  readonly isReplayed: boolean | null;
  /** Maximum age in milliseconds. */
  readonly sinceMs: number;
}

export interface CallQuery {
  readonly messageId: string;
  readonly sinceMs: number;
}

export interface CallsQuery {
  /**
   * Returns true if an ID belongs to the requested user, for whom only the hash of the ID is known. Null for calls of
   * all users.
   */
  readonly isUser: ((userId: string) => boolean) | null;
  /** Maximum age in milliseconds. */
  readonly sinceMs: number;
}

export interface ComparedCallsQuery {
  /** Milliseconds since the epoch. */
  readonly sinceMs: number;
  /** Share of the calls, above 0 and at most 1. */
  readonly share: number;
}

export type PreparedComparison =
  | ProblemsView
  | {
      readonly kind: "prepared";
      /** Null if the signal aborted. */
      readonly compare: (
        progress: Pick<ActionProgress, "follow">,
        signal: AbortSignal,
      ) => Promise<ComparedCallsView | null>;
    };

export interface ConsoleReader {
  /** Reads Kafka and the processes. */
  readonly pollOnce: (signal: AbortSignal) => Promise<Poll>;
  /** Reads only the counters of the processes. */
  readonly sample: (signal: AbortSignal) => Promise<AllCounters>;
  /** IDs of the sources that are connected to a destination. */
  readonly sourcesOf: (destination: string) => readonly string[];
  /** @throws Error with a sentence, for example if Kafka is unreachable. So do the methods below. */
  readonly deadLetters: (query: DeadLettersQuery, signal: AbortSignal) => Promise<DeadLettersView>;
  readonly audiences: (signal: AbortSignal) => Promise<readonly AudienceView[]>;
  /** The result has no steps if nothing was found. */
  readonly call: (query: CallQuery, signal: AbortSignal) => Promise<CallView>;
  readonly latestCalls: (query: CallsQuery, signal: AbortSignal) => Promise<CallsView>;
  readonly attempts: (destination: string, signal: AbortSignal) => Promise<AttemptsView>;
  /** Finds what a reload would change, and applies nothing. @param content the content of a configuration file. */
  readonly changes: (content: Buffer) => Promise<ChangesView>;
  /** Prepares a comparison of past calls. @param content the content of a configuration file. */
  readonly compareCalls: (content: Buffer, query: ComparedCallsQuery) => PreparedComparison;
  readonly configuration: () => Promise<ConfigurationView>;
}

export interface ActionRunner {
  /**
   * Returns the work of an action. Nothing is done until the returned function is called.
   *
   * @throws Error with a message for the user if the configuration does not allow the action.
   */
  readonly begin: (action: Action) => Work;
}

/** @throws Error with a sentence, for example if Kafka is unreachable. @param signal stops the work. */
export type Work = (progress: ActionProgress, signal: AbortSignal) => Promise<WorkOutcome>;

export interface ActionProgress {
  /** @param text the progress, queried repeatedly until the work ends. */
  readonly follow: (text: () => string) => void;
  readonly report: (sentence: string) => void;
}

export interface WorkOutcome {
  /** True if everything is done. */
  readonly isDone: boolean;
  /** The result if the work only counted. */
  readonly count: number | null;
  /** The replay that can be resumed; null if there is nothing left to do. */
  readonly unfinished: NamedReplay | null;
}

export interface PageFile {
  readonly type: string;
  readonly bytes: Uint8Array;
  /** The compressed content, for browsers that accept compression. */
  readonly gzip: Uint8Array;
}

export interface PageFiles {
  /** The document of every address. */
  readonly document: PageFile;
  /** The document for addresses with two parts, such as `/destinations/crm`. */
  readonly deeper: PageFile;
  /** Assets by name; the name contains a hash of the content. */
  readonly assets: ReadonlyMap<string, PageFile>;
}

export interface ConsoleConfig {
  readonly host: string;
  /** 0 selects any free port. */
  readonly port: number;
  /** Null if no token is required, which is allowed only for addresses of this machine. */
  readonly token: string | null;
  readonly readOnly: boolean;
  readonly version: string;
}
