/** Implements the port with kafkajs, on a real cluster. */

import { type Clock, systemClock } from "../runtime/clock.ts";
import type { Log } from "../telemetry/log.ts";
import { KafkaAdmin } from "./cluster/admin.ts";
import { ClusterWatch } from "./cluster/cluster-watch.ts";
import { Clients } from "./cluster/connection.ts";
import { LogEnds } from "./cluster/log-ends.ts";
import { RangeReader } from "./cluster/range-reader.ts";
import { ClusterTopicWatch } from "./cluster/topic-watch.ts";
import { CommitPace } from "./consume/commit-pace.ts";
import { type ConsumerWorld, KafkaConsumer } from "./consume/consumer.ts";
import { idleHeartbeatMs } from "./consume/consumer-times.ts";
import { GroupWatch } from "./consume/group-watch.ts";
import { kafkajsInUse, SUPPORTED_VERSION } from "./kafkajs/kafkajs.ts";
import { KafkajsMembership } from "./kafkajs/membership.ts";
import type { Consumer, Kafka, KafkaConnection, Producer } from "./port.ts";
import { KafkaProducer } from "./produce/producer.ts";

const NEEDED = ["join-hook", "commit-metadata", "shared-connections"];

/** The version of the driver and its replacements, which are logged at startup. */
export const driverInUse = kafkajsInUse;

/** Connects when first used. The caller must close it. */
export function createKafka(
  connection: KafkaConnection,
  log: Log,
  clock: Clock = systemClock,
): Kafka {
  const missing = NEEDED.filter((name) => !kafkajsInUse.replacements.includes(name));
  if (missing.length > 0) {
    // Without the replacements, a rebalance would lose track of the records in flight.
    throw new Error(
      `kafkajs ${kafkajsInUse.version} is installed, but ${SUPPORTED_VERSION} is required. Run npm ci.`,
    );
  }
  const clients = new Clients(connection, log, clock);
  const admin = new KafkaAdmin(clients);
  const reader = new RangeReader(clients);
  const followers = new Set<RangeReader>();
  const ends = new LogEnds();
  const topics = new ClusterTopicWatch(clients);
  const isThrottled = () => clients.throttles.isThrottled();
  let watch: ClusterWatch | null = null;
  const consumerWorld: ConsumerWorld = {
    createMembership: (options, events) =>
      new KafkajsMembership(
        clients.createShared(),
        { ...options, clientId: connection.clientId },
        events,
        topics,
      ),
    sessionTimeoutMs: connection.sessionTimeoutMs,
    recordMaxBytes: connection.recordMaxBytes,
    groups: new GroupWatch(idleHeartbeatMs(connection.sessionTimeoutMs), isThrottled),
    outages: clients.outages,
    ends,
    commits: new CommitPace(isThrottled),
    identity: connection,
    clock,
    log,
  };
  const consumers = new Set<Consumer>();
  const producers = new Set<Producer>();
  return {
    admin,
    consume: (options) => {
      const consumer = new KafkaConsumer(consumerWorld, options);
      consumers.add(consumer);
      void consumer.over.then(() => consumers.delete(consumer));
      return consumer;
    },
    producer: (options) => {
      const producer = new KafkaProducer(clients, options, () => producers.delete(producer));
      producers.add(producer);
      return producer;
    },
    read: (range) => reader.read(range),
    follow: async function* (range) {
      const follower = new RangeReader(clients);
      followers.add(follower);
      try {
        yield* follower.follow(range);
      } finally {
        followers.delete(follower);
        follower.close();
      }
    },
    corruptionAt: (place) => reader.corruptionAt(place),
    watch: () => {
      const owned = () => [...consumers].flatMap((consumer) => consumer.progress());
      watch ??= new ClusterWatch(clients, ends, owned);
      return watch;
    },
    close: async () => {
      watch?.close();
      await Promise.all([...consumers].map((consumer) => consumer.stop()));
      await Promise.all([...producers].map((producer) => producer.close(0)));
      for (const each of [reader, ...followers]) each.close();
      await admin.close();
      topics.close();
      clients.close();
    },
  };
}
