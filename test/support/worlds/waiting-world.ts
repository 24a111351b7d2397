/** Deliveries that wait in delay topics of a real Kafka, and processes that count them. */

import { systemClock } from "../../../src/base/runtime/clock.ts";
import { createMetrics } from "../../../src/base/telemetry/instruments.ts";
import { deliveryHeaders } from "../../../src/domain/delivery.ts";
import type { DestinationId } from "../../../src/domain/ids.ts";
import { delayMsOfTopic, groupNames, topicNames } from "../../../src/domain/topics.ts";
import type { Kafka } from "../../../src/kafka/port.ts";
import { NO_OPERATOR_ACTIONS } from "../../../src/router/control/operator-action-state.ts";
import { eachWaiting } from "../../../src/router/delay/scan-awaiting-retry.ts";
import { startDelay } from "../../../src/router/delay/stage.ts";
import { uniquePrefix } from "../build/prefix.ts";
import { deliveryOf } from "../build/webhook-destination.ts";
import { LogLines } from "../log/log-lines.ts";
import {
  BILLING,
  CRM,
  DELAYS,
  topicOf,
  valuesOf,
  WINDOW_MS,
  waitingValues,
} from "./counting-world.ts";
import { testKafka } from "./test-kafka.ts";

const PARTITIONS = 4;
/** Number of deliveries by destination and retry delay. */
export const AWAITING = { "crm/10m": 5_000, "billing/10m": 300, "crm/60m": 900 } as const;

export interface WaitingWorld {
  /** Epoch milliseconds before and after the deliveries of `AWAITING` were scheduled for retry. */
  readonly scheduledMs: readonly [from: number, to: number];
  /** @param labels destination and retry delay, as in `AWAITING`. */
  scheduleRetry(labels: string, count: number): Promise<void>;
  startProcess(): ReturnType<typeof startCounting>;
  awaiting(): Promise<Record<string, number>>;
}

/** Topics with a separate prefix that contain the deliveries of `AWAITING`. */
export async function waitingWorld(brokers: readonly string[]): Promise<WaitingWorld> {
  const prefix = uniquePrefix("waiting");
  const topics = topicNames(prefix);
  const withKafka = async <T>(act: (kafka: Kafka) => Promise<T>): Promise<T> => {
    const kafka = connect(brokers);
    await using _closing = { [Symbol.asyncDispose]: () => kafka.close() };
    return await act(kafka);
  };
  const scheduleRetry = (labels: string, count: number) =>
    withKafka((kafka) => write(kafka, prefix, labels, count));
  const names = [...DELAYS.map((delay) => topicOf(delay, topicNames(prefix))), topics.deadLetters];
  const destinations = [CRM, BILLING].flatMap((id) => [topics.deliveries(id), topics.retries(id)]);
  await withKafka((kafka) =>
    kafka.admin.create(
      [...names, ...destinations].map((name) => {
        return { name, partitions: PARTITIONS, replicationFactor: 1, config: {} };
      }),
    ),
  );
  const fromMs = Date.now();
  for (const [labels, count] of Object.entries(AWAITING)) await scheduleRetry(labels, count);
  return {
    scheduledMs: [fromMs, Date.now()],
    scheduleRetry,
    startProcess: () => startCounting(connect(brokers), prefix),
    awaiting: () => withKafka((kafka) => awaitingIn(kafka, prefix)),
  };
}

function connect(brokers: readonly string[]): Kafka {
  return testKafka({ brokers, clientId: "waiting", sessionTimeoutMs: 6_000 });
}

async function write(kafka: Kafka, prefix: string, labels: string, count: number): Promise<void> {
  const [destination = "", delay = ""] = labels.split("/");
  const nowMs = Date.now();
  const scheduled = deliveryOf({
    destination: destination as DestinationId,
    attempt: 1,
    firstAttemptAtMs: nowMs,
    dueAtMs: nowMs + (delayMsOfTopic(delay) ?? 0),
  });
  const headers = deliveryHeaders(scheduled);
  const producer = kafka.producer();
  await producer.send(
    Array.from({ length: count }, (_, user) => {
      const key = Buffer.from(`user-${user}`);
      return {
        topic: topicOf(delay, topicNames(prefix)),
        key,
        value: Buffer.alloc(500, 1),
        headers,
      };
    }),
  );
  await producer.close(5_000);
}

/** Starts a process with the stage and its gauges. The client is closed when the process stops. */
async function startCounting(kafka: Kafka, prefix: string) {
  kafka.watch();
  const metrics = createMetrics();
  const producer = kafka.producer();
  const failures: Error[] = [];
  const onFatal = (error: Error) => failures.push(error);
  const stage = await startDelay(
    { kafka, producer, clock: systemClock, log: new LogLines().log, metrics, onFatal },
    {
      topics: topicNames(prefix),
      groups: groupNames(prefix),
      delays: DELAYS,
      maxBytes: 100_000,
      drainLimitMs: 1_000,
      destinations: [CRM, BILLING],
      shownMax: Number.POSITIVE_INFINITY,
      retryWindowMs: WINDOW_MS,
    },
  );
  const text = () => metrics.text();
  return {
    failures,
    ...waitingValues(text),
    times: (of: string) => valuesOf(text(), `switchyard_deliveries_${of}_timestamp_seconds`),
    stop: async () => {
      await stage[Symbol.asyncDispose]();
      await producer.close(5_000);
      await kafka.close();
    },
  };
}

/** The number of records in Kafka, read without our code. */
async function awaitingIn(kafka: Kafka, prefix: string): Promise<Record<string, number>> {
  const { signal } = new AbortController();
  const asked = { delays: DELAYS, topics: topicNames(prefix), groups: groupNames(prefix), signal };
  const awaiting: Record<string, number> = {};
  const read = await eachWaiting(
    { kafka, clock: systemClock },
    { ...asked, operatorActions: NO_OPERATOR_ACTIONS, recordsMax: 100_000 },
    (waiting, delay) => {
      const place = `${waiting.kind === "waiting" ? waiting.destination : ""}/${delay}`;
      awaiting[place] = (awaiting[place] ?? 0) + 1;
    },
  );
  const left = read.flatMap(({ unread, errors }) => [...errors, ...(unread === 0 ? [] : [unread])]);
  if (left.length > 0) throw new Error(`not all of it is read: ${left.join()}`);
  return awaiting;
}
