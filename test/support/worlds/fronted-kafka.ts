/** A separate broker behind two proxies, and consumers that have room for two records of a partition. */

import { createKafka } from "../../../src/kafka/kafka.ts";
import type { ConsumeOptions, Kafka, KafkaConnection } from "../../../src/kafka/port.ts";
import { type PrivateKafka, startKafka } from "../../../tools/kafka/start.ts";
import { type BrokerProxy, startProxy } from "../../chaos/proxy.ts";
import { record } from "../contract/bench.ts";
import type { Taker } from "../contract/taker.ts";
import type { LogLines } from "../log/log-lines.ts";
import { createTopics } from "./test-kafka.ts";

export interface FrontedKafka extends AsyncDisposable {
  readonly broker: PrivateKafka;
  readonly proxy: BrokerProxy;
  /** A second proxy to the same broker. */
  readonly second: BrokerProxy;
}

export async function frontedKafka(): Promise<FrontedKafka> {
  await using started = new AsyncDisposableStack();
  const proxy = started.use(await startProxy());
  const second = started.use(await startProxy());
  const fronts = [proxy.address, second.address];
  const broker = started.use(await startKafka({ private: true, fronts }));
  proxy.leadTo(broker.behind[0] ?? "");
  second.leadTo(broker.behind[1] ?? "");
  const kept = started.move();
  return { broker, proxy, second, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

/** Collects Node's warnings about too many listeners from now on. */
export function piledListeners(): readonly string[] {
  const piled: string[] = [];
  process.on("warning", ({ name, message }) => {
    if (name === "MaxListenersExceededWarning") piled.push(message);
  });
  return piled;
}

export function connectTo(address: string, lines: LogLines): Kafka {
  return createKafka(connectionTo(address), lines.log);
}

export function connectionTo(address: string): KafkaConnection {
  const connection = { brokers: [address], clientId: "signals", tls: null, sasl: null };
  return { ...connection, sessionTimeoutMs: 6_000, recordMaxBytes: () => 1_000_000 };
}

export function narrow(topic: string, taker: Taker, whenFull: "hold" | "pause"): ConsumeOptions {
  return {
    groupId: topic,
    topics: [topic],
    partitionRecordsMax: 2,
    maxBytes: 1_000_000,
    whenFull,
    drainLimitMs: 500,
    onAssigned: taker.onAssigned,
    onCrash: (error) => {
      throw error;
    },
  };
}

export async function topicWith(kafka: Kafka, name: string, records: number): Promise<string> {
  await createTopics(kafka, [name]);
  await write(kafka, name, records);
  return name;
}

export async function write(kafka: Kafka, topic: string, records: number): Promise<void> {
  const producer = kafka.producer();
  await producer.send(Array.from({ length: records }, (_, at) => record(topic, `${at}`)));
  await producer.close(5_000);
}
