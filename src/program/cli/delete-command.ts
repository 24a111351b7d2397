/** `switchyard delete`: writes one deletion request, which the deletion stage carries out. */

import type { Command } from "commander";
import { systemClock } from "../../base/runtime/clock.ts";
import { WrongUsage } from "../../base/words/wrong-usage.ts";
import type { Config } from "../../config/config.ts";
import type { OutgoingRecord } from "../../domain/record.ts";
import { isoTimestamp } from "../../domain/timestamp.ts";
import { assertTopics } from "../../operator/connect/assert-topics.ts";
import { type ClusterOptions, clusterCommand, withKafka } from "../../operator/connect/cluster.ts";
import { commandProducer } from "../../operator/connect/command-producer.ts";
import { configured } from "../../operator/connect/configuration.ts";
import { configuredTopics } from "../../operator/connect/connection.ts";
import { repeated } from "../../operator/connect/option-values.ts";
import { type Shell, tell } from "../../operator/connect/shell.ts";
import {
  affected,
  listenersBySource,
  listenersFor,
  notNotified,
} from "../../router/deletion/affected-sources.ts";
import { canBeSuppressed } from "../../router/suppression/suppression-record.ts";

interface DeleteOptions extends ClusterOptions {
  /** The sources, which may contain duplicates; if absent, every source. */
  readonly source?: readonly string[];
  readonly suppress?: boolean;
}

export function deleteCommand(shell: Shell): Command {
  return clusterCommand("delete")
    .description(
      "Writes a deletion request. The webhook destinations of the affected sources are notified. " +
        "Without --source, the user is also removed from all audiences and computed traits.",
    )
    .argument("<user>", "user ID")
    .option(
      "--source <id>",
      "notify only destinations to which this source is connected (repeatable; default: all sources)",
      repeated,
    )
    .option("--suppress", "also suppress the user: nothing is sent for the user any more")
    .option("--json", "print the outcome as one JSON object")
    .addHelpText(
      "after",
      "\nExit status: 0 if the request was written; 1 on failure; 2 if the usage or configuration is\n" +
        "invalid.\n\n" +
        "Examples:\n  switchyard delete u1 --config switchyard.yaml\n" +
        "  switchyard delete u1 --source web --source ios --config switchyard.yaml\n" +
        "  switchyard delete u1 --suppress --config switchyard.yaml",
    )
    .action(async (user: string, options: DeleteOptions) => {
      if (user === "") throw new WrongUsage("the user ID is empty.");
      const suppress = options.suppress === true;
      if (suppress && options.source !== undefined) {
        throw new WrongUsage("--suppress applies to every source, so --source cannot be used.");
      }
      if (suppress && !canBeSuppressed(user)) {
        throw new WrongUsage("the user ID has no form in UTF-8, so it cannot be suppressed.");
      }
      const { config } = await configured(options, shell);
      const sources = options.source === undefined ? null : [...new Set(options.source)];
      const notified = reportedOf(user, sources, config);
      if (typeof notified === "string") throw new WrongUsage(notified);
      const topic = configuredTopics(config).deletionRequests;
      const asked = { userId: user, sources, suppress };
      const request = deletionRequest(asked, topic, systemClock.nowMs());
      const refused = await withKafka(config, shell, options, async (kafka, signal) => {
        await assertTopics(kafka.admin, [topic]);
        return commandProducer(kafka, shell, signal).send([request]);
      });
      const [problem] = refused;
      if (problem !== undefined) throw new Error(`Cannot write to ${topic}: ${problem.error}`);
      const { listeners, others } = notified;
      const text = reportedText(topic, notified);
      tell(options, shell, text, {
        topic,
        userId: user,
        sources,
        suppress,
        notified: listeners,
        notNotified: others,
      });
    });
}

interface AskedDeletion {
  readonly userId: string;
  readonly sources?: readonly string[] | null;
  readonly suppress?: boolean;
}

/** The request contains its own time, so that a replay of the request produces the same message IDs. */
export function deletionRequest(
  { userId, sources = null, suppress = false }: AskedDeletion,
  topic: string,
  nowMs: number,
): OutgoingRecord {
  const request = {
    userId,
    timestamp: isoTimestamp(nowMs),
    ...(sources === null ? {} : { sourceIds: sources }),
    ...(suppress ? { suppress } : {}),
  };
  return {
    topic,
    key: Buffer.from(userId),
    value: Buffer.from(JSON.stringify(request)),
    headers: [],
  };
}

interface DeleteReport {
  /** One entry for each notification that will be sent. */
  readonly listeners: readonly { readonly destination: string; readonly source: string }[];
  /** One entry for each destination that is not notified, with the reason. */
  readonly others: readonly { readonly destination: string; readonly reason: string }[];
}

function reportedText(topic: string, { listeners, others }: DeleteReport): string {
  const notified = listeners.map(({ destination, source }) => `${destination} for ${source}`);
  const requested = `Deletion requested (${topic}). Destinations to be notified: ${notified.join(", ") || "none"}.\n`;
  if (others.length === 0) return requested;
  const notNotified = others.map(({ destination, reason }) => `${destination} (${reason})`);
  return `${requested}Not notified: ${notNotified.join(", ")}.\n`;
}

/** Returns the destinations that are notified and the destinations that are not, or an error message. */
function reportedOf(
  userId: string,
  sourceIds: readonly string[] | null,
  config: Config,
): DeleteReport | string {
  const { sources, destinations } = config;
  const found = affected(
    sourceIds,
    listenersBySource(sources, destinations, configuredTopics(config)),
  );
  const unknown = sourceIds?.find((id) => !sources.some((source) => source.id === id));
  if (found.kind === "refused" || unknown !== undefined) {
    const known = sources.map(({ id }) => id).join(", ");
    return `no source has the ID "${unknown}". Configured sources: ${known || "none"}.`;
  }
  const listeners = found.sources.flatMap((source) =>
    listenersFor(source, userId).notified.map(({ listener: { destination } }) => {
      return { destination, source: source.source };
    }),
  );
  return { listeners, others: notNotified(found.sources, destinations, userId) };
}
