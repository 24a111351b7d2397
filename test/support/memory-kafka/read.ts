/** Reads a part of a partition of the cluster in memory, with a round trip for each step. */

import { type IncomingRecord, recordBytes } from "../../../src/domain/record.ts";
import type { ReadRange } from "../../../src/kafka/port.ts";
import type { MemoryBroker } from "./broker.ts";
import type { Party } from "./network.ts";

interface Step {
  readonly records: readonly IncomingRecord[];
  readonly next: number;
}

export async function* readRange(
  broker: MemoryBroker,
  party: Party,
  range: ReadRange,
): AsyncGenerator<readonly IncomingRecord[], void, undefined> {
  const { signal } = range;
  for (let position = range.from; position < range.to && !signal.aborted; ) {
    const step = await responded(broker, party, signal, () => stepOf(broker, range, position));
    if (step === null) return;
    position = step.next;
    if (step.records.length > 0) yield step.records;
  }
}

/** How long a broker holds a request if nothing is written. */
const FOLLOW_WAIT_MAX_MS = 5_000;
const MISSING_EVERY_MS = 250;

export async function* followLog(
  broker: MemoryBroker,
  party: Party,
  range: Omit<ReadRange, "to">,
): AsyncGenerator<readonly IncomingRecord[], void, undefined> {
  const { signal, topic, partition } = range;
  for (let position = range.from; !signal.aborted; ) {
    const log = broker.topics.find(topic)?.partition(partition);
    if (log !== undefined && log.end < position) return;
    const to = log?.end ?? position;
    if (log !== undefined && broker.network.isUp) range.onResponse?.();
    for await (const records of readRange(broker, party, { ...range, from: position, to })) {
      position = (records.at(-1)?.offset ?? position) + 1;
      yield records;
    }
    const appended = new AbortController();
    const wake = () => appended.abort();
    log?.onAppend.add(wake);
    const waitMs = log === undefined ? MISSING_EVERY_MS : FOLLOW_WAIT_MAX_MS;
    const either = AbortSignal.any([signal, appended.signal]);
    if (log === undefined || log.end <= position) {
      await broker.clock.sleep(waitMs, either).catch(() => undefined);
    }
    log?.onAppend.delete(wake);
  }
}

function stepOf(broker: MemoryBroker, range: ReadRange, position: number): Step {
  const { topic, partition, to, maxBytes } = range;
  const log = broker.topics.find(topic)?.partition(partition);
  if (log === undefined) throw new Error(`cannot read ${topic}: it does not exist`);
  const records: IncomingRecord[] = [];
  let bytes = 0;
  for (const record of log.records.slice(log.indexOf(position))) {
    bytes += recordBytes(record);
    if (record.offset >= to) break;
    if (records.length > 0 && bytes > maxBytes) return { records, next: record.offset };
    records.push(record);
  }
  return { records, next: to };
}

/** Null if the signal aborted first. */
function responded(
  { network }: MemoryBroker,
  party: Party,
  signal: AbortSignal,
  ask: () => Step,
): Promise<Step | null> {
  return new Promise((resolve, reject) => {
    const onAbort = () => resolve(null);
    signal.addEventListener("abort", onAbort, { once: true });
    const respond = (done: () => void) =>
      network.toClient(party, () => {
        signal.removeEventListener("abort", onAbort);
        done();
      });
    network.toBroker(party, () => {
      try {
        const step = ask();
        respond(() => resolve(step));
      } catch (error) {
        respond(() => reject(error as Error));
      }
    });
  });
}
