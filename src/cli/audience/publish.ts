/**
 * Publishes a complete sync of an audience: ids in, one a line, `begin`, `members` and `end` out.
 *
 *   the input                          then
 *   cannot be read to its end          nothing is written
 *   has a line that is no id           the same
 *   is refused (`whole-list.ts`)       the same, unless it is forced
 *   any other                          all of it is written; the `end` has the number of different ids
 *
 *   an interruption, or a crash        then
 *   before the `begin` is written      nothing is written
 *   after it                           no `end`: ids that were written are members, nobody is removed.
 *                                      The next publication has another sync id: its `begin` abandons
 *                                      this sync, and its `end` removes who is not in the list
 *   after the `end`                    the sync is complete. The next publication of the same list
 *                                      changes nothing
 */

import { parseSync } from "../../audience/parse-sync.ts";
import type { OutgoingRecord } from "../../domain/record.ts";
import { visibleCell } from "../../domain/visible.ts";
import type { Producer } from "../../kafka/port.ts";
import type { OrderedStore } from "../../store/ordered-store.ts";
import { counted } from "../count.ts";
import { startProgress } from "../progress.ts";
import type { Shell } from "../shell.ts";
import { tell } from "../tell.ts";
import { WrongUsage } from "../wrong-usage.ts";
import { compare, ID_MAX_BYTES, listedIds, readList, refusalOf } from "./whole-list.ts";

export interface PublishAudienceOptions {
  readonly input: AsyncIterable<Buffer>;
  readonly producer: Pick<Producer, "send">;
  /** The topic of syncs. */
  readonly topic: string;
  readonly audienceId: string;
  readonly audienceName: string;
  readonly syncId: string;
  /** Empty; for the ids of the list. */
  readonly seen: OrderedStore;
  /** The members of the audience now, asked for once the list is read. */
  readonly members: () => AsyncIterable<readonly string[]>;
  /** Publishes a list also when it is refused. */
  readonly force: boolean;
  readonly json?: boolean;
  readonly signal: AbortSignal;
  readonly shell: Shell;
}

const NO_MEMBERS = { members: 0, missing: 0, isCut: false };
const UNENDED =
  "The last line is not ended by a line feed. If the list was cut there, publish it again.";

/** Returns the exit status. @throws WrongUsage when no sync can have this name or id. */
export async function publishAudience(options: PublishAudienceOptions): Promise<0 | 1> {
  const { topic, audienceId, audienceName, syncId, signal, shell } = options;
  const begin = { type: "begin", audienceId, audienceName, syncId };
  const parsed = parseSync(begin);
  if (parsed.kind === "refused") throw new WrongUsage(parsed.error);
  const count = { read: 0, written: 0 };
  using progress = startProgress(
    shell,
    () => `${counted(count.read, "user")} read, ${count.written.toLocaleString("en")} written`,
  );
  const against = await readAndJudge(options, count);
  const outcome = (end: "written" | "interrupted" | "refused", error: string | null = null) => ({
    end,
    error,
    audience: audienceId,
    sync: syncId,
    topic,
    users: count.read,
    written: count.written,
  });
  if (typeof against === "string") {
    progress.say(against);
    tell(options, shell, "", outcome(signal.aborted ? "interrupted" : "refused", against));
    return 1;
  }
  if (against.unendedId !== null) progress.say(UNENDED);
  if (!(await write(options, begin, count))) {
    progress.say("Interrupted: the sync was not ended, so nobody is removed.");
    tell(options, shell, "", outcome("interrupted"));
    return 1;
  }
  progress.end();
  const text = `${counted(count.read, "user")} of audience ${visibleCell(audienceId)} written as sync ${syncId} (${topic}).\n`;
  tell(options, shell, text, outcome("written"));
  return 0;
}

/** A text for the person in front of it when nothing is to be written. */
async function readAndJudge(
  { input, seen, members, audienceId, force, signal }: PublishAudienceOptions,
  count: { read: number },
): Promise<string | { readonly unendedId: string | null }> {
  const { wrongLine, unendedId } = await readList(input, seen, signal, (fresh) => {
    count.read += fresh;
  });
  if (wrongLine !== null) {
    return (
      `line ${wrongLine} is no id: text of at most ${ID_MAX_BYTES} bytes in UTF-8 is expected.\n` +
      "Nothing was written. Put the line right and publish the list again."
    );
  }
  const isCompared = !force && count.read > 0 && !signal.aborted;
  const comparing = isCompared ? compare(seen, members(), unendedId) : NO_MEMBERS;
  const compared = await Promise.resolve(comparing).catch((error: unknown) => {
    // Reading the members ends in an error too where it is interrupted.
    if (!signal.aborted) throw error;
    return NO_MEMBERS;
  });
  if (signal.aborted) return "Interrupted: nothing was written.";
  const refusal = force ? null : refusalOf(count.read, compared);
  if (refusal === null) return { unendedId };
  return (
    `error: audience ${visibleCell(audienceId)} is not published: ${refusal}.\n` +
    "Nothing was written. If the list is right, publish it with --force."
  );
}

/** Whether it was written whole. */
async function write(
  options: PublishAudienceOptions,
  begin: object,
  count: { readonly read: number; written: number },
): Promise<boolean> {
  const { audienceId, syncId, seen, signal } = options;
  await send(options, begin);
  for await (const userIds of listedIds(seen)) {
    if (signal.aborted) return false;
    await send(options, { type: "members", audienceId, syncId, userIds });
    count.written += userIds.length;
  }
  if (signal.aborted) return false;
  await send(options, { type: "end", audienceId, syncId, count: count.read });
  return true;
}

async function send(options: PublishAudienceOptions, value: object): Promise<void> {
  const { producer, topic, audienceId } = options;
  const record: OutgoingRecord = {
    topic,
    key: Buffer.from(audienceId),
    value: Buffer.from(JSON.stringify(value)),
    headers: [],
  };
  const [refused] = await producer.send([record]);
  if (refused !== undefined) throw new Error(`${topic}: ${refused.error}`);
}
