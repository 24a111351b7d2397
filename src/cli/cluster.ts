/** Kafka for the length of one command. Its client is loaded with the first use. */

import type { Config } from "../config/config.ts";
import type { Kafka } from "../kafka/port.ts";
import { shutdownSignal } from "../runtime/shutdown.ts";
import { kafkaConnection } from "./connection.ts";
import type { Shell } from "./shell.ts";

/** Waiting that takes longer is explained. */
const QUIET_MS = 2_000;

/**
 * Connects, does the work, closes.
 *
 * @param work gets a signal that aborts at Ctrl-C.
 * @throws Error naming the brokers when none answers within `kafka.startTimeout`, and on Ctrl-C
 *   before one does.
 */
export async function withKafka<Result>(
  config: Config,
  shell: Shell,
  work: (kafka: Kafka, signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const { createKafka, waitForBrokers } = await import("../kafka/kafka.ts");
  const { createLog } = await import("../telemetry/log.ts");
  const connection = kafkaConnection(config);
  const log = createLog("error", { write: shell.err });
  using shutdown = shutdownSignal();
  const explain = setTimeout(() => {
    shell.err(`Waiting for Kafka at ${connection.brokers.join(", ")} ...\n`);
  }, QUIET_MS);
  try {
    const { startTimeoutMs } = config.kafka;
    if (!(await waitForBrokers(connection, startTimeoutMs, log, shutdown.signal))) {
      throw new Error("interrupted while waiting for Kafka");
    }
  } finally {
    clearTimeout(explain);
  }
  const kafka = createKafka(connection, log);
  try {
    return await work(kafka, shutdown.signal);
  } finally {
    await kafka.close();
  }
}
