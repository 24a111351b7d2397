/** The interfaces of what is passed to the console: a reader, an action runner, and the files for the browser. */

import type { HealthProblem, StatusReport } from "../look/status-report.ts";
import type { Action, NamedReplay } from "./action-view.ts";
import type { AllCounters } from "./counters.ts";
import type { ConfigurationView, KafkaQueryName, QueryResults } from "./query-view.ts";
import type { ConfiguredDestination } from "./view.ts";

export interface Poll {
  readonly report: StatusReport;
  readonly healthProblems: readonly HealthProblem[];
  /** The configured destinations, by ID. */
  readonly configured: ReadonlyMap<string, ConfiguredDestination>;
  readonly counters: AllCounters;
}

/** What a query asks for. Each query uses some of the fields. */
export interface Query {
  /** Null means all. */
  readonly destination: string | null;
  readonly reason: string | null;
  /** Null means both. */
  readonly isReplayed: boolean | null;
  readonly messageId: string;
  /** Returns true for the ID of the requested user, of which only the hash is known. Null for calls of all users. */
  readonly isUser: ((userId: string) => boolean) | null;
  /** The maximum age in milliseconds. */
  readonly sinceMs: number;
}

export interface ConsoleReader {
  /** Reads Kafka and the processes. */
  readonly pollOnce: (signal: AbortSignal) => Promise<Poll>;
  /** Reads only the counters of the processes. */
  readonly sample: (signal: AbortSignal) => Promise<AllCounters>;
  /** @throws Error with a sentence, for example if Kafka is unreachable. */
  readonly read: <Name extends KafkaQueryName>(
    name: Name,
    query: Query,
    signal: AbortSignal,
  ) => Promise<QueryResults[Name]>;
  readonly configuration: () => ConfigurationView;
}

export interface ActionRunner {
  /**
   * Returns the work of an action as a function. Nothing is done until this function is called.
   *
   * @throws Error with a message for the user if the configuration does not allow the action.
   */
  readonly begin: (action: Action) => JobWork;
}

/** @throws Error with a sentence, for example if Kafka is unreachable. @param signal stops the work. */
export type JobWork = (progress: ActionProgress, signal: AbortSignal) => Promise<WorkOutcome>;

export interface ActionProgress {
  /** @param text returns the current progress; called repeatedly until the work ends. */
  readonly follow: (text: () => string) => void;
  readonly report: (sentence: string) => void;
}

export interface WorkOutcome {
  /** True if the work was done completely. */
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
  /** The document, except for addresses with two parts. */
  readonly document: PageFile;
  /** The document for addresses with two parts, such as `/destinations/crm`. */
  readonly deeper: PageFile;
  /** The assets by name. Each name contains a hash of the content. */
  readonly assets: ReadonlyMap<string, PageFile>;
}

export interface ConsoleConfig {
  readonly host: string;
  /** 0 selects any free port. */
  readonly port: number;
  /** Null if no token is required. This is allowed only if the console listens only on this machine. */
  readonly token: string | null;
  readonly readOnly: boolean;
  readonly version: string;
}
