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

import { describe, isJsonObject, type JsonObject } from "../../domain/json.ts";
import { ACTIONS, type Action, type ActionName, type ValueReader } from "./action-view.ts";

export type ReadAction =
  | { readonly kind: "action"; readonly action: Action }
  | { readonly kind: "invalid"; readonly why: string };

export function readAction(body: string, nowMs: number): ReadAction {
  const json = parse(body);
  if (!isJsonObject(json)) return { kind: "invalid", why: "The body is not a JSON object." };
  const { action: name } = json;
  if (typeof name !== "string" || !Object.hasOwn(ACTIONS, name)) {
    const known = Object.keys(ACTIONS).join(", ");
    return { kind: "invalid", why: `action is ${describe(name)}; one of ${known} is expected.` };
  }
  const fields: Readonly<Record<string, ValueReader<unknown>>> = ACTIONS[name as ActionName];
  const action: Record<string, unknown> = { action: name };
  for (const [key, { expected, read }] of Object.entries(fields)) {
    const given = Object.hasOwn(json, key) ? json[key] : undefined;
    action[key] = read(given, nowMs);
    if (action[key] === undefined) {
      return { kind: "invalid", why: `${key} is ${describe(given)}; ${expected} is expected.` };
    }
  }
  const why = problemOf(json, action);
  return why === null
    ? { kind: "action", action: action as unknown as Action }
    : { kind: "invalid", why };
}

const REPLAY_NAME = /^[\w-]{1,60}$/;

/** The problem of a body whose fields are as expected, one by one; null if there is none. */
function problemOf(json: JsonObject, action: Readonly<Record<string, unknown>>): string | null {
  const { since = "", until = "~", replay } = action;
  if (`${since}` >= `${until}`)
    return "The range ends before it starts, so there is nothing to replay.";
  if (replay !== undefined && !REPLAY_NAME.test(`${replay}`))
    return "The value of replay is not the name of a replay.";
  const strange = Object.keys(json).find((name) => !Object.hasOwn(action, name));
  return strange === undefined ? null : `The action does not have a field ${describe(strange)}.`;
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
