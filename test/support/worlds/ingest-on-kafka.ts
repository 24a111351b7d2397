/** The ingest stage on the real Kafka, with a reader of its results. */

import { systemClock } from "../../../src/base/runtime/clock.ts";
import { createMetrics } from "../../../src/base/telemetry/instruments.ts";
import { createLog } from "../../../src/base/telemetry/log.ts";
import type { IncomingRecord } from "../../../src/domain/record.ts";
import type { Kafka } from "../../../src/kafka/port.ts";
import { SERVER_TIMES } from "../../../src/router/ingest/server.ts";
import {
  type IngestConfig,
  type RunningIngest,
  startIngest,
} from "../../../src/router/ingest/stage.ts";
import { aSource } from "../build/calls.ts";
import { uniquePrefix } from "../build/prefix.ts";
import { Taker } from "../contract/taker.ts";
import { INGEST_LIMITS } from "./ingest-limits.ts";
import { consumeWith, createTopics, testKafka } from "./test-kafka.ts";

export const KEY = "web-key";

export interface CallsTopic extends AsyncDisposable {
  readonly brokers: string;
  readonly prefix: string;
  readonly topic: string;
  readonly kafka: Kafka;
  /** The records that have been read from the topic so far, with a way to wait for more. */
  readonly taker: Taker;
  values(): readonly Record<string, unknown>[];
}

/** @param own separate brokers of a test; by default, those of SWITCHYARD_KAFKA_BROKERS. */
export async function callsTopic(name: string, own?: readonly string[]): Promise<CallsTopic> {
  const brokers = own?.join() ?? process.env.SWITCHYARD_KAFKA_BROKERS;
  if (brokers === undefined) {
    throw new Error("no Kafka to test with: set SWITCHYARD_KAFKA_BROKERS to host:port");
  }
  const prefix = uniquePrefix(name);
  const topic = `${prefix}calls`;
  const kafka = testKafka({ brokers: brokers.split(","), clientId: name });
  await createTopics(kafka, [topic], 3);
  const taker = new Taker({ finishesAtOnce: true });
  const consumer = consumeWith(kafka, taker, { groupId: `${prefix}test`, topics: [topic] });
  await consumer.joined;
  return {
    brokers,
    prefix,
    topic,
    kafka,
    taker,
    values: () => taker.taken.map(asJson),
    [Symbol.asyncDispose]: async () => {
      await consumer.stop();
      await kafka.admin.deleteTopics([topic]);
      await kafka.close();
    },
  };
}

export function asJson({ value }: IncomingRecord): Record<string, unknown> {
  return JSON.parse(`${value}`) as Record<string, unknown>;
}

/** Starts the stage in this process. */
export async function ingestOn(
  { kafka, topic }: CallsTopic,
  more: Partial<IngestConfig> = {},
): Promise<RunningIngest> {
  const producer = kafka.producer();
  const stage = await startIngest(
    { producer, clock: systemClock, log: createLog("error"), metrics: createMetrics() },
    {
      host: "127.0.0.1",
      port: 0,
      tls: null,
      corsOrigins: [],
      topic,
      sources: [aSource("web", [], { writeKeys: [KEY] })],
      ...INGEST_LIMITS,
      handoverMs: 0,
      drainLimitMs: 5_000,
      times: SERVER_TIMES,
      ...more,
    },
  );
  return {
    ...stage,
    [Symbol.asyncDispose]: async () => {
      await stage[Symbol.asyncDispose]();
      await producer.close(1_000);
    },
  };
}
