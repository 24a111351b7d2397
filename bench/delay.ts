/**
 * `bench delay`: how late the delay stage returns records, while deliveries run at full speed in
 * the same process.
 *
 * Records are parked as deliver parks them, evenly at 2,000 a second and in turns over four short
 * tiers; one destination has a backlog that never ends, another one gets what returns. A return
 * record's lateness is the broker's time of its append (`LogAppendTime`) minus its due-at, by the
 * same clock. Goals: none early, p99 at most 500 ms.
 */

import { setTimeout as sleep } from "node:timers/promises";

import { DELIVERY_HEADER, deliveryHeaders, parseDelivery } from "../src/domain/delivery.ts";
import type { DestinationId } from "../src/domain/ids.ts";
import type { OutgoingRecord } from "../src/domain/record.ts";
import { type TopicNames, tierName, topicNames } from "../src/domain/topics.ts";
import type { Kafka, Producer } from "../src/kafka/port.ts";
import { benchKafka, deleteTopics, fill, newPrefix } from "./bench-kafka.ts";
import { benchDelivery } from "./deliver-work.ts";
import { markdown, quantile } from "./measure.ts";
import { type Program, startProgram } from "./program.ts";
import { type Receiver, startReceiver } from "./start-receiver.ts";

const TIERS_MS = [2_000, 5_000, 10_000, 20_000] as const;
const PER_SECOND = 2_000;
const STEP_MS = 10;
const CONCURRENCY = 64;
/** What the destination with the backlog always has before it. */
const BACKLOG = 40_000;
const BACKLOG_STEP = 4_000;
/** After the last record's due time; then something is lost. */
const STALLED_MS = 60_000;
const READ_BYTES = 1_024 * 1_024;

interface Returned {
  readonly tierMs: number;
  readonly latenessMs: number;
}

export async function benchDelay(brokers: string, records: number): Promise<string> {
  const topics = topicNames(newPrefix());
  const kafka = benchKafka(brokers);
  using backlogReceiver = await startReceiver();
  using returnReceiver = await startReceiver();
  const program = await startProgram({
    brokers,
    topicPrefix: topics.prefix,
    destinations: [destination(1, backlogReceiver), destination(2, returnReceiver)],
    stages: ["route", "deliver", "delay"],
    delays: TIERS_MS.map(tierName),
  });
  try {
    await kafka.admin.alterConfig(retryTopic(topics), {
      "message.timestamp.type": "LogAppendTime",
    });
    const perSecond = await returnAll(kafka, topics, records, backlogReceiver);
    const peakMb = (await program.metric("process_resident_memory_bytes")) / 2 ** 20;
    return table(await readReturned(kafka, topics), perSecond, peakMb);
  } finally {
    await stopAll(program, kafka);
    await deleteTopics(brokers, topics.prefix);
  }
}

function destination(number: number, { port }: Receiver) {
  return { id: `d${number}`, url: `http://127.0.0.1:${port}/`, concurrency: CONCURRENCY };
}

function retryTopic(topics: TopicNames): string {
  return topics.deliveries("d2" as DestinationId);
}

/** Parks and waits until all are back. Resolves with the deliveries of the backlog a second. */
async function returnAll(
  kafka: Kafka,
  topics: TopicNames,
  records: number,
  backlogReceiver: Receiver,
): Promise<number> {
  const producer = kafka.producer();
  const over = new AbortController();
  const feeding = feed(producer, topics.deliveries("d1" as DestinationId), backlogReceiver, over);
  const startedAtMs = performance.now();
  const before = await backlogReceiver.count();
  await park(kafka.producer(), topics, records);
  await untilReturned(kafka, retryTopic(topics), records);
  const delivered = (await backlogReceiver.count()) - before;
  const seconds = (performance.now() - startedAtMs) / 1_000;
  over.abort();
  await feeding;
  return delivered / seconds;
}

/** Keeps the backlog from ending. */
async function feed(
  producer: Producer,
  topic: string,
  receiver: Receiver,
  over: AbortController,
): Promise<void> {
  for (let written = 0; !over.signal.aborted; ) {
    if (written - (await receiver.count()) >= BACKLOG) {
      await sleep(STEP_MS * 5);
      continue;
    }
    const from = written;
    await fill(producer, BACKLOG_STEP, (number) => benchDelivery(topic, 0, from + number));
    written += BACKLOG_STEP;
  }
}

async function park(producer: Producer, topics: TopicNames, records: number): Promise<void> {
  const sends: Promise<unknown>[] = [];
  const startedAtMs = performance.now();
  for (let parked = 0; parked < records; ) {
    const elapsedMs = performance.now() - startedAtMs;
    const wanted = Math.min(records, Math.floor((elapsedMs * PER_SECOND) / 1_000));
    const from = parked;
    const step = Array.from({ length: wanted - from }, (_, at) => parkedRecord(topics, from + at));
    if (step.length > 0) sends.push(producer.send(step));
    parked = wanted;
    await sleep(STEP_MS);
  }
  await Promise.all(sends);
}

/** As deliver writes a delivery that an endpoint answered with 503. */
function parkedRecord(topics: TopicNames, number: number): OutgoingRecord {
  const tier = number % TIERS_MS.length;
  const tierMs = TIERS_MS[tier] ?? TIERS_MS[0];
  const made = benchDelivery(topics.delays(tierMs), 1, number);
  const parsed = parseDelivery(made.headers);
  if (parsed.kind === "invalid") throw new Error(parsed.error);
  const nowMs = Date.now();
  const headers = deliveryHeaders({
    ...parsed.delivery,
    attempt: tier + 1,
    firstAttemptAtMs: nowMs,
    retryCount: tier + 1,
    dueAtMs: nowMs + tierMs,
    retryTopic: retryTopic(topics),
    lastOutcome: "bench=503",
  });
  return { ...made, headers };
}

async function untilReturned(kafka: Kafka, topic: string, records: number): Promise<void> {
  const untilMs = Date.now() + Math.max(...TIERS_MS) + STALLED_MS;
  for (let returned = 0; returned < records; ) {
    if (Date.now() > untilMs) throw new Error(`${returned} of ${records} records have returned`);
    await sleep(STEP_MS * 50);
    const ends = await kafka.admin.offsets(topic);
    returned = ends.reduce((sum, { end }) => sum + end, 0);
  }
}

async function readReturned(kafka: Kafka, topics: TopicNames): Promise<readonly Returned[]> {
  const topic = retryTopic(topics);
  const returned: Returned[] = [];
  const { signal } = new AbortController();
  for (const { partition, first, end } of await kafka.admin.offsets(topic)) {
    const range = { topic, partition, from: first, to: end, maxBytes: READ_BYTES, signal };
    for await (const records of kafka.read(range)) {
      for (const { timestampMs, headers } of records) {
        const values = new Map(headers.map(([name, value]) => [name, Number(value)]));
        const dueAtMs = values.get(DELIVERY_HEADER.dueAt) ?? Number.NaN;
        const tierMs = TIERS_MS[(values.get(DELIVERY_HEADER.retryCount) ?? 0) - 1] ?? Number.NaN;
        returned.push({ tierMs, latenessMs: timestampMs - dueAtMs });
      }
    }
  }
  return returned;
}

function table(returned: readonly Returned[], perSecond: number, rssMb: number): string {
  const row = (title: string, lateness: readonly number[]) => [
    title,
    `${lateness.length}`,
    `${lateness.filter((ms) => ms < 0).length}`,
    ...[0.5, 0.99, 1].map((share) => `${quantile(lateness, share)}`),
  ];
  const latenessOf = (tierMs: number) =>
    returned.filter((each) => each.tierMs === tierMs).map(({ latenessMs }) => latenessMs);
  const rows = [
    ...TIERS_MS.map((tierMs) => row(tierName(tierMs), latenessOf(tierMs))),
    row(
      "all",
      returned.map(({ latenessMs }) => latenessMs),
    ),
  ];
  const header = ["tier", "records", "early", "median ms late", "p99 ms late", "max ms late"];
  return (
    `${markdown(header, rows)}\n\n` +
    `Meanwhile ${perSecond.toFixed(0)} deliveries a second of the backlog, beside those that ` +
    `returned; the process had ${rssMb.toFixed(0)} MB at the end. Goals: none early, p99 at most 500 ms.`
  );
}

async function stopAll(program: Program, kafka: Kafka): Promise<void> {
  await program.stop();
  await kafka.close();
}
