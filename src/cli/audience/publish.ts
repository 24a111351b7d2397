/**
 * Publishes a complete sync of an audience: ids in, one a line, `begin`, `members` and `end` out.
 *
 *   the input                          then
 *   cannot be read to its end          nothing is written
 *   has a line that is no id           the same
 *   cannot be compared, because        the same, unless it is forced
 *     earlier syncs of the audience
 *     are not applied (`unapplied.ts`)
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
import type { OrderedStore } from "../../audience/store/ordered-store.ts";
import { visibleCell } from "../../domain/escape-control.ts";
import type { OutgoingRecord } from "../../domain/record.ts";
import type { Producer } from "../../kafka/port.ts";
import { instantText } from "../../operate/connect/instant.ts";
import { startProgress } from "../../operate/connect/progress.ts";
import type { Shell } from "../../operate/connect/shell.ts";
import { tell } from "../../operate/connect/tell.ts";
import { ageText } from "../../words/age.ts";
import { counted } from "../../words/count.ts";
import { WrongUsage } from "../../words/wrong-usage.ts";
import type { Unapplied } from "./unapplied.ts";
import {
  type Compared,
  compare,
  ID_MAX_BYTES,
  listedIds,
  readList,
  refusalOf,
  refusalOfAny,
} from "./whole-list.ts";

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
  /** Waits until earlier syncs of the audience are applied: `untilApplied`. */
  readonly applied: (onWaiting: (records: number) => void) => Promise<Unapplied | null>;
  /** The members of the audience now, asked for once these are applied. */
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
  const count = { read: 0, written: 0, unapplied: 0 };
  using progress = startProgress(shell, () =>
    count.unapplied > 0
      ? `Waiting until the audience stage has applied ${counted(count.unapplied, "record")} of earlier syncs`
      : `${counted(count.read, "user")} read, ${count.written.toLocaleString("en")} written`,
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
  options: PublishAudienceOptions,
  count: { read: number; unapplied: number },
): Promise<string | { readonly unendedId: string | null }> {
  const { input, seen, audienceId, force, signal } = options;
  const list = await readList(input, seen, signal, (fresh) => {
    count.read += fresh;
  });
  const { wrongLine, unendedId } = list;
  if (wrongLine !== null) {
    return (
      `line ${wrongLine} is no id: text of at most ${ID_MAX_BYTES} bytes in UTF-8 is expected.\n` +
      "Nothing was written. Put the line right and publish the list again."
    );
  }
  const refused = refusalOfAny(list);
  const isCompared = !force && refused === null && !signal.aborted;
  const comparing = isCompared ? compareWithMembers(options, count, unendedId) : NO_MEMBERS;
  const compared = await Promise.resolve(comparing).catch((error: unknown) => {
    // Waiting, and reading the members, end in an error too if they are interrupted.
    if (!signal.aborted) throw error;
    return NO_MEMBERS;
  });
  if (signal.aborted) return "Interrupted: nothing was written.";
  const refusal = force ? null : whyNot(refused, compared);
  if (refusal === null) return { unendedId };
  return `error: audience ${visibleCell(audienceId)} is not published: ${refusal.why}.\nNothing was written. ${refusal.todo}`;
}

async function compareWithMembers(
  { applied, members, seen }: PublishAudienceOptions,
  count: { unapplied: number },
  unendedId: string | null,
): Promise<Compared | Unapplied> {
  const unapplied = await applied((records) => {
    count.unapplied = records;
  });
  count.unapplied = 0;
  return unapplied ?? compare(seen, members(), unendedId);
}

/** Null: the list may be published. */
function whyNot(refused: string | null, compared: Compared | Unapplied) {
  if (!("kind" in compared)) {
    const why = refused ?? refusalOf(compared);
    return why === null ? null : { why, todo: "If the list is right, publish it with --force." };
  }
  const uncompared = "--force publishes it without comparing it with the members.";
  if (compared.kind === "unknown") {
    return {
      why: `it cannot be checked whether its earlier syncs have been applied: ${compared.error}`,
      todo: `Fix that, and publish the list again; ${uncompared}`,
    };
  }
  const { records, oldestAtMs } = compared;
  const have = records === 1 ? "has" : "have";
  const since = `${instantText(oldestAtMs)} UTC (${ageText(Date.now() - oldestAtMs)})`;
  return {
    why: `${counted(records, "record")} of its earlier syncs ${have} not been applied, the oldest of them since ${since}, so the members are not known`,
    todo: `Start the audience stage, or wait until it has caught up, and publish the list again; ${uncompared}`,
  };
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
