/**
 * Builds the body of a webhook, byte for byte (docs/webhooks.md#shapes).
 *
 *   type       fields of the standard payload, in this order
 *   page       version, type, userId, properties, timestamp
 *   screen     version, type, userId, name, timestamp, context
 *   identify   version, type, userId, traits, timestamp
 *   track      version, type, userId, event, properties, timestamp
 *   alias      version, type, `Previous ID`, `User ID`, timestamp
 *   group      version, type, groupId, userId, traits, timestamp
 *   delete     type, userId, timestamp
 *
 * If a call has no userId, its body contains anonymousId instead, unless the destination's rules have removed both.
 * Absent objects are written as `{}`, and an absent screen name is omitted. With `payload: full`, the fields that
 * `withTheRest` lists are appended, except in delete notifications, which always have the same three fields. Values
 * are written as JSON.parse returned them, so a receiver that applies JSON.parse and then JSON.stringify gets the
 * same body.
 */

import type { DeliveredCall } from "../../../domain/call.ts";
import type { Delivery } from "../../../domain/delivery.ts";
import { asIsoTimestamp, isoTimestamp, isoTimestamps } from "../../../domain/timestamp.ts";
import type { Content } from "../port.ts";

type BodyFields = Record<string, unknown>;

/**
 * There are two functions, one for the delivery's times and one for the call's times, because each of them caches
 * the last second that it formatted.
 */
const timeOfReceipt = isoTimestamps();

/** The fields of a webhook that come from its delivery. They are the same in every attempt and after a replay. */
export type PayloadTimes = Pick<Delivery, "messageId" | "timestampMs" | "receivedAtMs">;

export function payload(
  content: Content,
  delivery: PayloadTimes,
  shape: "standard" | "full",
): string {
  const timestamp = isoTimestamp(delivery.timestampMs);
  if (content.type === "delete") {
    return JSON.stringify({ type: "delete", userId: content.userId, timestamp });
  }
  const fields = standard(content, timestamp);
  return JSON.stringify(shape === "full" ? withTheRest(fields, content, delivery) : fields);
}

function standard(call: DeliveredCall, timestamp: string): BodyFields {
  const { type } = call;
  const version = 1;
  switch (type) {
    case "page":
      return { version, type, ...caller(call), properties: call.properties ?? {}, timestamp };
    case "screen": {
      const name = call.name ?? undefined;
      return { version, type, ...caller(call), name, timestamp, context: call.context ?? {} };
    }
    case "identify":
      return { version, type, ...caller(call), traits: call.traits ?? {}, timestamp };
    case "track": {
      const { event, properties } = call;
      return { version, type, ...caller(call), event, properties: properties ?? {}, timestamp };
    }
    case "alias":
      return {
        version,
        type,
        "Previous ID": call.previousId ?? undefined,
        "User ID": call.userId ?? undefined,
        timestamp,
      };
    case "group": {
      const { groupId, traits } = call;
      return { version, type, groupId, ...caller(call), traits: traits ?? {}, timestamp };
    }
  }
}

function caller({ userId, anonymousId }: DeliveredCall): BodyFields {
  return userId === null ? { anonymousId: anonymousId ?? undefined } : { userId };
}

/**
 * Appends the call's other fields, except the write key. Fields that already exist keep their position and value.
 * Undefined fields do not appear in the JSON.
 */
function withTheRest(fields: BodyFields, call: DeliveredCall, delivery: PayloadTimes): BodyFields {
  return {
    ...fields,
    properties: fields.properties ?? call.properties ?? undefined,
    traits: fields.traits ?? call.traits ?? undefined,
    anonymousId: fields.anonymousId ?? call.anonymousId ?? undefined,
    messageId: delivery.messageId,
    category: call.category ?? undefined,
    name: call.name ?? undefined,
    groupId: call.groupId ?? undefined,
    previousId: call.previousId ?? undefined,
    context: fields.context ?? call.context ?? undefined,
    integrations: call.integrations ?? undefined,
    originalTimestamp: asTime(call.originalTimestamp),
    sentAt: asTime(call.sentAt),
    receivedAt: timeOfReceipt(delivery.receivedAtMs),
  };
}

/** All timestamps are sent in the same format. A timestamp that cannot be parsed counts as absent. */
function asTime(given: unknown): string | undefined {
  return given === undefined ? undefined : (asIsoTimestamp(given) ?? undefined);
}
