/**
 * Fields of calls, audience syncs and deletion requests that Avro's schemas write in snake_case.
 * Only those at the top of a value are renamed (docs/calls.md#avro).
 */

const CAMEL_CASE: ReadonlyMap<string, string> = new Map(
  [
    ...["messageId", "userId", "anonymousId", "groupId", "previousId"],
    ...["sentAt", "receivedAt", "originalTimestamp", "writeKey", "sourceId"],
    ...["audienceId", "audienceName", "syncId", "userIds", "traitName"],
    "sourceIds",
  ].map((name) => [name.replace(/[A-Z]/g, (deadLetter) => `_${deadLetter.toLowerCase()}`), name]),
);

/** Those of a call, which have milliseconds. */
const TIMES: ReadonlySet<string> = new Set([
  ...["timestamp", "originalTimestamp", "sentAt", "receivedAt"],
]);

/** The names that a record's fields have as JSON: a field that is there in camelCase keeps its name. */
export function namesAtTop(fields: readonly string[]): readonly string[] {
  const present = new Set(fields);
  return fields.map((field) => {
    const renamed = CAMEL_CASE.get(field);
    return renamed === undefined || present.has(renamed) ? field : renamed;
  });
}

export function isTimeOfCall(name: string): boolean {
  return TIMES.has(name);
}
