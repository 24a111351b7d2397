// A process that was frozen past its session must not return what others have by now.

import { expect, test } from "vitest";

import { startDelay } from "../../src/delay/stage.ts";
import { deliveryHeaders } from "../../src/domain/delivery.ts";
import type { DestinationId, MessageId, SourceId } from "../../src/domain/ids.ts";
import { groupNames, topicNames } from "../../src/domain/topics.ts";
import type { Kafka } from "../../src/kafka/port.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { MemoryCluster } from "../support/memory-kafka.ts";
import { createPrng } from "../support/prng.ts";
import { stageProcess } from "../support/stage-process.ts";

const topics = topicNames("sw.");
const destination = "d1" as DestinationId;
const TIER_MS = 1_000;

/** The delay stage of a process whose partitions are its own as long as `lease.isOurs` says so. */
async function delaying() {
  const clock = new ManualClock();
  const cluster = new MemoryCluster({ clock, random: createPrng(7) });
  for (const name of [topics.delays(TIER_MS), topics.deliveries(destination), topics.deadLetters]) {
    cluster.createTopic(name, 1);
  }
  const lease = { isOurs: true };
  const { deps, failures } = stageProcess(cluster, clock);
  const kafka: Kafka = {
    ...deps.kafka,
    consume: (options) =>
      deps.kafka.consume({
        ...options,
        onAssigned: (assigned) =>
          options.onAssigned({ ...assigned, isOurs: async () => lease.isOurs }),
      }),
  };
  await startDelay(
    { ...deps, kafka },
    {
      ...{ topics, groups: groupNames("sw."), tiers: ["1s"], destinations: [destination] },
      ...{ bytesMax: 1_000_000, drainLimitMs: 1_000 },
    },
  );
  const park = (messageId: string) => {
    const nowMs = clock.nowMs();
    cluster.append({
      topic: topics.delays(TIER_MS),
      key: null,
      value: Buffer.from("{}"),
      headers: deliveryHeaders({
        ...{ messageId: messageId as MessageId, source: "web" as SourceId, destination },
        ...{ timestampMs: nowMs, receivedAtMs: nowMs, endpoint: null, attempt: 1, parked: 1 },
        ...{ firstAttemptAtMs: nowMs, dueAtMs: nowMs + TIER_MS, notBeforeMs: null },
        ...{ returnTopic: null, rejected: [], lastOutcome: null },
      }),
    });
  };
  const returned = () => cluster.records(topics.deliveries(destination)).length;
  return { clock, lease, park, returned, failures };
}

test("while the partition is certainly ours, what is due is returned", async () => {
  const { clock, park, returned } = await delaying();
  park("m1");
  await clock.advance(TIER_MS - 1);
  expect(returned()).toBe(0);
  await clock.advance(200);
  expect(returned()).toBe(1);
});

test("when it may be another's, nothing is", async () => {
  const { clock, lease, park, returned, failures } = await delaying();
  park("m1");
  await clock.advance(TIER_MS / 2);
  lease.isOurs = false;
  await clock.advance(10 * TIER_MS);
  expect(returned()).toBe(0);
  expect(failures).toEqual([]);
});
