/**
 * Publishes a complete sync of an audience: ids in, one a line, `begin`, `members` and `end` out.
 *
 *   the input                      then
 *   ends                           the `end` with the number of different ids: the sync is complete
 *   has a line that is no id       no `end`: ids before it are members now, nobody is removed
 *   is interrupted                 the same
 *
 * Ids that were seen before are found in a store on disk, so that a file may have any size.
 */

import { parseSync } from "../../audience/parse-sync.ts";
import type { OutgoingRecord } from "../../domain/record.ts";
import { visibleCell } from "../../domain/visible.ts";
import type { Producer } from "../../kafka/port.ts";
import type { OrderedStore } from "../../store/ordered-store.ts";
import { counted } from "../count.ts";
import { linesOf } from "../input.ts";
import { startProgress } from "../progress.ts";
import type { Shell } from "../shell.ts";
import { WrongUsage } from "../wrong-usage.ts";

export interface PublishAudienceOptions {
  readonly input: AsyncIterable<Buffer>;
  readonly producer: Producer;
  /** The topic of syncs. */
  readonly topic: string;
  readonly audienceId: string;
  readonly audienceName: string;
  readonly syncId: string;
  /** Empty; for the ids seen so far. */
  readonly seen: OrderedStore;
  readonly signal: AbortSignal;
  readonly shell: Shell;
}

const ID_MAX_BYTES = 1_024;
const PIECE_USERS = 5_000;
const UTF8 = new TextDecoder("utf-8", { fatal: true });

/** Returns the exit status. @throws WrongUsage when no sync can have this name or id. */
export async function publishAudience(options: PublishAudienceOptions): Promise<0 | 1> {
  const { input, topic, audienceId, audienceName, syncId, signal, shell } = options;
  const begin = { type: "begin", audienceId, audienceName, syncId };
  const parsed = parseSync(begin);
  if (parsed.kind === "refused") throw new WrongUsage(parsed.error);
  let count = 0;
  using progress = startProgress(shell, () => `${counted(count, "user")} written`);
  await send(options, begin);
  for await (const lines of linesOf(input, ID_MAX_BYTES + 2, signal)) {
    for (let from = 0; from < lines.length; from += PIECE_USERS) {
      const ids: string[] = [];
      for (const { number, bytes } of lines.slice(from, from + PIECE_USERS)) {
        const id = bytes === null ? null : readId(bytes);
        if (id === null) {
          progress.end();
          shell.err(
            `line ${number} is no id: text of at most ${ID_MAX_BYTES} bytes in UTF-8 is expected.\n` +
              "The sync was not ended, so nobody is removed. Put the line right and publish the file again.\n",
          );
          return 1;
        }
        ids.push(id);
      }
      const userIds = await unseen(options.seen, ids);
      if (userIds.length > 0) {
        await send(options, { type: "members", audienceId, syncId, userIds });
      }
      count += userIds.length;
    }
  }
  progress.end();
  if (signal.aborted) {
    shell.err("Interrupted: the sync was not ended, so nobody is removed.\n");
    return 1;
  }
  await send(options, { type: "end", audienceId, syncId, count });
  shell.out(
    `${counted(count, "user")} of audience ${visibleCell(audienceId)} written as sync ${syncId} (${topic}).\n`,
  );
  return 0;
}

/** Null: the line is no id. */
function readId(bytes: Buffer): string | null {
  try {
    const id = UTF8.decode(bytes).replace(/\r$/, "");
    return id === "" || Buffer.byteLength(id) > ID_MAX_BYTES ? null : id;
  } catch {
    return null;
  }
}

async function unseen(seen: OrderedStore, ids: readonly string[]): Promise<readonly string[]> {
  const distinct = [...new Set(ids)];
  const found = await seen.getMany(distinct);
  const fresh = distinct.filter((_, index) => found[index] === undefined);
  await seen.write(fresh.map((id) => [id, ""]));
  return fresh;
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
