/**
 * Moves a consumer group past one corrupt batch.
 *
 *   step                                                if the process crashes after it
 *   1  read the group's offset, and the batch there     nothing has changed
 *   2  refuse if it is intact, or is another batch      nothing has changed
 *   3  commit the offset after the batch                nothing is left to do: the batch is skipped
 *
 * The coordinator rejects the commit of other processes while the group has members. The command then joins the group
 * for a moment (`group/commit-as-member.ts`), and repeats all steps if the group rebalances meanwhile. Records after the
 * batch that have been processed stay processed.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { counted } from "../../../base/words/count.ts";
import type { CorruptBatch } from "../../../domain/corrupt-batch.ts";
import { errorTypes } from "../../../kafka/cluster/kafka-error.ts";
import { passedCommit } from "../../../kafka/consume/completion.ts";
import type { CommittedOffset, Kafka } from "../../../kafka/port.ts";
import { type ExitStatus, type Shell, tell } from "../../../operator/connect/shell.ts";

const TRY_AGAIN_MS = 500;
/** Longer than several rebalances, and longer than the session timeout of a dead member. */
const GIVE_UP_AFTER_MS = 150_000;
const HAS_MEMBERS = ["UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION", "REBALANCE_IN_PROGRESS"];

export interface SkipOptions {
  readonly topic: string;
  readonly partition: number;
  /** The offset of the batch that the error contains. */
  readonly offset: number;
  readonly group: string;
  readonly dryRun: boolean;
  /** True to print one JSON object instead of sentences. */
  readonly json?: boolean;
  readonly signal: AbortSignal;
}

export async function skipCorrupt(
  kafka: Kafka,
  options: SkipOptions,
  shell: Shell,
): Promise<ExitStatus> {
  const { topic, partition, group, dryRun, json = false, signal } = options;
  const untilMs = performance.now() + GIVE_UP_AFTER_MS;
  for (let tries = 0; ; tries += 1) {
    const at = await groupAt(kafka, options);
    const corrupt = await kafka.corruptionAt({ topic, partition, offset: at.offset });
    const refusal = refusalOf(options, at, corrupt);
    const done = (outcome: SkipOutcome, text: string, error: string | null = null) => {
      if (error !== null) shell.err(`error: ${error}\n`);
      if (json || error === null) {
        tell({ json }, shell, text, outcomeJson(options, at, corrupt, { outcome, error }));
      }
      return error === null ? 0 : 1;
    };
    if (corrupt === null || refusal !== null) return done("rejected", "", refusal);
    if (tries === 0 && !json) shell.out(`${foundText(corrupt, group, at.offset)}\n`);
    if (dryRun) return done("would-skip", "Nothing was changed (--dry-run).\n");
    try {
      const commit = passedCommit(at, corrupt.behind);
      if (tries === 0) await kafka.admin.commit(group, topic, [commit]);
      else await kafka.commitAsMember(group, [{ topic, ...commit }], signal);
      const text = `Skipped. ${group} continues at offset ${corrupt.behind} within a minute.\n`;
      return done("skipped", text);
    } catch (error) {
      const types = errorTypes(error);
      if (!HAS_MEMBERS.some((type) => types.has(type))) throw error;
    }
    if (performance.now() >= untilMs) {
      const error = `${group} keeps rebalancing. Stop the processes of its stage, then try again.`;
      return done("rejected", "", error);
    }
    if (tries === 0) shell.err(`Joining ${group} for a moment, because it has members ...\n`);
    await sleep(TRY_AGAIN_MS, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) throw new Error("interrupted; nothing was changed");
  }
}

/** Returns the offset at which the group continues: the committed offset, or the offset of the first record. */
async function groupAt(
  { admin }: Kafka,
  { topic, partition, group }: SkipOptions,
): Promise<CommittedOffset> {
  const logs = await admin.offsets(topic);
  const log = logs.find((each) => each.partition === partition);
  if (log === undefined) throw new Error(`${topic} has no partition ${partition}`);
  const all = await admin.committed(group, topic);
  const committed = all.find((each) => each.partition === partition);
  if (committed !== undefined && committed.offset >= log.first) return committed;
  return { partition, offset: log.first, metadata: "" };
}

/** Returns why nothing is skipped; null if the batch is the requested one and is corrupt. */
export function refusalOf(
  { topic, partition, offset, group }: SkipOptions,
  { offset: position }: CommittedOffset,
  corrupt: CorruptBatch | null,
): string | null {
  const where = `${group} is at offset ${position} of partition ${partition} of ${topic}`;
  if (corrupt === null) {
    if (position > offset) return `${where}, and has already passed offset ${offset}.`;
    if (position < offset) {
      return `${where}: records before the batch have not been processed. Let the stage process them, then try again.`;
    }
    return `${where}, and the batch there is intact. Nothing is skipped.`;
  }
  if (corrupt.offset === offset || position === offset) return null;
  return `${where}, and the corrupt batch there begins at ${corrupt.offset}, not at ${offset}.`;
}

type SkipOutcome = "skipped" | "would-skip" | "rejected";

/**
 * Returns the outcome as JSON, in which every key is always present.
 * @param at the group's offset, before any batch was skipped.
 */
function outcomeJson(
  { topic, partition, group, dryRun }: SkipOptions,
  at: CommittedOffset,
  corrupt: CorruptBatch | null,
  { outcome, error }: { readonly outcome: SkipOutcome; readonly error: string | null },
) {
  return {
    outcome,
    error,
    topic,
    partition,
    group,
    dryRun,
    groupOffset: at.offset,
    firstOffset: corrupt?.offset ?? null,
    lastOffset: corrupt === null ? null : corrupt.behind - 1,
    corruption: corrupt?.corruption ?? null,
    isEndKnown: corrupt?.isEndKnown ?? null,
    recordsLost: corrupt === null ? null : lostRecords(corrupt, at.offset),
  };
}

/** Returns the maximum number of records that are lost. @param position the group's offset. */
function lostRecords({ behind, offset }: CorruptBatch, position: number): number {
  return behind - Math.max(position, offset);
}

function foundText(corrupt: CorruptBatch, group: string, position: number): string {
  const { topic, partition, offset, behind, corruption, isEndKnown } = corrupt;
  const end = isEndKnown
    ? ""
    : `The end of the batch is unknown: ${behind} is the first offset after it that can be read.\n`;
  const lost = lostRecords(corrupt, position);
  return (
    `Corrupt batch in ${topic}, partition ${partition}: offsets ${offset} to ${behind - 1} (${corruption}).\n${end}` +
    `${group} is at offset ${position}: at most ${counted(lost, "record")} will be lost.`
  );
}
