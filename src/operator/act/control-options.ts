/** Options and helpers that the commands `pause`, `resume`, `retry`, `cancel` and `wait` share. */

import type { Command } from "commander";
import { unknownDestination, WrongUsage } from "../../base/words/wrong-usage.ts";
import type { Config } from "../../config/config.ts";
import { type AttemptedDestination, isAttempted } from "../../domain/destination.ts";
import type { Operating } from "../../router/control/write-operator-action.ts";
import { assertTopics } from "../connect/assert-topics.ts";
import { type ClusterOptions, clusterCommand, withKafka } from "../connect/cluster.ts";
import { commandProducer } from "../connect/command-producer.ts";
import { configured } from "../connect/configuration.ts";
import { configuredTopics } from "../connect/connection.ts";
import type { Shell } from "../connect/shell.ts";
import type { Looking } from "./remaining.ts";

export const EXIT_HELP =
  "\nExit status: 0 on success; 1 on failure; 2 if the usage or configuration is invalid.\n\n";

export function controlCommand(name: string): Command {
  return clusterCommand(name)
    .argument("<destination>", "the destination's ID")
    .option("--json", "print the outcome as one JSON object");
}

/** Connects to Kafka, and runs `act` for a configured webhook destination. */
export async function withDestination(
  id: string,
  options: ClusterOptions,
  shell: Shell,
  act: (looking: Looking) => Promise<void>,
): Promise<void> {
  const { config } = await configured(options, shell, "kafka");
  const destination = attemptedOf(id, config).id;
  await withKafka(config, shell, options, async (kafka, signal) => {
    await assertTopics(kafka.admin, [configuredTopics(config).operatorActions]);
    await act({ kafka, config, destination, signal });
  });
}

export async function operatingOn(
  { kafka, config, signal }: Pick<Looking, "kafka" | "config" | "signal">,
  shell: Pick<Shell, "err">,
): Promise<Operating> {
  const topics = configuredTopics(config);
  await assertTopics(kafka.admin, [topics.operatorActions]);
  return { producer: commandProducer(kafka, shell, signal), topics };
}

/** @throws WrongUsage that lists the configured destinations, if there is no such destination. */
export function attemptedOf(id: string, { destinations }: Config): AttemptedDestination {
  const found = destinations.find((each) => each.id === id);
  if (found?.isAttempted) return found;
  if (found !== undefined) {
    throw new WrongUsage(
      `${id} is a ${found.kind} destination: its consumers are outside Switchyard, so it cannot be controlled.`,
    );
  }
  throw unknownDestination(
    id,
    destinations.filter(isAttempted).map((each) => each.id),
  );
}
