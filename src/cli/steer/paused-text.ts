/** The deliveries that wait for a destination that was paused, and those of them that would expire. */

import type { Config } from "../../config/config.ts";
import { waitingOfDestination } from "../../delay/waiting-of-destination.ts";
import { readDelivery } from "../../domain/delivery.ts";
import type { DestinationId } from "../../domain/ids.ts";
import { groupNames, tierName } from "../../domain/topics.ts";
import type { Kafka } from "../../kafka/port.ts";
import { asError } from "../../runtime/as-error.ts";
import { systemClock } from "../../runtime/clock.ts";
import { configuredTopics } from "../connection.ts";
import { Expiring } from "./expiring.ts";
import { unfinishedOf } from "./unfinished.ts";

/** People wait in front of it: what is not read by then is not counted. */
const LIMIT_MS = 5_000;
const RECORDS_MAX = 500_000;

/** Lines for people. Never throws: the destination is paused already. */
export async function pausedText(
  kafka: Kafka,
  config: Config,
  destination: DestinationId,
  untilMs: number | null,
  stop: AbortSignal,
): Promise<string> {
  const topics = configuredTopics(config);
  const groups = groupNames(config.kafka.topicPrefix);
  const signal = AbortSignal.any([stop, AbortSignal.timeout(LIMIT_MS)]);
  const { delaysMs, windowMs } = config.delivery;
  const expiring = new Expiring(windowMs, untilMs);
  const tiers = [...new Set(delaysMs.map(tierName))];
  const asked = { tiers, topics, groups, destination, recordsMax: RECORDS_MAX, signal };
  try {
    const group = groups.deliver(destination);
    const line = await unfinishedOf(kafka, group, topics.deliveries(destination));
    const isWhole = await waitingOfDestination({ kafka, clock: systemClock }, asked, (waiting) =>
      expiring.add(waiting.firstAttemptAtMs),
    );
    for (const part of await unfinishedOf(kafka, group, topics.returns(destination))) {
      for await (const records of kafka.read({ ...part, maxBytes: 1_048_576, signal })) {
        for (const record of records) {
          const read = readDelivery(record);
          if (read.kind === "delivery") expiring.add(read.delivery.firstAttemptAtMs);
        }
      }
    }
    const inLine = line.reduce((sum, { from, to }) => sum + to - from, 0);
    const waits = `In its line: ${inLine}. They wait without a window.`;
    return `${waits}\n${expiring.text(isWhole && !signal.aborted)}\n`;
  } catch (error) {
    return `What waits for it cannot be counted: ${asError(error).message}\n`;
  }
}
