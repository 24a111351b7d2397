/**
 * The words of actions between the server and the browser, as `view.ts` has those of looking.
 * Instants are ISO 8601 texts.
 */

/**
 * Something that people want done. Those with `dryRun` are counted first: the answer names the same
 * instants again, so that what is done is what was counted.
 *
 * @template When in a request also a number: so many milliseconds ago
 */
export type Action<When = string> =
  | {
      readonly action: "pause";
      readonly destination: string;
      /** Null: until it is resumed. */
      readonly forMs: number | null;
    }
  | { readonly action: "resume" | "retry" | "wait"; readonly destination: string }
  | {
      readonly action: "cancel";
      readonly destination: string;
      /** Calls received before. */
      readonly before: When;
      readonly dryRun: boolean;
    }
  | {
      /** Of calls, for one destination. */
      readonly action: "replay";
      readonly destination: string;
      readonly since: When;
      readonly until: When;
      /** Empty: all. */
      readonly types: readonly string[];
      readonly events: readonly string[];
      /** Null: as fast as it goes. */
      readonly perSecond: number | null;
      readonly dryRun: boolean;
    }
  | {
      readonly action: "replay-letters";
      /** Null: all. */
      readonly destination: string | null;
      readonly reason: string | null;
      readonly since: When;
      readonly until: When;
      /** Also those that were replayed before. */
      readonly includeReplayed: boolean;
      readonly perSecond: number | null;
      readonly dryRun: boolean;
    }
  | ({ readonly action: "go-on"; readonly destination: string | null } & NamedReplay)
  | { readonly action: "approve"; readonly audience: string; readonly syncId: string };

export interface NamedReplay {
  readonly of: "calls" | "letters";
  readonly replay: string;
}

/** An action under way, or one that was. */
export interface JobView {
  readonly id: string;
  readonly action: Action;
  readonly startedAt: string;
  readonly endedAt: string | null;
  readonly state: "running" | "done" | "failed" | "stopped";
  /** How far it is; empty where nothing is to be said of that. */
  readonly progress: string;
  /** Its words about itself, a sentence each. */
  readonly said: readonly string[];
  /** Of one that was counted: how many there are. */
  readonly count: number | null;
  /** A replay that can be gone on with. */
  readonly unfinished: NamedReplay | null;
}
