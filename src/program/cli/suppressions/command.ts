/** `switchyard suppressions`: adds, removes, lists and shows suppressed users on the topic `suppressions`. */

import { Command } from "commander";
import { asError } from "../../../base/runtime/as-error.ts";
import { systemClock } from "../../../base/runtime/clock.ts";
import { counted } from "../../../base/words/count.ts";
import { table } from "../../../base/words/table.ts";
import { WrongUsage } from "../../../base/words/wrong-usage.ts";
import { visibleCell } from "../../../domain/escape-control.ts";
import type { OutgoingRecord } from "../../../domain/record.ts";
import type { TopicNames } from "../../../domain/topics.ts";
import type { Kafka, Producer } from "../../../kafka/port.ts";
import { assertTopics } from "../../../operator/connect/assert-topics.ts";
import {
  type ClusterOptions,
  clusterCommand,
  withKafka,
} from "../../../operator/connect/cluster.ts";
import { commandProducer } from "../../../operator/connect/command-producer.ts";
import { configured } from "../../../operator/connect/configuration.ts";
import { configuredTopics } from "../../../operator/connect/connection.ts";
import { instantText } from "../../../operator/connect/instant.ts";
import { readSuppressions } from "../../../operator/connect/known-operations.ts";
import { type Exit, type Shell, tell } from "../../../operator/connect/shell.ts";
import {
  canBeSuppressed,
  liftRecord,
  REASON_MAX_CHARACTERS,
  type Suppression,
  suppressionRecord,
} from "../../../router/suppression/suppression-record.ts";
import { deletionRequest } from "../delete-command.ts";
import { checkInput, LINE_MAX_BYTES, linesOf, openInput } from "../input.ts";

const EXIT_HELP =
  "\nExit status: 0 on success; 1 on failure; 2 if the usage or configuration is invalid.\n\n";

interface AddOptions extends ClusterOptions {
  readonly reason?: string;
  readonly file?: string;
  readonly delete?: boolean;
}

export function suppressionsCommand(shell: Shell, exit: Exit): Command {
  return new Command("suppressions")
    .description(
      "Suppresses users: nothing more is sent for them, not even what already waits. Delete " +
        "notifications are still sent.",
    )
    .addCommand(addCommand(shell))
    .addCommand(removeCommand(shell))
    .addCommand(listCommand(shell))
    .addCommand(showCommand(shell, exit));
}

function addCommand(shell: Shell): Command {
  return clusterCommand("add")
    .description("Suppresses users in all processes, within two seconds as a rule.")
    .argument("[users...]", "user IDs")
    .option("--file <file>", "read user IDs from a file, one per line")
    .option("--reason <text>", `why, in at most ${REASON_MAX_CHARACTERS} characters`)
    .option("--delete", "also request the deletion of each user, as `switchyard delete` does")
    .option("--json", "print the outcome as one JSON object")
    .addHelpText(
      "after",
      `${EXIT_HELP}Examples:\n  switchyard suppressions add u1 --reason "asked by email" --delete\n` +
        "  switchyard suppressions add --file users.txt --config switchyard.yaml",
    )
    .action(async (users: readonly string[], options: AddOptions) => {
      const { reason = null } = options;
      if (reason !== null && Array.from(reason).length > REASON_MAX_CHARACTERS) {
        throw new WrongUsage(`--reason has more than ${REASON_MAX_CHARACTERS} characters.`);
      }
      if (users.length === 0 && options.file === undefined) {
        throw new WrongUsage("name at least one user, or a --file with user IDs.");
      }
      await checkInput(options.file);
      const deletes = options.delete === true;
      const count = await write(
        options,
        shell,
        (signal) => idsOf(users, options.file, shell, signal),
        (userId, topics) => {
          const suppressedAtMs = systemClock.nowMs();
          const suppression = { userId, suppressedAtMs, reason };
          const suppressed = suppressionRecord(topics.suppressions, suppression);
          if (!deletes) return [suppressed];
          return [suppressed, deletionRequest({ userId }, topics.deletionRequests, suppressedAtMs)];
        },
      );
      const requested = deletes ? ", and their deletion was requested" : "";
      const text = `${counted(count, "user")} suppressed${requested}.\n`;
      tell(options, shell, text, { suppressed: count, deletionRequested: deletes });
    });
}

function removeCommand(shell: Shell): Command {
  return clusterCommand("remove")
    .description(
      "Lifts the suppression of users. What still waits for them is delivered; what was skipped " +
        "meanwhile is not.",
    )
    .argument("<users...>", "user IDs")
    .option("--json", "print the outcome as one JSON object")
    .addHelpText("after", `${EXIT_HELP}Example:\n  switchyard suppressions remove u1 u2`)
    .action(async (users: readonly string[], options: ClusterOptions) => {
      const ids = (signal: AbortSignal) => idsOf(users, undefined, shell, signal);
      const count = await write(options, shell, ids, (userId, topics) => [
        liftRecord(topics.suppressions, userId),
      ]);
      tell(options, shell, `${counted(count, "user")} lifted.\n`, { lifted: count });
    });
}

function listCommand(shell: Shell): Command {
  return clusterCommand("list")
    .description("Lists the suppressed users, the last one that was written last.")
    .option("--json", "print one JSON object per user")
    .addHelpText("after", `${EXIT_HELP}Example:\n  switchyard suppressions list --json`)
    .action(async (options: ClusterOptions) => {
      const found = await read(options, shell, null);
      if (options.json === true) {
        for (const each of found) shell.out(`${JSON.stringify(suppressionJson(each))}\n`);
      } else if (found.length === 0) shell.out("No user is suppressed.\n");
      else shell.out(`${suppressionTable(found, shell)}\n`);
    });
}

function showCommand(shell: Shell, exit: Exit): Command {
  return clusterCommand("show")
    .description("Shows since when a user has been suppressed, and why.")
    .argument("<user>", "user ID")
    .option("--json", "print the outcome as one JSON object")
    .addHelpText(
      "after",
      "\nExit status: 0 if the user is suppressed; 1 if not, or on failure; 2 if the usage or\n" +
        "configuration is invalid.\n\nExample:\n  switchyard suppressions show u1",
    )
    .action(async (user: string, options: ClusterOptions) => {
      const [found = null] = await read(options, shell, user);
      const text = `${visibleCell(user)} ${stateText(found)}.\n`;
      const { suppressedAt = null, reason = null } = found === null ? {} : suppressionJson(found);
      const outcome = { userId: user, suppressed: found !== null, suppressedAt, reason };
      tell(options, shell, text, outcome);
      exit(found === null ? 1 : 0);
    });
}

/** Yields the IDs in pieces. @throws WrongUsage for an ID that cannot be suppressed, Error if the signal aborts. */
export async function* idsOf(
  users: readonly string[],
  file: string | undefined,
  shell: Shell,
  signal: AbortSignal,
): AsyncGenerator<readonly string[]> {
  const odd = users.find((user) => !canBeSuppressed(user));
  if (odd !== undefined) throw new WrongUsage(`"${visibleCell(odd)}" is not a user ID.`);
  if (users.length > 0) yield users;
  if (file === undefined) return;
  for await (const lines of linesOf(openInput(file, shell), LINE_MAX_BYTES, signal)) {
    yield lines.map(({ number, bytes }) => {
      const line = bytes === null ? "" : bytes.toString().replace(/\r$/, "");
      // Some programs write a byte order mark at the start of a file.
      const text = number === 1 ? line.replace(/^\ufeff/, "") : line;
      if (bytes !== null && canBeSuppressed(text) && !text.includes("\ufffd")) return text;
      throw new WrongUsage(`line ${number} of ${file} is not a user ID.`);
    });
  }
  if (signal.aborted) throw new Error("interrupted while reading the file");
}

async function write(
  options: ClusterOptions,
  shell: Shell,
  ids: (signal: AbortSignal) => AsyncIterable<readonly string[]>,
  recordsOf: (userId: string, topics: TopicNames) => readonly OutgoingRecord[],
): Promise<number> {
  const { config } = await configured(options, shell, "kafka");
  const topics = configuredTopics(config);
  return withKafka(config, shell, options, async (kafka, signal) => {
    await assertTopics(kafka.admin, [topics.suppressions, topics.deletionRequests]);
    const producer = commandProducer(kafka, shell, signal);
    return writeEach(producer, ids(signal), (userId) => recordsOf(userId, topics));
  });
}

/**
 * Writes the records of each user. Returns the number of users.
 *
 * @throws what is thrown before the first users are written; later, an Error that also says how many were written.
 */
export async function writeEach(
  producer: Pick<Producer, "send">,
  ids: AsyncIterable<readonly string[]>,
  recordsOf: (userId: string) => readonly OutgoingRecord[],
): Promise<number> {
  let count = 0;
  try {
    for await (const piece of ids) {
      const [refused] = await producer.send(piece.flatMap((userId) => recordsOf(userId)));
      if (refused !== undefined) {
        throw new Error(`Cannot write to ${refused.record.topic}: ${refused.error}`);
      }
      count += piece.length;
    }
  } catch (thrown) {
    if (count === 0) throw thrown;
    const { message } = asError(thrown);
    throw new Error(
      `${message} (the first ${counted(count, "user")} had been written before that)`,
    );
  }
  return count;
}

async function read(
  options: ClusterOptions,
  shell: Shell,
  only: string | null,
): Promise<readonly Suppression[]> {
  const { config } = await configured(options, shell, "kafka");
  const topic = configuredTopics(config).suppressions;
  return withKafka(config, shell, options, (kafka: Kafka, signal) =>
    readSuppressions(kafka, topic, signal, only === null ? null : new Set([only])),
  );
}

function suppressionJson({ userId, suppressedAtMs, reason }: Suppression) {
  return { userId, suppressedAt: new Date(suppressedAtMs).toISOString(), reason };
}

function suppressionTable(all: readonly Suppression[], { colors }: Shell): string {
  const rows = all.map(({ userId, suppressedAtMs, reason }) => [
    visibleCell(userId),
    instantText(suppressedAtMs),
    reason === null ? "-" : visibleCell(reason),
  ]);
  return table(["USER ID", "SUPPRESSED AT (UTC)", "REASON"], rows, (cell, row) =>
    row < 0 ? colors.bold(cell) : cell,
  );
}

function stateText(found: Suppression | null): string {
  if (found === null) return "is not suppressed";
  const { suppressedAtMs, reason } = found;
  const why = reason === null ? "" : ` (${visibleCell(reason)})`;
  return `has been suppressed since ${instantText(suppressedAtMs)} UTC${why}`;
}
