/** Reads the topic `operator-actions` from its beginning to its end, as commands need it. */

import { KnownOperatorActions } from "../../control/operator-action-state.ts";
import { OPERATIONS_PARTITION, readOperatorAction } from "../../control/operator-actions.ts";
import type { Kafka } from "../../kafka/port.ts";

const STEP_BYTES = 1_048_576;

/** All that it says now; nothing where there is no such topic yet. */
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
