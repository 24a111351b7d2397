/**
 * Connects to Kafka for the duration of one command. The Kafka client is loaded on first use.
 *
 *   no broker responds                            then
 *   for 2 s                                       the cause is printed, and later each new cause
 *   for 10 s (--kafka-timeout), or for            the command fails
 *     kafka.startTimeout if that is shorter
 *   for a cause that will not change by itself,   the command fails immediately
 *     such as a wrong password
 */

import { Command, Option } from "commander";
import { shutdownSignal } from "../../base/runtime/shutdown.ts";
import type { Config } from "../../config/config.ts";
import { type CorruptBatch, skippedText } from "../../domain/corrupt-batch.ts";
import { visibleLines } from "../../domain/escape-control.ts";
import type { Kafka } from "../../kafka/port.ts";
import { type ConfigOption, configOption, configured } from "./configuration.ts";
import { kafkaConnection } from "./connection.ts";
import { durationWithin } from "./option-values.ts";
import type { Exit, ExitStatus, Shell } from "./shell.ts";

/** After this time, the command explains why it is waiting. */
const QUIET_MS = 2_000;
/** Short, because an operator is waiting for the command. */
const KAFKA_TIMEOUT_MS = 10_000;

export interface ClusterOptions extends ConfigOption {
  /** Milliseconds. */
  readonly kafkaTimeout?: number;
  readonly json?: boolean;
}

/** A command with the options that every command on Kafka has. Each command describes its own `--json`. */
export function clusterCommand(name: string): Command {
  const says = "how long to wait for Kafka (default: 10s)";
  const kafkaTimeout = new Option("--kafka-timeout <duration>", says);
  return new Command(name)
    .addOption(configOption())
    .addOption(kafkaTimeout.argParser(durationWithin(0, 86_400_000)));
}

/** Reads the configuration, runs `work` as `withKafka` does, and exits with the status that `work` returns. */
export async function withCluster(
  options: ClusterOptions,
  shell: Shell,
  exit: Exit,
  work: (kafka: Kafka, config: Config, signal: AbortSignal) => Promise<ExitStatus>,
): Promise<void> {
  const { config } = await configured(options, shell, "kafka");
  exit(await withKafka(config, shell, options, (kafka, signal) => work(kafka, config, signal)));
}

/**
 * Connects to Kafka, runs `work`, and closes the connection.
 *
 * @param work gets a signal that aborts at Ctrl-C.
 * @throws Error if no broker responds in time, or if Ctrl-C is pressed before a broker responds. The error names the
 *   brokers, the cause and the settings to check.
 */
export async function withKafka<Result>(
  config: Config,
  shell: Shell,
  { kafkaTimeout }: ClusterOptions,
  work: (kafka: Kafka, signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const { waitForBrokers } = await import("../../kafka/cluster/wait-for-brokers.ts");
  const { createKafka } = await import("../../kafka/kafka.ts");
  const { createLog } = await import("../../base/telemetry/log.ts");
  const connection = kafkaConnection(config);
  const log = createLog("error", { write: shell.err });
  using shutdown = shutdownSignal();
  const { signal } = shutdown;
  const limitMs = kafkaTimeout ?? Math.min(config.kafka.startTimeoutMs, KAFKA_TIMEOUT_MS);
  using explained = explainer(connection.brokers, limitMs, shell);
  if (!(await waitForBrokers(connection, { limitMs, log, signal, onCause: explained.onCause }))) {
    throw new Error("interrupted while waiting for Kafka");
  }
  explained[Symbol.dispose]();
  const kafka = createKafka(connection, log);
  try {
    return await work(kafka, signal);
  } finally {
    await kafka.close();
  }
}

/**
 * Runs `work` with reads that skip corrupt batches, each of which is named on standard error.
 *
 * @param skippedStatus the result if batches were skipped and `work` returned 0.
 */
export async function skippingCorrupt(
  kafka: Kafka,
  shell: Shell,
  skippedStatus: ExitStatus,
  work: (kafka: Kafka) => Promise<ExitStatus>,
): Promise<ExitStatus> {
  const reported = new Set<string>();
  const onSkipped = (batch: CorruptBatch): void => {
    const text = skippedText(batch);
    if (!reported.has(text))
      shell.err(`${shell.errColors.red("skipped:")} ${visibleLines(text)}\n`);
    reported.add(text);
  };
  const status = await work({ ...kafka, read: (range) => kafka.read({ ...range, onSkipped }) });
  return status === 0 && reported.size > 0 ? skippedStatus : status;
}

/** After 2 s, prints that the command is waiting for Kafka, and why. */
function explainer(brokers: readonly string[], limitMs: number, shell: Shell) {
  let latest: string | null = null;
  let isLate = false;
  const explain = setTimeout(() => {
    isLate = true;
    const why = latest ?? `Kafka at ${brokers.join(", ")} is not responding.`;
    shell.err(`Waiting for ${limitMs / 1_000} s (--kafka-timeout). ${visibleLines(why)}\n`);
  }, QUIET_MS);
  const onCause = (cause: string): void => {
    latest = cause;
    if (isLate) shell.err(`${visibleLines(cause)}\n`);
  };
  return { onCause, [Symbol.dispose]: () => clearTimeout(explain) };
}
