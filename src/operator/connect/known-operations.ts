/** Reads whole compacted topics with one partition, for commands. */

import { randomBytes } from "node:crypto";
import type { IncomingRecord } from "../../domain/record.ts";
import type { Kafka } from "../../kafka/port.ts";
import { KnownOperatorActions } from "../../router/control/operator-action-state.ts";
import { readOperatorAction } from "../../router/control/operator-actions.ts";
import { KnownSuppressions } from "../../router/suppression/known-suppressions.ts";
import {
  readSuppression,
  type Suppression,
  suppressionOf,
} from "../../router/suppression/suppression-record.ts";

const PARTITION = 0;
const STEP_BYTES = 1_048_576;

type Reads = Pick<Kafka, "admin" | "read">;

/**
 * Passes each record of the topic to `take`, until the end that the topic had at the start. A topic that does not exist
 * yet counts as empty.
 *
 * @param from where an earlier reading ended; if the topic now ends before that, it is read whole.
 * @returns where this reading ended.
 */
export async function readWhole(
  kafka: Reads,
  topic: string,
  signal: AbortSignal,
  take: (record: IncomingRecord) => void,
  from = 0,
): Promise<number> {
  const logs = (await kafka.admin.offsetsOf([topic])).get(topic) ?? [];
  const log = logs.find(({ partition }) => partition === PARTITION);
  if (log === undefined) return from;
  const first = from > log.end ? log.first : Math.max(from, log.first);
  const range = { topic, partition: PARTITION, from: first, to: log.end };
  for await (const records of kafka.read({ ...range, maxBytes: STEP_BYTES, signal })) {
    for (const record of records) take(record);
  }
  return log.end;
}

/** Returns all current actions. */
export async function readKnownOperatorActions(
  kafka: Reads,
  topic: string,
  signal: AbortSignal,
): Promise<KnownOperatorActions> {
  const known = new KnownOperatorActions();
  await readWhole(kafka, topic, signal, (record) => {
    const operation = readOperatorAction(record);
    if (operation.kind !== "refused") known.apply(operation);
  });
  return known;
}

/** What the stages know, without user IDs. */
export class ReadSuppressions {
  readonly #known = new KnownSuppressions(randomBytes(4).readInt32LE());
  readonly #kafka: Reads;
  readonly #topic: string;
  readonly #signal: AbortSignal;
  #next = 0;

  constructor(kafka: Reads, topic: string, signal: AbortSignal) {
    this.#kafka = kafka;
    this.#topic = topic;
    this.#signal = signal;
  }

  /** Reads what was written since the last reading. The result is always the same object. */
  async read(): Promise<KnownSuppressions> {
    const take = (record: IncomingRecord) => void this.#known.apply(record);
    this.#next = await readWhole(this.#kafka, this.#topic, this.#signal, take, this.#next);
    return this.#known;
  }
}

/** Returns the suppressed users, in the order in which they were last written. @param only null for all users. */
export async function readSuppressions(
  kafka: Reads,
  topic: string,
  signal: AbortSignal,
  only: ReadonlySet<string> | null = null,
): Promise<readonly Suppression[]> {
  const found = new Map<string, Suppression>();
  await readWhole(kafka, topic, signal, (record) => {
    const read = readSuppression(record);
    if (read.kind !== "suppressed" && read.kind !== "lifted") return;
    if (only !== null && !only.has(read.userId)) return;
    found.delete(read.userId);
    if (read.kind === "suppressed") found.set(read.userId, suppressionOf(read.userId, record));
  });
  return [...found.values()];
}
