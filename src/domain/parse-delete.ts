/**
 * Reads a delete notification on `deliveries.<destination>`, as the deletion stage writes it:
 * `{"type":"delete","userId","timestamp","messageId"}`. A delete notification is not a call, and applications cannot
 * publish one.
 */

import type { InvalidCall } from "./call.ts";
import { describe, isJsonObject, kindOf } from "./json.ts";

export interface DeleteNotification {
  readonly type: "delete";
  /** Never empty. */
  readonly userId: string;
}

export type ParsedDelete =
  | { readonly kind: "delete"; readonly notification: DeleteNotification }
  | InvalidCall;

/** Does not read the time or the message ID, which are also in the delivery's headers. */
export function parseDelete(json: unknown): ParsedDelete {
  if (!isJsonObject(json))
    return refused(`a delete must be a JSON object, but this is ${kindOf(json)}`);
  const { type, userId } = json;
  if (type !== "delete") return refused(`type is ${describe(type)}, expected delete`);
  if (typeof userId === "string" && userId !== "") return parsed(userId);
  if (typeof userId === "number" && Number.isFinite(userId)) return parsed(`${userId}`);
  return refused(`userId is ${kindOf(userId)}, expected a string or a number`);
}

function parsed(userId: string): ParsedDelete {
  return { kind: "delete", notification: { type: "delete", userId } };
}

function refused(error: string): ParsedDelete {
  return { kind: "refused", reason: "invalid-call", error };
}
