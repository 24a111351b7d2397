/**
 * The dead letters of calls for which a destination's rules could not be evaluated: one for each of these
 * destinations. They have neither the call's key nor its value, because the destination may not have all of it, and
 * no rule says what is left. They say where the call is on `calls`, and `switchyard replay` applies the rules again.
 */

import type { DeadLettered } from "../domain/dead-letter-records.ts";
import { DELIVERY_HEADER } from "../domain/delivery.ts";
import type { RoutedCall, Ruled } from "./route-record.ts";

export function failedRules(
  { record, source }: RoutedCall,
  { failed }: Ruled,
): readonly DeadLettered[] {
  const { topic, partition, offset, timestampMs } = record;
  return failed.map(({ destination, error }) => ({
    record: { topic, partition, offset, timestampMs, key: null, value: null, headers: [] },
    reason: "rule-failed",
    error: `${error}: replay the call with \`switchyard replay ${destination}\``,
    headers: [
      [DELIVERY_HEADER.source, Buffer.from(source.id)],
      [DELIVERY_HEADER.destination, Buffer.from(destination)],
    ],
  }));
}
