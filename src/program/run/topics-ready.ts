/**
 * Makes sure that the topics exist before a stage uses them.
 *
 *   kafka.createTopics   if a topic is missing
 *   true                 it is created as planned, with the settings that the cluster allows;
 *                        rejected settings are logged; existing topics stay unchanged
 *   false                the stage waits, and logs which topics are missing
 *
 * Topics that the brokers hide do not count as missing. They make the start fail.
 */

import { setTimeout as timer } from "node:timers/promises";
import type { Log } from "../../base/telemetry/log.ts";
import { firstNames } from "../../base/words/count.ts";
import type { Config } from "../../config/config.ts";
import { isRejection } from "../../kafka/cluster/allowed-config.ts";
import { errorTypes, patienceMs } from "../../kafka/cluster/kafka-error.ts";
import type { Admin } from "../../kafka/port.ts";
import { configuredPlan } from "../../operator/connect/connection.ts";
import { missingTopics, rejectedSettings } from "../../router/stage/topic-keeper.ts";

const LOOK_AGAIN_MS = 2_000;

/**
 * Returns false if the signal aborts first.
 *
 * @throws Error with the topics' names if they cannot be created, or if the process has no permission to see them.
 */
export async function ensureTopics(
  config: Config,
  admin: Admin,
  log: Log,
  signal: AbortSignal,
): Promise<boolean> {
  let announced = "";
  while (!signal.aborted) {
    const plan = configuredPlan(config);
    const names = await missingTopics(
      admin,
      plan.map(({ name }) => name),
    );
    if (names.length === 0) return true;
    const lacking = new Set(names);
    const missing = plan.filter(({ name }) => lacking.has(name));
    const topics = firstNames(names);
    if (config.kafka.createTopics) {
      log.info({ topics }, "topics.creating");
      await admin.create(missing, rejectedSettings(log)).catch((cause: unknown) => {
        const text = `cannot create the topics ${topics.join(", ")}: ${(cause as Error).message}.`;
        throw new Error(`${text}${fixFor(cause)}`, { cause });
      });
      return true;
    }
    if (announced !== names.join()) {
      log.warn({ topics, fix: "switchyard topics --apply" }, "topics.waiting");
      announced = names.join();
    }
    await timer(LOOK_AGAIN_MS, undefined, { signal }).catch(() => undefined);
  }
  return false;
}

function fixFor(cause: unknown): string {
  // The cause may be brokers that are not ready yet, so no setting is reported as the cause.
  if (patienceMs(cause) > 0) return "";
  const isSetting = [...errorTypes(cause)].some(isRejection);
  const set = isSetting
    ? " Change the setting that the cluster's error names (kafka.partitions or " +
      "kafka.replicationFactor) to a value that the cluster allows."
    : "";
  return (
    `${set} Or set kafka.createTopics to false, and create the topics as shown by ` +
    `\`switchyard topics\`.`
  );
}
