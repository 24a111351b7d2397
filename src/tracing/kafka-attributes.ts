/** The attributes by which a stage's span names its record. */

import type { RecordPlace } from "../domain/record.ts";
import type { Attributes } from "./port.ts";

/**
 * By OpenTelemetry's semantic conventions for messaging systems, version 1.45.
 *
 * @param operation what the stage does, in one word.
 */
export function kafkaAttributes(operation: string, group: string, place: RecordPlace): Attributes {
  return {
    "messaging.system": "kafka",
    "messaging.operation.type": "process",
    "messaging.operation.name": operation,
    "messaging.consumer.group.name": group,
    "messaging.destination.name": place.topic,
    "messaging.destination.partition.id": `${place.partition}`,
    "messaging.kafka.offset": place.offset,
  };
}
