/** Reads the input of a command line by line, from a file or standard input. */

import { constants, createReadStream } from "node:fs";
import { access, stat } from "node:fs/promises";
import { whyUnreadable } from "../../base/settings/problem.ts";
import type { Shell } from "../../operator/connect/shell.ts";

const CHUNK_BYTES = 256 * 1_024;
/** Maximum size of a record's value in the `calls` topic. */
export const LINE_MAX_BYTES = 1_024 * 1_024;

export class UnreadableInput extends Error {
  override readonly name = "UnreadableInput";
}

/**
 * Checks, before the command waits for Kafka, that the file can be read. Does not open the file, because a pipe can be
 * opened only once.
 *
 * @throws UnreadableInput for the same reasons as `openInput`.
 */
export async function checkInput(file: string | undefined): Promise<void> {
  if (file === undefined) return;
  try {
    await access(file, constants.R_OK);
    if ((await stat(file)).isDirectory()) throw Object.assign(new Error(), { code: "EISDIR" });
  } catch (cause) {
    throw unreadable(file, cause);
  }
}

/** @throws UnreadableInput with the file's name if it cannot be read. */
export async function* openInput(file: string | undefined, shell: Shell): AsyncGenerator<Buffer> {
  const stream =
    file === undefined ? shell.stdin : createReadStream(file, { highWaterMark: CHUNK_BYTES });
  try {
    for await (const chunk of stream) yield typeof chunk === "string" ? Buffer.from(chunk) : chunk;
  } catch (cause) {
    throw unreadable(file ?? "standard input", cause);
  }
}

function unreadable(what: string, cause: unknown): UnreadableInput {
  return new UnreadableInput(`${what} cannot be read: ${whyUnreadable(cause)}`, { cause });
}

export interface Line {
  /** The number of the line, starting at 1. */
  readonly number: number;
  /** The line without its line feed; null if the line is longer than allowed. */
  readonly bytes: Buffer | null;
  /** False if the line does not end with a line feed; this can be the last line of a truncated file. */
  readonly isEnded: boolean;
}

const LINE_FEED = 0x0a;
const BLANK = /^\s*$/;
const NEVER = new AbortController().signal;

/**
 * Yields lines as soon as they are complete, so that typed lines are processed immediately. Blank lines are counted,
 * but not yielded.
 *
 * @param maxBytes maximum size of a line, which also limits the memory that is used.
 * @param signal ends the iteration, even while it waits for input. An incomplete line is then dropped.
 */
export async function* linesOf(
  chunks: AsyncIterable<Buffer>,
  maxBytes: number,
  signal: AbortSignal = NEVER,
): AsyncGenerator<readonly Line[]> {
  let number = 0;
  let parts: Buffer[] = [];
  let partBytes = 0;
  const add = (part: Buffer) => {
    partBytes += part.length;
    if (partBytes <= maxBytes) parts.push(part);
  };
  const end = (isEnded: boolean): Line[] => {
    number += 1;
    const bytes = partBytes <= maxBytes ? Buffer.concat(parts) : null;
    parts = [];
    partBytes = 0;
    const isBlank = bytes !== null && bytes.length < 100 && BLANK.test(bytes.toString("latin1"));
    return isBlank ? [] : [{ number, bytes, isEnded }];
  };
  for await (const chunk of until(chunks, signal)) {
    const lines: Line[] = [];
    let start = 0;
    for (let at = chunk.indexOf(LINE_FEED); at !== -1; at = chunk.indexOf(LINE_FEED, start)) {
      add(chunk.subarray(start, at));
      lines.push(...end(true));
      start = at + 1;
    }
    add(chunk.subarray(start));
    if (lines.length > 0) yield lines;
  }
  if (partBytes > 0 && !signal.aborted) yield end(false);
}

/** Yields chunks until the signal aborts, even if a read is still waiting for input. */
async function* until(chunks: AsyncIterable<Buffer>, signal: AbortSignal): AsyncGenerator<Buffer> {
  const reader = chunks[Symbol.asyncIterator]();
  const { promise: aborted, resolve } = Promise.withResolvers<null>();
  const onAbort = () => resolve(null);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    while (!signal.aborted) {
      const next = await Promise.race([reader.next(), aborted]);
      if (next === null || next.done === true) return;
      yield next.value;
    }
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
