/** The console is handed eyes, hands, and the files of the page. */

import type { Action, NamedReplay } from "./action-view.ts";
import type { AllCounters } from "./counters.ts";
import type { CallQuery, DeadLettersQuery } from "./dead-letters-query.ts";
import type {
  AttemptsView,
  AudienceView,
  CallView,
  ChangesView,
  ConfigurationView,
  DeadLettersView,
  UserCallsView,
} from "./query-view.ts";
import type { ConsoleSnapshot } from "./view.ts";

export interface Look {
  readonly seen: ConsoleSnapshot;
  readonly counters: AllCounters;
}

export interface UserQuery {
  /** Whether an id is the one that is meant: only its hash is known. */
  readonly isWanted: (userId: string) => boolean;
  /** How long ago at most. */
  readonly sinceMs: number;
}

export interface ConsoleReader {
  /** At Kafka and at the processes. */
  readonly look: (signal: AbortSignal) => Promise<Look>;
  /** At the counters of the processes alone. */
  readonly sample: (signal: AbortSignal) => Promise<AllCounters>;
  /** Ids of the sources that are connected to a destination. */
  readonly sourcesOf: (destination: string) => readonly string[];
  /** @throws Error for people, such as that Kafka is away. So do the next ones. */
  readonly deadLetters: (query: DeadLettersQuery, signal: AbortSignal) => Promise<DeadLettersView>;
  readonly audiences: (signal: AbortSignal) => Promise<readonly AudienceView[]>;
  /** Without steps: nothing is known of it. */
  readonly call: (query: CallQuery, signal: AbortSignal) => Promise<CallView>;
  readonly userCalls: (query: UserQuery, signal: AbortSignal) => Promise<UserCallsView>;
  readonly attempts: (destination: string, signal: AbortSignal) => Promise<AttemptsView>;
  /** Applies nothing. @param content of a configuration file. */
  readonly changes: (content: Buffer) => Promise<ChangesView>;
  readonly configuration: () => Promise<ConfigurationView>;
}

export interface ActionRunner {
  /**
   * The work of an action. Nothing is done before it is called.
   *
   * @throws Error a sentence: the configuration does not allow it.
   */
  readonly begin: (action: Action) => Work;
}

/** @throws Error for people, such as that Kafka is away. @param signal aborts when it is to stop. */
export type Work = (telling: JobTelling, signal: AbortSignal) => Promise<WorkOutcome>;

export interface JobTelling {
  /** @param text how far it is; asked for again and again, until the work ends. */
  readonly follow: (text: () => string) => void;
  readonly say: (sentence: string) => void;
}

export interface WorkOutcome {
  /** Whether all that was asked for is done. */
  readonly isDone: boolean;
  /** Of one that was only counted: how many there are. */
  readonly count: number | null;
  /** The replay that can be gone on with; null: there is nothing left to do. */
  readonly unfinished: NamedReplay | null;
}

export interface PageFile {
  readonly type: string;
  readonly bytes: Uint8Array;
  /** The same, compressed, for browsers that say that they take it. */
  readonly gzip: Uint8Array;
}

export interface PageFiles {
  /** The document of every address of the page. */
  readonly document: PageFile;
  /** The same for addresses with one more part, such as `/destinations/crm`. */
  readonly deeper: PageFile;
  /** By name; the name has a hash of the content. */
  readonly assets: ReadonlyMap<string, PageFile>;
}

export interface ConsoleConfig {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** Null: none is asked for. Only on this machine's own addresses. */
  readonly token: string | null;
  readonly readOnly: boolean;
  readonly version: string;
}
