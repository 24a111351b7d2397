/**
 * Publishes a complete sync of an audience: reads IDs, one per line, and writes `begin`, `members` and `end`.
 *
 *   the list                           then
 *   cannot be read to its end          nothing is written
 *   has a line that is not an ID       nothing is written
 *   cannot be compared, because        nothing is written without --force
 *     earlier syncs of the audience
 *     are not applied (`unapplied.ts`)
 *   is rejected (`whole-list.ts`)      nothing is written without --force
 *   any other                          it is written completely; `end` has the number of distinct IDs
 *
 *   a crash or an interruption         then
 *   before `begin` is written          nothing is written
 *   between `begin` and `end`          users whose IDs were written become members, and none is removed.
 *                                      The next publication has another sync ID: its `begin` abandons
 *                                      this sync, and its `end` removes members who are not in its list
 *   after `end`                        the sync is complete. Publishing the same list again changes
 *                                      nothing
 */

import { ageText, counted } from "../../../base/words/count.ts";
import { WrongUsage } from "../../../base/words/wrong-usage.ts";
import { visibleCell } from "../../../domain/escape-control.ts";
import type { OutgoingRecord } from "../../../domain/record.ts";
import type { Producer } from "../../../kafka/port.ts";
import { instantText } from "../../../operator/connect/instant.ts";
import { startProgress } from "../../../operator/connect/progress.ts";
import { type Shell, tell } from "../../../operator/connect/shell.ts";
import { parseSync } from "../../../router/audience/parse-sync.ts";
import type { OrderedStore } from "../../../router/audience/store/ordered-store.ts";
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
  /** The topic `audience-syncs`. */
  readonly topic: string;
  readonly audienceId: string;
  readonly audienceName: string;
  readonly syncId: string;
  /** An empty store for the IDs of the list. */
  readonly seen: OrderedStore;
  /** Waits until earlier syncs of the audience are applied (`untilApplied`). */
  readonly applied: (onWaiting: (records: number) => void) => Promise<Unapplied | null>;
  /** The current members, read after earlier syncs have been applied. */
  readonly members: () => AsyncIterable<readonly string[]>;
  /** True to publish the list even if it would be rejected. */
  readonly force: boolean;
  readonly json?: boolean;
  readonly signal: AbortSignal;
  readonly shell: Shell;
}

const NO_MEMBERS = { members: 0, missing: 0, isCut: false };
const UNENDED =
  "The last line does not end in a line feed. If the list is truncated, publish the whole list again.";

/** Returns the exit status. @throws WrongUsage if the audience's name or ID is invalid. */
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
  const outcome = (end: "written" | "interrupted" | "rejected", error: string | null = null) => ({
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
    tell(options, shell, "", outcome(signal.aborted ? "interrupted" : "rejected", against));
    return 1;
  }
  if (against.unendedId !== null) progress.say(UNENDED);
  if (!(await write(options, begin, count))) {
    progress.say("Interrupted: the sync is incomplete, so no members are removed.");
    tell(options, shell, "", outcome("interrupted"));
    return 1;
  }
  progress.end();
  const text = `Published ${counted(count.read, "user")} of audience ${visibleCell(audienceId)} as sync ${syncId} (${topic}).\n`;
  tell(options, shell, text, outcome("written"));
  return 0;
}

/** Returns what was read, or a message if nothing may be written. */
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
      `error: line ${wrongLine} is not a user ID: expected UTF-8 text of at most ${ID_MAX_BYTES} bytes.\n` +
      "Nothing was written. Correct the line and publish the list again."
    );
  }
  const refused = refusalOfAny(list);
  const isCompared = !force && refused === null && !signal.aborted;
  const comparing = isCompared ? compareWithMembers(options, count, unendedId) : NO_MEMBERS;
  const compared = await Promise.resolve(comparing).catch((error: unknown) => {
    // An interruption also makes the wait for earlier syncs and the reading of members fail.
    if (!signal.aborted) throw error;
    return NO_MEMBERS;
  });
  if (signal.aborted) return "Interrupted: nothing was written.";
  const refusal = force ? null : whyNot(refused, compared);
  if (refusal === null) return { unendedId };
  return `error: audience ${visibleCell(audienceId)} was not published: ${refusal.why}.\nNothing was written. ${refusal.todo}`;
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

/** Null if the list may be published. */
function whyNot(refused: string | null, compared: Compared | Unapplied) {
  if (!("kind" in compared)) {
    const why = refused ?? refusalOf(compared);
    return why === null ? null : { why, todo: "If the list is correct, publish it with --force." };
  }
  const uncompared = "--force publishes the list without comparing it with the members.";
  if (compared.kind === "unknown") {
    return {
      why: `Switchyard could not check whether earlier syncs have been applied: ${compared.error}`,
      todo: `Fix this problem, and publish the list again; ${uncompared}`,
    };
  }
  const { records, oldestAtMs } = compared;
  const have = records === 1 ? "has" : "have";
  const since = `${instantText(oldestAtMs)} UTC (${ageText(Date.now() - oldestAtMs)})`;
  return {
    why:
      `${counted(records, "record")} of earlier syncs ${have} not been applied; the oldest ` +
      `has been waiting since ${since}, so the current members are unknown`,
    todo: `Start the audience stage if it is not running, wait until it has caught up, and publish the list again; ${uncompared}`,
  };
}

/** Returns false if writing was interrupted. */
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
