/** The filters that `dead-letters list` and `dead-letters replay` have in common. */

import { type Command, InvalidArgumentError } from "commander";

import type { LetterFilter } from "../../dead-letter/filter.ts";
import { DEAD_LETTER_REASONS, type DeadLetterReason } from "../../domain/dead-letter.ts";
import { type WaitOption, waitOption } from "../cluster.ts";
import { configOption } from "../configuration.ts";
import { INSTANT_FORM, parseInstant } from "../instant.ts";

export interface LetterOptions extends WaitOption {
  readonly config?: string;
  readonly destination?: readonly string[];
  readonly reason?: readonly DeadLetterReason[];
  readonly messageId?: readonly string[];
  /** Milliseconds since the epoch. */
  readonly since?: number;
  readonly until?: number;
  readonly limit?: number;
}

/** Option names that choose dead letters. */
export const FILTER_OPTIONS = ["destination", "reason", "messageId", "since", "until", "limit"];

/** @param limit the meaning of `--limit` for the command. */
export function addLetterOptions(command: Command, limit: string): Command {
  return command
    .addOption(configOption())
    .addOption(waitOption())
    .option("--destination <id>", "given up for this destination; may be repeated", collect)
    .option("--reason <reason>", "given up for this reason; may be repeated", collectReason)
    .option("--message-id <id>", "of the call with this message id; may be repeated", collect)
    .option("--since <when>", "given up then or later: an ISO 8601 time, or 2h for 2 hours ago", at)
    .option("--until <when>", "given up before then", at)
    .option("--limit <count>", limit, (text) => wholeNumber(text, 1));
}

export function filterOf(options: LetterOptions): LetterFilter {
  return {
    destinations: options.destination ?? [],
    reasons: options.reason ?? [],
    messageIds: options.messageId ?? [],
    sinceMs: options.since ?? null,
    untilMs: options.until ?? null,
  };
}

function collect(text: string, earlier: readonly string[] = []): readonly string[] {
  return [...earlier, text];
}

function collectReason(
  text: string,
  earlier: readonly DeadLetterReason[] = [],
): readonly DeadLetterReason[] {
  const known = Object.keys(DEAD_LETTER_REASONS) as DeadLetterReason[];
  const reason = known.find((name) => name === text);
  if (reason !== undefined) return [...earlier, reason];
  throw new InvalidArgumentError(`"${text}" is no reason. Reasons: ${known.join(", ")}.`);
}

function at(text: string): number {
  const atMs = parseInstant(text, Date.now());
  if (atMs !== null) return atMs;
  throw new InvalidArgumentError(`"${text}" is no time. Expected ${INSTANT_FORM}.`);
}

/** @throws InvalidArgumentError, which Commander prints with the option's name. */
export function wholeNumber(text: string, min: number, max = 999_999_999_999): number {
  const number = /^\d{1,12}$/.test(text) ? Number(text) : Number.NaN;
  if (number >= min && number <= max) return number;
  throw new InvalidArgumentError(`"${text}" is no whole number from ${min} to ${max}.`);
}
