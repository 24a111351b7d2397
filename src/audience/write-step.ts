/** Writes one step of a partition, in the order that `partition-state.ts` describes. */

import type { IncomingRecord, OutgoingRecord } from "../domain/record.ts";
import { asItCame } from "./own-offsets.ts";
import type { Pending } from "./partition-state.ts";
import type { DeadLetterWriter, Writer } from "./ports.ts";
import type { Work } from "./work.ts";

export interface StepWriter extends Pick<Work, "state" | "partition" | "registry" | "events"> {
  readonly writer: Writer;
  readonly deadLetterWriter: DeadLetterWriter;
  /** Throws if the partition may belong to another process. */
  readonly mustBeOurs: () => Promise<void>;
}

/** Writes all pending writes. All records below `position` must have been applied. */
export async function writeStep(step: StepWriter, position: number): Promise<void> {
  const { state, writer, registry, partition, mustBeOurs } = step;
  const pending = state.take(position);
  await mustBeOurs();
  const deadLetters = await writeCalls(step, pending);
  if (pending.changelog.length > 0) {
    await mustBeOurs();
    const [refused] = await writer.send(pending.changelog);
    if (refused !== undefined) throw new Error(`Cannot write to the changelog: ${refused.error}`);
  }
  // The checkpoint is correct only if no other process has written to the changelog meanwhile.
  await mustBeOurs();
  if (pending.store.length > 0) await state.store.write(pending.store);
  if (pending.toReport.length > 0) {
    const reported = pending.toReport.map((id) => {
      const audience = state.audience(id);
      const counts = state.counts(audience?.first ?? -1);
      return [id, audience === null ? null : { audience, counts }] as const;
    });
    await registry.report(new Map(reported), partition);
  }
  step.events.changed(pending.changeCounts);
  step.events.deadLettered(deadLetters);
}

async function writeCalls({ deadLetterWriter }: StepWriter, { calls, deadLettered }: Pending) {
  const byRecord = new Map<IncomingRecord, OutgoingRecord[]>();
  for (const [call, from] of calls) {
    const record = asItCame(from);
    const records = byRecord.get(record);
    if (records === undefined) byRecord.set(record, [call]);
    else records.push(call);
  }
  const became = [...byRecord].map(([record, records]) => ({ record, records }));
  const deadLetters = deadLettered.map((each) => ({ ...each, record: asItCame(each.record) }));
  return (await deadLetterWriter.write(became, deadLetters)).deadLetters;
}
