/** The port's real implementation: kafkajs on a cluster. */

import { setTimeout as sleep } from "node:timers/promises";

import type { Log } from "../telemetry/log.ts";
import { KafkaAdmin } from "./admin.ts";
import { Clients } from "./connection.ts";
import { KafkaConsumer } from "./consumer.ts";
import { kafkajsInUse, SUPPORTED_VERSION } from "./kafkajs.ts";
import type { Consumer, Kafka, KafkaConnection, Producer } from "./port.ts";
import { KafkaProducer } from "./producer.ts";

const NEEDED = ["join-hook", "commit-metadata"];
const PROBE_DELAY_MS = 500;

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
  const consumers = new Set<Consumer>();
  const producers = new Set<Producer>();
  return {
    admin,
    consume: (options) => {
      const consumer = new KafkaConsumer(clients, options, log);
      consumers.add(consumer);
      return consumer;
    },
    producer: () => {
      const producer = new KafkaProducer(clients);
      producers.add(producer);
      return producer;
    },
    close: async () => {
      await Promise.all([...consumers].map((consumer) => consumer.stop()));
      await Promise.all([...producers].map((producer) => producer.close(0)));
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
  const clients = new Clients(connection, log);
  const untilMs = Date.now() + limitMs;
  for (;;) {
    if (signal.aborted) return false;
    const client = clients.create(0);
    const pool = client.brokerPool();
    try {
      await pool.connect();
      return true;
    } catch (cause) {
      if (Date.now() >= untilMs) {
        const addresses = connection.brokers.join(", ");
        throw new Error(
          `No Kafka broker answered within ${limitMs / 1_000} s at ${addresses}: ${(cause as Error).message}. Check kafka.brokers and that the brokers run.`,
          { cause },
        );
      }
    } finally {
      pool.disconnect().catch(() => undefined);
      client.destroy();
    }
    await sleep(PROBE_DELAY_MS, undefined, { signal }).catch(() => undefined);
  }
}
