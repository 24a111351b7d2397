/** The port's real implementation: kafkajs on a cluster. */

import { setTimeout as sleep } from "node:timers/promises";

import type { Log } from "../telemetry/log.ts";
import { KafkaAdmin } from "./cluster/admin.ts";
import { ClusterWatch } from "./cluster/cluster-watch.ts";
import { Clients } from "./cluster/connection.ts";
import { LogEnds } from "./cluster/log-ends.ts";
import { RangeReader } from "./cluster/range-reader.ts";
import { type ConsumerWorld, KafkaConsumer } from "./consume/consumer.ts";
import { kafkajsInUse, SUPPORTED_VERSION } from "./kafkajs/kafkajs.ts";
import { KafkajsMembership } from "./kafkajs/membership.ts";
import type { Consumer, Kafka, KafkaConnection, Producer } from "./port.ts";
import { KafkaProducer } from "./produce/producer.ts";

const NEEDED = ["join-hook", "commit-metadata"];
const PROBE_DELAY_MS = 500;

/** The driver behind the port, for a log line at start. */
export const driverInUse = kafkajsInUse;

/** Connects when it is first used. The caller closes it. */
export function createKafka(connection: KafkaConnection, log: Log): Kafka {
  const missing = NEEDED.filter((name) => !kafkajsInUse.replacements.includes(name));
  if (missing.length > 0) {
    // Without them a rebalance would lose track of records that are under way.
    throw new Error(
      `kafkajs ${kafkajsInUse.version} is installed, ${SUPPORTED_VERSION} is needed. Run npm ci.`,
    );
  }
  const clients = new Clients(connection, log);
  const admin = new KafkaAdmin(clients);
  const reader = new RangeReader(clients);
  const ends = new LogEnds();
  let watch: ClusterWatch | null = null;
  const consumerWorld: ConsumerWorld = {
    createMembership: (options, events) => new KafkajsMembership(clients.create(), options, events),
    sessionTimeoutMs: connection.sessionTimeoutMs,
    recordMaxBytes: connection.recordMaxBytes,
    outages: clients.outages,
    ends,
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
      const producer = new KafkaProducer(clients, options);
      producers.add(producer);
      return producer;
    },
    read: (range) => reader.read(range),
    damageAt: (place) => reader.damageAt(place),
    watch: () => {
      const owned = () => [...consumers].flatMap((consumer) => consumer.progress());
      watch ??= new ClusterWatch(clients, ends, owned);
      return watch;
    },
    close: async () => {
      watch?.close();
      await Promise.all([...consumers].map((consumer) => consumer.stop()));
      await Promise.all([...producers].map((producer) => producer.close(0)));
      reader.close();
      await admin.close();
    },
  };
}

/**
 * Waits until a broker answers. Returns false when the signal aborts first.
 *
 * @throws Error naming the addresses when none has answered within `limitMs`.
 */
export async function waitForBrokers(
  connection: KafkaConnection,
  limitMs: number,
  log: Log,
  signal: AbortSignal,
): Promise<boolean> {
  const client = new Clients(connection, log).create(0);
  // Takes the next address after each failure.
  const pool = client.brokerPool();
  const untilMs = Date.now() + limitMs;
  try {
    while (!signal.aborted) {
      try {
        await pool.connect();
        return true;
      } catch (cause) {
        if (Date.now() >= untilMs) throw noBroker(connection, limitMs, cause as Error);
      }
      await sleep(PROBE_DELAY_MS, undefined, { signal }).catch(() => undefined);
    }
    return false;
  } finally {
    pool.disconnect().catch(() => undefined);
    client.destroy();
  }
}

function noBroker({ brokers }: KafkaConnection, limitMs: number, cause: Error): Error {
  const addresses = brokers.join(", ");
  return new Error(
    `No Kafka broker answered within ${limitMs / 1_000} s at ${addresses}: ${cause.message}. Check kafka.brokers and that the brokers run.`,
    { cause },
  );
}
