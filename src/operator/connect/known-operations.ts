/** Reads the compacted topics `operator-actions` and `suppressions`, for commands. */

import { randomBytes } from "node:crypto";
import type { IncomingRecord } from "../../domain/record.ts";
import type { Kafka } from "../../kafka/port.ts";
import { KnownOperatorActions } from "../../router/control/operator-action-state.ts";
import { OPERATIONS_PARTITION, readOperatorAction } from "../../router/control/operator-actions.ts";
import { KnownSuppressions } from "../../router/suppression/known-suppressions.ts";
import {
  readSuppression,
  type Suppression,
  suppressionOf,
} from "../../router/suppression/suppression-record.ts";

const STEP_BYTES = 1_048_576;

type Reads = Pick<Kafka, "admin" | "read">;

/** Returns all current actions. There are none if the topic does not exist yet. */
export async function readKnownOperatorActions(
  kafka: Reads,
  topic: string,
  signal: AbortSignal,
): Promise<KnownOperatorActions> {
  const known = new KnownOperatorActions();
  for await (const record of recordsOf(kafka, topic, signal)) {
    const operation = readOperatorAction(record);
    if (operation.kind !== "refused") known.apply(operation);
  }
  return known;
}

/** Returns what the stages know, without user IDs. Nobody is suppressed if the topic does not exist yet. */
export async function readKnownSuppressions(
  kafka: Reads,
  topic: string,
  signal: AbortSignal,
): Promise<KnownSuppressions> {
  const known = new KnownSuppressions(randomBytes(4).readInt32LE());
  for await (const record of recordsOf(kafka, topic, signal)) known.apply(record);
  return known;
}

/** Returns the suppressed users, in the order in which they were last written. @param only null for all users. */
export async function readSuppressions(
  kafka: Reads,
  topic: string,
  signal: AbortSignal,
  only: ReadonlySet<string> | null = null,
): Promise<readonly Suppression[]> {
  const found = new Map<string, Suppression>();
  for await (const record of recordsOf(kafka, topic, signal)) {
    const read = readSuppression(record);
    if (read.kind !== "suppressed" && read.kind !== "lifted") continue;
    if (only !== null && !only.has(read.userId)) continue;
    found.delete(read.userId);
    if (read.kind === "suppressed") found.set(read.userId, suppressionOf(read, record));
  }
  return [...found.values()];
}

async function* recordsOf(
  kafka: Reads,
  topic: string,
  signal: AbortSignal,
): AsyncGenerator<IncomingRecord, void, undefined> {
  const [log] = (await kafka.admin.offsetsOf([topic])).get(topic) ?? [];
  if (log === undefined) return;
  const range = { topic, partition: OPERATIONS_PARTITION, from: log.first, to: log.end };
  for await (const records of kafka.read({ ...range, maxBytes: STEP_BYTES, signal })) {
    yield* records;
  }
}
