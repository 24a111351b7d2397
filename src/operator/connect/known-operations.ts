/** Reads the whole topic `operator-actions`, for commands. */

import type { Kafka } from "../../kafka/port.ts";
import { KnownOperatorActions } from "../../router/control/operator-action-state.ts";
import { OPERATIONS_PARTITION, readOperatorAction } from "../../router/control/operator-actions.ts";

const STEP_BYTES = 1_048_576;

/** Returns all current actions. There are none if the topic does not exist yet. */
export async function readKnownOperatorActions(
  kafka: Pick<Kafka, "admin" | "read">,
  topic: string,
  signal: AbortSignal,
): Promise<KnownOperatorActions> {
  const known = new KnownOperatorActions();
  const [log] = (await kafka.admin.offsetsOf([topic])).get(topic) ?? [];
  if (log === undefined) return known;
  const range = { topic, partition: OPERATIONS_PARTITION, from: log.first, to: log.end };
  for await (const records of kafka.read({ ...range, maxBytes: STEP_BYTES, signal })) {
    for (const record of records) {
      const operation = readOperatorAction(record);
      if (operation.kind !== "refused") known.apply(operation);
    }
  }
  return known;
}
