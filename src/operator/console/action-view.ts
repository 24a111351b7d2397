/**
 * The actions that browser and server exchange: the fields of each, from which its type is derived, and from which
 * `action.ts` reads it.
 */

import { CALL_TYPES } from "../../domain/call.ts";
import { isoTimestamp, readTimestamp } from "../../domain/timestamp.ts";

const YEAR_MS = 365 * 86_400_000;
const TEXT_MAX = 200;
const EVENTS_MAX = 20;
const PARTITION_MAX = 2 ** 31 - 1;

export interface ValueReader<Value> {
  /** Completes the sentence "... is expected." */
  readonly expected: string;
  /** Returns undefined if the value is not expected. */
  readonly read: (value: unknown, nowMs: number) => Value | undefined;
}

/** An ISO 8601 string. In a request, it may also be a number of milliseconds before now. */
interface Instant {
  readonly isInstant: true;
}

const TEXT: ValueReader<string> = {
  expected: "a string",
  read: (value) => {
    return typeof value === "string" && value !== "" && value.length <= TEXT_MAX
      ? value
      : undefined;
  },
};

const FLAG: ValueReader<boolean> = {
  expected: "true or false",
  read: (value) => (typeof value === "boolean" ? value : undefined),
};

const INSTANT: ValueReader<string & Instant> = {
  expected: "an ISO 8601 time or a number of milliseconds before now",
  read: (value, nowMs) => {
    const isAge = typeof value === "number" && value >= 0 && value <= YEAR_MS;
    const atMs = isAge
      ? nowMs - Math.trunc(value)
      : readTimestamp(typeof value === "string" ? value : null);
    return atMs === null ? undefined : (isoTimestamp(atMs) as string & Instant);
  },
};

function integer(min: number, max: number): ValueReader<number> {
  return {
    expected: `an integer from ${min} to ${max}`,
    read: (value) => {
      const isInteger = typeof value === "number" && Number.isInteger(value);
      return isInteger && value >= min && value <= max ? value : undefined;
    },
  };
}

function oneOf<const Value extends string>(known: readonly Value[]): ValueReader<Value> {
  return {
    expected: `one of ${known.join(", ")}`,
    read: (value) => known.find((each) => each === value),
  };
}

/** @param known null if every string is expected. */
function texts(known: readonly string[] | null): ValueReader<readonly string[]> {
  const isText = (each: unknown): each is string =>
    typeof each === "string" && each !== "" && (known?.includes(each) ?? true);
  return {
    expected: `a list of ${known === null ? "strings" : `some of ${known.join(", ")}`}`,
    read: (value) => {
      const isList = Array.isArray(value) && value.length <= EVENTS_MAX;
      return isList && value.every(isText) ? value : undefined;
    },
  };
}

function orNull<Value>({ expected, read }: ValueReader<Value>): ValueReader<Value | null> {
  return { expected, read: (value, nowMs) => (value === null ? null : read(value, nowMs)) };
}

const PER_SECOND = orNull(integer(1, 1_000_000));
const ON_DESTINATION = { destination: TEXT };
const RANGE = { since: INSTANT, until: INSTANT };
/**
 * With `dryRun`, an action only counts. The result contains absolute instants, so that the actual action applies to
 * what was counted.
 */
const COUNTED = { dryRun: FLAG };

export const ACTIONS = {
  /** `pauseForMs` is null to pause until the destination is resumed. */
  pause: { ...ON_DESTINATION, pauseForMs: orNull(integer(1, YEAR_MS)) },
  resume: ON_DESTINATION,
  retry: ON_DESTINATION,
  wait: ON_DESTINATION,
  /** Only calls received before this time. */
  cancel: { ...ON_DESTINATION, before: INSTANT, ...COUNTED },
  /** A replay of calls for one destination. No types or events means all of them. */
  replay: {
    ...ON_DESTINATION,
    ...RANGE,
    types: texts(CALL_TYPES),
    events: texts(null),
    perSecond: PER_SECOND,
    ...COUNTED,
  },
  /** A replay of one call, by its place on `calls`. */
  "send-again": {
    ...ON_DESTINATION,
    partition: integer(0, PARTITION_MAX),
    offset: integer(0, Number.MAX_SAFE_INTEGER - 1),
    ...COUNTED,
  },
  /** For `messageId`, `destination` and `reason`, null means all. */
  "replay-dead-letters": {
    messageId: orNull(TEXT),
    destination: orNull(TEXT),
    reason: orNull(TEXT),
    ...RANGE,
    /** True to include dead letters that have already been replayed. */
    includeReplayed: FLAG,
    perSecond: PER_SECOND,
    ...COUNTED,
  },
  "resume-replay": {
    kind: oneOf(["calls", "dead-letters"]),
    replay: TEXT,
    destination: orNull(TEXT),
  },
  approve: { audience: TEXT, syncId: TEXT },
};

type Actions = typeof ACTIONS;
export type ActionName = keyof Actions;
type ValueOf<Of, When> =
  Of extends ValueReader<infer Value> ? (Value extends Instant ? When : Value) : never;

/** @template When the type of instants; `string | number` in a request. */
export type Action<When = string> = {
  [Each in ActionName]: { readonly action: Each } & {
    readonly [Key in keyof Actions[Each]]: ValueOf<Actions[Each][Key], When>;
  };
}[ActionName];

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
