/** The filters that `dead-letters list` and `dead-letters replay` have in common. */

import type { Command } from "commander";
import { DEAD_LETTER_REASONS, type DeadLetterReason } from "../../domain/dead-letter.ts";
import { type ClusterOptions, clusterCommand } from "../../operate/connect/cluster.ts";
import { instant, repeated, repeatedOf, wholeNumber } from "../../operate/connect/option-values.ts";
import type { DeadLetterFilter } from "../../operate/replay/dead-letter-record.ts";
import { WrongUsage } from "../../words/wrong-usage.ts";

export interface DeadLetterOptions extends ClusterOptions {
  readonly destination?: readonly string[];
  readonly reason?: readonly DeadLetterReason[];
  readonly messageId?: readonly string[];
  /** Milliseconds since the epoch. */
  readonly since?: number;
  readonly until?: number;
  readonly limit?: number;
}

/** Names of the options that choose dead letters. */
export const FILTER_OPTIONS = ["destination", "reason", "messageId", "since", "until", "limit"];

/** @param limit the description of `--limit` for the command. */
export function deadLetterCommand(name: string, limit: string): Command {
  return clusterCommand(name)
    .option("--destination <id>", "only dead letters for this destination (repeatable)", repeated)
    .option(
      "--reason <reason>",
      "only dead letters with this reason, such as expired (repeatable)",
      repeatedOf(Object.keys(DEAD_LETTER_REASONS) as DeadLetterReason[], "a reason"),
    )
    .option("--message-id <id>", "only the call with this message ID (repeatable)", repeated)
    .option(
      "--since <when>",
      "dead-lettered at or after this time: ISO 8601, or an age such as 2h",
      instant,
    )
    .option("--until <when>", "dead-lettered before this time", instant)
    .option("--limit <n>", limit, (text) => wholeNumber(text, 1));
}

/** @throws WrongUsage */
export function filterOf(options: DeadLetterOptions): DeadLetterFilter {
  const { since, until } = options;
  if (since !== undefined && until !== undefined && until <= since) {
    throw new WrongUsage("--until must be later than --since");
  }
  return {
    destinations: options.destination ?? [],
    reasons: options.reason ?? [],
    messageIds: options.messageId ?? [],
    sinceMs: options.since ?? null,
    untilMs: options.until ?? null,
  };
}
