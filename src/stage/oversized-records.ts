/**
 * Dead-letters records that were read only in part because they exceed the maximum size of their topic
 * (docs/topics.md#limits). These records become dead letters with the reason `too-large`, and are never passed to the
 * stage.
 *
 *   step                           if the process crashes after it
 *   1  the dead letter is written  the record is read again, and a second dead letter is written
 *   2  the record is processed     the same, until the consumer commits
 *
 * A drain waits for the dead letters that are being written.
 */

import { cutWords } from "../domain/cut.ts";
import type { IncomingRecord, RecordHeaders } from "../domain/record.ts";
import type { StageName } from "../domain/stages.ts";
import type { AssignedPartition, ConsumeOptions, PartitionHandler } from "../kafka/port.ts";
import { InFlightCount } from "../runtime/in-flight-set.ts";
import { countDeadLetters } from "../telemetry/count-dead-letters.ts";
import { deadLetterWriter } from "./dead-letter-writer.ts";
import type { StageDeps } from "./running-stage.ts";

type OnAssigned = ConsumeOptions["onAssigned"];

/**
 * @param headersOf returns the headers of a record that its dead letter keeps; by default, those that producers sent.
 * @returns a wrapper of a consumer's partition handlers; its `fail` is called if a dead letter cannot be written.
 */
export function deadLetterOversized(
  deps: Pick<StageDeps, "producer" | "clock" | "metrics" | "log">,
  stage: StageName,
  deadLetterTopic: string,
  headersOf?: (record: IncomingRecord) => RecordHeaders,
): (onAssigned: OnAssigned, fail: (thrown: unknown) => void) => OnAssigned {
  const writer = deadLetterWriter(deps, stage, deadLetterTopic, headersOf);
  const tell = countDeadLetters(deps);
  const recordsIn = deps.metrics.recordsIn.bind({ stage });
  const giveUp = async (records: readonly IncomingRecord[], { finish }: AssignedPartition) => {
    const deadLettered = records.map((record) => ({
      record,
      reason: "too-large" as const,
      error: wordsOf(record),
    }));
    tell((await writer.write([], deadLettered)).deadLetters);
    recordsIn.inc(records.length);
    for (const { offset } of records) finish(offset);
  };
  return (onAssigned, fail) => (assigned) => {
    const handler = onAssigned(assigned);
    const writes = new InFlightCount();
    const { admit } = handler;
    const admitOthers = (record: IncomingRecord) =>
      admit === undefined || isOmitted(record) ? record : admit(record);
    return {
      ...(admit === undefined ? {} : { admit: admitOthers }),
      take: (records) => {
        if (!records.some(isOmitted)) {
          handler.take(records);
          return;
        }
        writes.add(giveUp(records.filter(isOmitted), assigned).catch(fail));
        const others = records.filter((record) => !isOmitted(record));
        if (others.length > 0) handler.take(others);
      },
      drain: async () => {
        await Promise.all([handler.drain(), writes.ended()]);
      },
    } satisfies PartitionHandler;
  };
}

function isOmitted({ omitted }: IncomingRecord): boolean {
  return omitted !== undefined;
}

function wordsOf({ topic, omitted }: IncomingRecord): string {
  if (omitted === undefined) return "";
  const { bytes, cut } = omitted;
  const left = cutWords(cut);
  return `inflates to ${bytes} bytes, more than ${topic} allows${left === "" ? "" : `; it was read without ${left}`}`;
}
