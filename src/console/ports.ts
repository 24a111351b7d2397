/** The console is handed eyes, and the files of the page. */

import type { AllCounters } from "./counters.ts";
import type { CallQuery, LettersQuery } from "./letters-query.ts";
import type { AudienceView, CallView, ConfigurationView, LettersView, Seen } from "./view.ts";

export interface Look {
  readonly seen: Seen;
  readonly counters: AllCounters;
}

export interface Eyes {
  /** At Kafka and at the processes. */
  readonly look: (signal: AbortSignal) => Promise<Look>;
  /** At the counters of the processes alone. */
  readonly sample: (signal: AbortSignal) => Promise<AllCounters>;
  /** Ids of the sources that are connected to a destination. */
  readonly sourcesOf: (destination: string) => readonly string[];
  /** @throws Error for people, such as that Kafka is away. So do the next ones. */
  readonly letters: (query: LettersQuery, signal: AbortSignal) => Promise<LettersView>;
  readonly audiences: (signal: AbortSignal) => Promise<readonly AudienceView[]>;
  /** Without steps: nothing is known of it. */
  readonly call: (query: CallQuery, signal: AbortSignal) => Promise<CallView>;
  readonly configuration: () => Promise<ConfigurationView>;
}

export interface PageFile {
  readonly type: string;
  readonly bytes: Uint8Array;
}

export interface PageFiles {
  /** The document of every address of the page. */
  readonly document: PageFile;
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
