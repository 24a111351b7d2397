/** The form in which browser and server exchange actions. Instants are ISO 8601 strings. */

/**
 * With `dryRun`, an action only counts. The result contains absolute instants, so that the actual action applies to
 * what was counted.
 *
 * @template When the type of instants. In a request, an instant may also be a number of milliseconds before now.
 */
export type Action<When = string> =
  | {
      readonly action: "pause";
      readonly destination: string;
      /** Null to pause until the destination is resumed. */
      readonly pauseForMs: number | null;
    }
  | { readonly action: "resume" | "retry" | "wait"; readonly destination: string }
  | {
      readonly action: "cancel";
      readonly destination: string;
      /** Only calls received before this time. */
      readonly before: When;
      readonly dryRun: boolean;
    }
  | {
      /** A replay of calls for one destination. */
      readonly action: "replay";
      readonly destination: string;
      readonly since: When;
      readonly until: When;
      /** Empty means all. */
      readonly types: readonly string[];
      readonly events: readonly string[];
      /** Null for no limit. */
      readonly perSecond: number | null;
      readonly dryRun: boolean;
    }
  | {
      /** A replay of one call, by its place on `calls`. */
      readonly action: "send-again";
      readonly destination: string;
      readonly partition: number;
      readonly offset: number;
      readonly dryRun: boolean;
    }
  | {
      readonly action: "replay-dead-letters";
      /** Null means all. */
      readonly messageId: string | null;
      /** Null means all. */
      readonly destination: string | null;
      readonly reason: string | null;
      readonly since: When;
      readonly until: When;
      /** True to include dead letters that have already been replayed. */
      readonly includeReplayed: boolean;
      readonly perSecond: number | null;
      readonly dryRun: boolean;
    }
  | ({ readonly action: "resume-replay"; readonly destination: string | null } & NamedReplay)
  | { readonly action: "approve"; readonly audience: string; readonly syncId: string };

export interface NamedReplay {
  readonly kind: "calls" | "dead-letters";
  readonly replay: string;
}

/** A job in progress, or one that has ended. */
export interface JobView {
  readonly id: string;
  readonly action: Action;
  readonly startedAt: string;
  readonly endedAt: string | null;
  readonly state: "running" | "done" | "failed" | "stopped";
  /** The progress of the job; empty if there is nothing to report. */
  readonly progress: string;
  /** The messages that the job has reported, one sentence each. */
  readonly messages: readonly string[];
  /** The result of a count. */
  readonly count: number | null;
  /** A replay that can be resumed. */
  readonly unfinished: NamedReplay | null;
}
