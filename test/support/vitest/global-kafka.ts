/**
 * Vitest's global set-up of the integration tests: one Kafka for all of them, started by the same
 * code as the demonstration's. Workers find it in their environment:
 *
 *   SWITCHYARD_KAFKA_BROKERS   `host:port`, with commas
 *   SWITCHYARD_KAFKA_JARS      directory of Apache Kafka's jars, with Java's console clients; not
 *                              set on a machine without Java
 */

import { findJars } from "../../../tools/kafka/choose.ts";
import { startKafka } from "../../../tools/kafka/start.ts";

export async function setup(): Promise<() => Promise<void>> {
  const log = (line: string) => process.stderr.write(`kafka: ${line}\n`);
  const kafka = await startKafka({ log });
  process.env.SWITCHYARD_KAFKA_BROKERS = kafka.brokers.join(",");
  const jars = kafka.jars ?? (await findJars(new AbortController().signal, log));
  if (jars !== null) process.env.SWITCHYARD_KAFKA_JARS = jars;
  return () => kafka.stop();
}
