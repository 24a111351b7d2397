/**
 * Quick looks that leave out almost all records, since a day of calls is many.
 *
 *   the message id                                 a call is read as JSON if its value has
 *   has only characters that JSON writes as are    its bytes
 *   has others, such as `/` or `é`                 the bytes of its longest part without them
 *   has nothing but others                         any bytes
 *
 * JSON may write any character as an escape, also a plain letter. No library of ours or others does:
 * such a call is not found. On all other topics the id stands in a header, as it is.
 */

const PLAIN = /[\w.:@+=~-]+/g;
/** Shorter parts are in too many values to be of use. */
const PART_MIN = 3;

export type Look = (bytes: Buffer | null | undefined) => boolean;

/** Of the value of a call. */
export function mayBeCall(messageId: string): Look {
  const parts = messageId.match(PLAIN) ?? [];
  const longest = parts.reduce((one, other) => (other.length > one.length ? other : one), "");
  if (longest.length < Math.min(PART_MIN, messageId.length)) return (bytes) => bytes !== null;
  return hasBytes(longest);
}

/** Of a record as Kafka encodes it; one that is not at hand so is looked at in any case. */
export function mayCarry(messageId: string): Look {
  const look = hasBytes(messageId);
  return (bytes) => bytes === undefined || look(bytes);
}

function hasBytes(text: string): Look {
  const wanted = Buffer.from(text);
  return (bytes) => bytes?.includes(wanted) === true;
}

/** The place that a call without an id of its own is named by; null: the id names none. */
export function placeIn(
  messageId: string,
  callsTopic: string,
): { readonly partition: number; readonly offset: number } | null {
  if (!messageId.startsWith(`${callsTopic}/`)) return null;
  const found = /^(\d{1,9})\/(\d{1,15})$/.exec(messageId.slice(callsTopic.length + 1));
  return found === null ? null : { partition: Number(found[1]), offset: Number(found[2]) };
}
