/**
 * Publishes calls: reads lines and writes them as records, in order.
 *
 *   a line that                                    is
 *   is blank                                       skipped
 *   is longer than the maximum of a record         rejected
 *   the route stage would dead-letter              rejected, with the same reason
 *   is the call of a suppressed user               skipped, and counted
 *   any other                                      written unchanged, with the key of its user
 */

import { counted } from "../../../base/words/count.ts";
import { type Call, callKey } from "../../../domain/call.ts";
import { callTimes } from "../../../domain/call-time.ts";
import { decodeValue } from "../../../domain/decode.ts";
import type { Source } from "../../../domain/destination.ts";
import { visibleCell } from "../../../domain/escape-control.ts";
import type { SourceId } from "../../../domain/ids.ts";
import { parseCallFields, parseCallType } from "../../../domain/parse-call.ts";
import type { OutgoingRecord, RecordHeaders } from "../../../domain/record.ts";
import { type SourceLookup, sourceLookup, sourceOf } from "../../../domain/source-of.ts";
import type { Producer, RejectedRecord } from "../../../kafka/port.ts";
import { NotWrittenError } from "../../../operator/connect/command-producer.ts";
import { startProgress } from "../../../operator/connect/progress.ts";
import { type Shell, tell } from "../../../operator/connect/shell.ts";
import type { KnownSuppressions } from "../../../router/suppression/known-suppressions.ts";
import { type Line, linesOf } from "../input.ts";

export interface PublishOptions {
  readonly input: AsyncIterable<Buffer>;
  readonly producer: Producer;
  /** The topic `calls`. */
  readonly topic: string;
  readonly sources: readonly Source[];
  readonly defaultSource: SourceId | null;
  /** The headers of each record: `source-id`, or none if each call names its source or the default source applies. */
  readonly headers: RecordHeaders;
  /** Absent if nobody is suppressed. */
  readonly suppressions?: KnownSuppressions;
  /** Aborts reading. Lines that have already been read are still written, unless the producer fails. */
  readonly signal: AbortSignal;
  /** True to print JSON objects instead of sentences. */
  readonly json?: boolean;
  readonly shell: Shell;
}

/** A record in `calls` has at most 1 MiB, of which 1 KiB is reserved for the key and the headers. */
const LINE_MAX_BYTES = 1_048_576 - 1_024;

/** Returns the exit status: 1 if a line was rejected or not written, or if the command was interrupted. */
export async function publish(options: PublishOptions): Promise<0 | 1> {
  const { input, producer, topic, signal, json = false, shell } = options;
  const { sources, defaultSource, headers, suppressions } = options;
  const lookup = sourceLookup(sources, defaultSource);
  const count = { written: 0, refused: 0, suppressed: 0, unreadTimes: 0 };
  let isCut = false;
  using progress = startProgress(shell, () => countText(count));
  const say = (text: string, reported: object) => {
    if (json) shell.out(`${JSON.stringify(reported)}\n`);
    else progress.say(text);
  };
  const refuse = (line: number, error: string) => {
    count.refused += 1;
    say(`line ${line} rejected: ${visibleCell(error)}`, { kind: "rejected", line, error });
  };
  for await (const lines of linesOf(input, LINE_MAX_BYTES, signal)) {
    const records = new Map<OutgoingRecord, number>();
    for (const line of lines) {
      const checked = check(line, headers, lookup);
      if (checked.kind === "refused") refuse(line.number, checked.error);
      else if (suppressions?.matches(checked.call) === true) count.suppressed += 1;
      else {
        records.set({ topic, key: checked.key, value: line.bytes, headers }, line.number);
        if (checked.hasUnreadTime) count.unreadTimes += 1;
      }
    }
    const refused = await send(producer, records, say);
    isCut = refused === null;
    if (refused === null) break;
    for (const { record, error } of refused) {
      refuse(records.get(record) ?? 0, `too-large: ${error}`);
      records.delete(record);
    }
    count.written += records.size;
  }
  progress.end();
  const { written, refused, suppressed, unreadTimes } = count;
  const outcome = {
    kind: "outcome",
    topic,
    written,
    rejected: refused,
    suppressed,
    unreadTimes,
    interrupted: signal.aborted,
  };
  tell({ json }, shell, `${countText(count)} (${topic}).\n`, outcome);
  if (unreadTimes > 0 && !json) {
    shell.err(
      `${counted(unreadTimes, "call")} with a time that cannot be read, which is ignored: see docs/calls.md#timestamps\n`,
    );
  }
  if (signal.aborted) shell.err("Interrupted: the rest of the input was not read.\n");
  return count.refused > 0 || isCut || signal.aborted ? 1 : 0;
}

/**
 * Returns null if the records were not written. In this case, the failure has been reported, and no more records can be
 * written.
 */
async function send(
  producer: Producer,
  records: ReadonlyMap<OutgoingRecord, number>,
  say: (text: string, reported: object) => void,
): Promise<readonly RejectedRecord[] | null> {
  try {
    return await producer.send([...records.keys()]);
  } catch (error) {
    if (!(error instanceof NotWrittenError)) throw error;
    const lines = [...records.values()];
    const [from, to] = [lines[0], lines.at(-1)];
    const reported = { kind: "not-written", fromLine: from, toLine: to, error: error.message };
    say(`lines ${from} to ${to}: ${error.message}`, reported);
    return null;
  }
}

type Checked =
  | {
      readonly kind: "call";
      readonly call: Call;
      readonly key: Buffer;
      readonly hasUnreadTime: boolean;
    }
  | { readonly kind: "refused"; readonly error: string };

/** Makes the same checks as the route stage, so that every record that is written can be routed. */
function check({ bytes }: Line, headers: RecordHeaders, lookup: SourceLookup): Checked {
  if (bytes === null) {
    return { kind: "refused", error: `too-large: the line has more than ${LINE_MAX_BYTES} bytes` };
  }
  const decoded = decodeValue({ value: bytes, headers: [] });
  if (decoded.kind === "refused") return refusal(decoded);
  const typed = parseCallType(decoded.json);
  if (typed.kind === "refused") return refusal(typed);
  const found = sourceOf(headers, decoded.json, lookup);
  if (found.kind === "refused") return refusal(found);
  const parsed = parseCallFields(typed, bytes.length);
  if (parsed.kind === "refused") return refusal(parsed);
  const { call } = parsed;
  const hasUnreadTime = callTimes(call, 0).unread !== null;
  return { kind: "call", call, key: Buffer.from(callKey(call)), hasUnreadTime };
}

function refusal({ reason, error }: { reason: string; error: string }): Checked {
  return { kind: "refused", error: `${reason}: ${error}` };
}

interface PublishCounts {
  readonly written: number;
  readonly refused: number;
  readonly suppressed: number;
}

function countText({ written, refused, suppressed }: PublishCounts): string {
  const skipped =
    suppressed === 0 ? "" : `, ${counted(suppressed, "call")} of suppressed users skipped`;
  return `${counted(written, "call")} written, ${counted(refused, "line")} rejected${skipped}`;
}
