/**
 * Reads an action from the body of a request.
 *
 *   the body                                            result
 *   lacks a field of its action                         invalid, because no field has a default
 *   has a field that its action does not have           invalid, because the field may be misspelled
 *   has an instant as a number of milliseconds ago      the instant, by the server's clock
 *   has an instant that cannot be parsed, or a range    invalid
 *     whose end is before its start
 */

import { CALL_TYPES } from "../../domain/call.ts";
import { describe, isJsonObject, type JsonObject } from "../../domain/json.ts";
import { isoTimestamp, readTimestamp } from "../../domain/timestamp.ts";
import type { Action } from "./action-view.ts";

export type ReadAction =
  | { readonly kind: "action"; readonly action: Action }
  | { readonly kind: "invalid"; readonly why: string };

const YEAR_MS = 365 * 86_400_000;
const TEXT_MAX = 200;
const EVENTS_MAX = 20;
const PER_SECOND_MAX = 1_000_000;
const PARTITION_MAX = 2 ** 31 - 1;

type Name = Action["action"];

/** Reads the fields of an action, and keeps the first problem. */
class Fields {
  readonly #json: JsonObject;
  readonly #nowMs: number;
  readonly #read = new Set(["action"]);
  #problem: string | null = null;

  constructor(json: JsonObject, nowMs: number) {
    this.#json = json;
    this.#nowMs = nowMs;
  }

  text(name: string): string {
    const value = this.#take(name);
    if (typeof value === "string" && value !== "" && value.length <= TEXT_MAX) return value;
    this.reject(`${name} is ${describe(value)}; a string is expected.`);
    return "";
  }

  textOrNull(name: string): string | null {
    return this.#json[name] === null ? this.#null(name) : this.text(name);
  }

  oneOf<const Value extends string>(name: string, known: readonly [Value, ...Value[]]): Value {
    const value = this.#take(name);
    const found = known.find((each) => each === value);
    if (found === undefined) {
      this.reject(`${name} is ${describe(value)}; one of ${known.join(", ")} is expected.`);
    }
    return found ?? known[0];
  }

  flag(name: string): boolean {
    const value = this.#take(name);
    if (typeof value === "boolean") return value;
    this.reject(`${name} is ${describe(value)}; true or false is expected.`);
    return true;
  }

  number(name: string, max: number, min = 1): number {
    const value = this.#take(name);
    if (typeof value === "number" && Number.isInteger(value) && value >= min && value <= max) {
      return value;
    }
    this.reject(`${name} is ${describe(value)}; an integer from ${min} to ${max} is expected.`);
    return min;
  }

  numberOrNull(name: string, max: number): number | null {
    return this.#json[name] === null ? this.#null(name) : this.number(name, max);
  }

  instant(name: string): string {
    const value = this.#take(name);
    const atMs =
      typeof value === "number" && value >= 0 && value <= YEAR_MS
        ? this.#nowMs - Math.trunc(value)
        : readTimestamp(typeof value === "string" ? value : null);
    if (atMs !== null) return isoTimestamp(atMs);
    this.reject(
      `${name} is ${describe(value)}; an ISO 8601 time or a number of milliseconds before now is expected.`,
    );
    return "";
  }

  range(): { readonly since: string; readonly until: string } {
    const [since, until] = [this.instant("since"), this.instant("until")];
    if (since >= until)
      this.reject("The range ends before it starts, so there is nothing to replay.");
    return { since, until };
  }

  texts(name: string, known: readonly string[] | null): readonly string[] {
    const value = this.#take(name);
    const isText = (each: unknown): each is string =>
      typeof each === "string" && each !== "" && (known?.includes(each) ?? true);
    if (Array.isArray(value) && value.length <= EVENTS_MAX && value.every(isText)) return value;
    const of = known === null ? "strings" : `some of ${known.join(", ")}`;
    this.reject(`${name} is ${describe(value)}; a list of ${of} is expected.`);
    return [];
  }

  reject(why: string): void {
    this.#problem ??= why;
  }

  /** The first problem. If the body has a field that was not read, that is also a problem. */
  get problem(): string | null {
    const strange = Object.keys(this.#json).find((name) => !this.#read.has(name));
    if (strange !== undefined)
      this.reject(`The action does not have a field ${describe(strange)}.`);
    return this.#problem;
  }

  #take(name: string): unknown {
    this.#read.add(name);
    return Object.hasOwn(this.#json, name) ? this.#json[name] : undefined;
  }

  #null(name: string): null {
    this.#read.add(name);
    return null;
  }
}

/** If an action is missing from this table, it does not compile. */
const READERS: {
  readonly [Each in Name]: (fields: Fields) => Extract<Action, { readonly action: Name }>;
} = {
  pause: (fields) => {
    const destination = fields.text("destination");
    const pauseForMs = fields.numberOrNull("pauseForMs", YEAR_MS);
    return { action: "pause", destination, pauseForMs };
  },
  resume: (fields) => ({ action: "resume", destination: fields.text("destination") }),
  retry: (fields) => ({ action: "retry", destination: fields.text("destination") }),
  wait: (fields) => ({ action: "wait", destination: fields.text("destination") }),
  cancel: (fields) => ({
    action: "cancel",
    destination: fields.text("destination"),
    before: fields.instant("before"),
    dryRun: fields.flag("dryRun"),
  }),
  replay: (fields) => ({
    action: "replay",
    destination: fields.text("destination"),
    ...fields.range(),
    types: fields.texts("types", CALL_TYPES),
    events: fields.texts("events", null),
    perSecond: fields.numberOrNull("perSecond", PER_SECOND_MAX),
    dryRun: fields.flag("dryRun"),
  }),
  "send-again": (fields) => ({
    action: "send-again",
    destination: fields.text("destination"),
    partition: fields.number("partition", PARTITION_MAX, 0),
    offset: fields.number("offset", Number.MAX_SAFE_INTEGER - 1, 0),
    dryRun: fields.flag("dryRun"),
  }),
  "replay-dead-letters": (fields) => ({
    action: "replay-dead-letters",
    messageId: fields.textOrNull("messageId"),
    destination: fields.textOrNull("destination"),
    reason: fields.textOrNull("reason"),
    ...fields.range(),
    includeReplayed: fields.flag("includeReplayed"),
    perSecond: fields.numberOrNull("perSecond", PER_SECOND_MAX),
    dryRun: fields.flag("dryRun"),
  }),
  "resume-replay": (fields) => {
    const kind = fields.oneOf("kind", ["calls", "dead-letters"]);
    const replay = fields.text("replay");
    if (!/^[\w-]{1,60}$/.test(replay))
      fields.reject("The value of replay is not the name of a replay.");
    return { action: "resume-replay", kind, replay, destination: fields.textOrNull("destination") };
  },
  approve: (fields) => ({
    action: "approve",
    audience: fields.text("audience"),
    syncId: fields.text("syncId"),
  }),
};

export function readAction(body: string, nowMs: number): ReadAction {
  const json = parse(body);
  if (!isJsonObject(json)) return { kind: "invalid", why: "The body is not a JSON object." };
  const name = (Object.keys(READERS) as Name[]).find((each) => each === json.action);
  if (name === undefined) {
    const known = Object.keys(READERS).join(", ");
    return {
      kind: "invalid",
      why: `action is ${describe(json.action)}; one of ${known} is expected.`,
    };
  }
  const fields = new Fields(json, nowMs);
  const action = READERS[name](fields);
  const { problem } = fields;
  return problem === null ? { kind: "action", action } : { kind: "invalid", why: problem };
}

function parse(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return null;
  }
}

/** The key of a job, which consists of its kind and its subject. Only one job with the same key runs at a time. */
export function keyOf(action: Action): string {
  switch (action.action) {
    case "approve":
      return `approval of ${action.audience}`;
    case "replay-dead-letters":
      return `replay of dead letters for ${action.destination ?? "all destinations"}`;
    case "replay":
      return `replay of calls for ${action.destination}`;
    case "send-again":
      return `sending call ${action.partition}/${action.offset} to ${action.destination} again`;
    case "resume-replay":
      return action.kind === "calls"
        ? `replay of calls for ${action.destination ?? "a destination"}`
        : `replay of dead letters for ${action.destination ?? "all destinations"}`;
    case "pause":
    case "resume":
    case "retry":
    case "wait":
    case "cancel":
      return `${action.action} of ${action.destination}`;
  }
}
