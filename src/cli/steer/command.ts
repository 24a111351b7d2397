/** `switchyard pause` and `switchyard resume`: steer a destination while it runs. */

import { Command, InvalidArgumentError } from "commander";

import type { Config } from "../../config/config.ts";
import { parseDuration } from "../../config/duration.ts";
import type { WebhookDestination } from "../../domain/destination.ts";
import { isDestinationId } from "../../domain/ids.ts";
import type { Kafka } from "../../kafka/port.ts";
import { systemClock } from "../../runtime/clock.ts";
import { pauseDestination, resumeDestination } from "../../stage/operate.ts";
import { type WaitOption, waitOption, withKafka } from "../cluster.ts";
import { commandProducer } from "../command-producer.ts";
import { type ConfigOption, configOption, loadOrExplain } from "../configuration.ts";
import { configuredTopics } from "../connection.ts";
import { instantText } from "../instant.ts";
import type { ExitStatus, Shell } from "../shell.ts";
import { assertTopics } from "../topics-ready.ts";
import { WrongUsage } from "../wrong-usage.ts";
import { pausedText } from "./paused-text.ts";

type Exit = (status: ExitStatus) => void;

interface SteerOptions extends ConfigOption, WaitOption {}

interface PauseOptions extends SteerOptions {
  /** Milliseconds. */
  readonly for?: number;
}

const EXIT = "\nExit status: 0 written, 1 failed, 2 wrong usage or configuration.\n\n";
/** A longer pause is one without an end. */
const FOR_MAX_MS = 365 * 86_400_000;

export function pauseCommand(shell: Shell, exit: Exit): Command {
  return new Command("pause")
    .summary("stop posting to a destination for a while")
    .description(
      "Pauses a destination: in all processes nothing is posted to it any more, within two seconds. " +
        "Its calls are routed on and wait in order. It stays so over restarts.",
    )
    .argument("<destination>", "the destination's id")
    .option("--for <duration>", "it goes on by itself after that, such as 2h", duration)
    .addOption(configOption())
    .addOption(waitOption())
    .addHelpText(
      "after",
      `${EXIT}Examples:\n  switchyard pause crm --config switchyard.yaml\n` +
        "  switchyard pause crm --for 2h --config switchyard.yaml",
    )
    .action(async (id: string, options: PauseOptions) => {
      const loaded = await loadOrExplain(options, shell);
      if (loaded === null) return exit(2);
      const { config } = loaded;
      const destination = webhookOf(id, config);
      await withKafka(config, shell, options, async (kafka, signal) => {
        const operating = await operatingOn(kafka, config, shell, signal);
        const nowMs = systemClock.nowMs();
        const untilMs = options.for === undefined ? null : nowMs + options.for;
        const pause = { destination: destination.id, sinceMs: nowMs, by: "command", untilMs };
        await pauseDestination(operating, pause);
        const until = untilMs === null ? "" : ` until ${instantText(untilMs)} UTC`;
        shell.out(`Paused: ${id}${until}. \`switchyard resume ${id}\` ends it.\n`);
        shell.out(await pausedText(kafka, config, destination.id, untilMs, signal));
      });
    });
}

export function resumeCommand(shell: Shell, exit: Exit): Command {
  return new Command("resume")
    .summary("end the pause of a destination")
    .description(
      "Ends a pause that `switchyard pause` began, within two seconds in all processes. What waits " +
        "is posted in order. A destination that is no longer configured may be named, too.",
    )
    .argument("<destination>", "the destination's id")
    .addOption(configOption())
    .addOption(waitOption())
    .addHelpText("after", `${EXIT}Example:\n  switchyard resume crm --config switchyard.yaml`)
    .action(async (id: string, options: SteerOptions) => {
      const loaded = await loadOrExplain(options, shell);
      if (loaded === null) return exit(2);
      const { config } = loaded;
      if (!isDestinationId(id)) throw new WrongUsage(`"${id}" is no id of a destination.`);
      await withKafka(config, shell, options, async (kafka, signal) => {
        await resumeDestination(await operatingOn(kafka, config, shell, signal), id);
      });
      shell.out(`Resumed: ${id}.\n`);
      const still = config.destinations.find((each) => each.id === id);
      if (still === undefined) shell.err(`${id} is not configured.\n`);
      else if (!still.enabled) shell.err(`${id} stays disabled: the configuration says so.\n`);
      else if (still.kind === "webhook" && still.paused) {
        shell.err(`${id} stays paused: the configuration says \`paused: true\`.\n`);
      }
    });
}

async function operatingOn(kafka: Kafka, config: Config, shell: Shell, signal: AbortSignal) {
  const topics = configuredTopics(config);
  await assertTopics(kafka.admin, [topics.operations]);
  return { producer: commandProducer(kafka, shell, signal), topics };
}

/** @throws WrongUsage saying which there are. */
function webhookOf(id: string, { destinations }: Config): WebhookDestination {
  const found = destinations.find((each) => each.id === id);
  if (found?.kind === "webhook") return found;
  const known = destinations.filter(({ kind }) => kind === "webhook").map((each) => each.id);
  if (found !== undefined) {
    throw new WrongUsage(`"${id}" is of type topic: others read it, so it cannot be steered.`);
  }
  throw new WrongUsage(
    `no destination has the id "${id}". Configured: ${known.join(", ") || "none"}.`,
  );
}

function duration(text: string): number {
  const ms = parseDuration(text);
  if (ms !== null && ms > 0 && ms <= FOR_MAX_MS) return ms;
  throw new InvalidArgumentError(`"${text}" is no duration from 1ms to 365d.`);
}
