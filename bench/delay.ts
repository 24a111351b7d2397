/**
 * `bench delay`: how late the delay stage returns records, while deliveries run at full speed in
 * the same process.
 *
 * Records are scheduled as deliver schedules them, evenly at 2,000 a second and in turns over four short
 * delays; one destination has a backlog that never ends, another one gets what returns. A return
 * record's lateness is the broker's time of its append (`LogAppendTime`) minus its due-at, by the
 * same clock. Goals: none early, p99 at most 500 ms.
 */

import { setTimeout as sleep } from "node:timers/promises";

import { DELIVERY_HEADER } from "../src/domain/delivery.ts";
import type { OutgoingRecord } from "../src/domain/record.ts";
import { delayName } from "../src/domain/topics.ts";
import { markdown, quantile } from "./measure.ts";
import { PIPELINE } from "./program.ts";
import { type Receiver, startReceiver } from "./receiver.ts";
import { benchDelivery, idOf } from "./work.ts";
import { Workbench } from "./workbench.ts";

const RECORDS = 100_000;
const DELAYS_MS = [2_000, 5_000, 10_000, 20_000] as const;
const PER_SECOND = 2_000;
const STEP_MS = 50;
/** What the destination with the backlog always has before it. */
const BACKLOG = 40_000;
const BACKLOG_STEP = 4_000;
/** After the last record's due time; then something is lost. */
const STALLED_MS = 60_000;

interface Returned {
  readonly delayMs: number;
  readonly latenessMs: number;
}

export async function benchDelay(brokers: string): Promise<string> {
  await using bench = new Workbench(brokers);
  using backlogReceiver = await startReceiver();
  using returnReceiver = await startReceiver();
  await using program = await bench.start({
    destinations: [backlogReceiver, returnReceiver].map(({ url }, index) => {
      return { id: idOf(index), url, concurrency: 64 };
    }),
    stages: PIPELINE,
    delays: DELAYS_MS.map(delayName),
  });
  await bench.kafka.admin.alterConfig(bench.retries("d2"), {
    "message.timestamp.type": "LogAppendTime",
  });
  const perSecond = await returnAll(bench, backlogReceiver);
  return (
    `${table(await readReturned(bench))}\n\n` +
    `Meanwhile ${perSecond.toFixed(0)} deliveries a second of the backlog, beside those that ` +
    `returned; the process had ${program.rssMb().toFixed(0)} MB at the end. Goals: none early, p99 at most 500 ms.`
  );
}

/** Schedules them and waits until all are back. Resolves with the deliveries of the backlog a second. */
async function returnAll(bench: Workbench, receiver: Receiver): Promise<number> {
  const over = new AbortController();
  const feeding = feed(bench, receiver, over.signal);
  const startedAtMs = performance.now();
  await bench.post(RECORDS, PER_SECOND, (number) => scheduledRecord(bench, number));
  await untilReturned(bench);
  const seconds = (performance.now() - startedAtMs) / 1_000;
  const delivered = await receiver.count();
  over.abort();
  await feeding;
  return delivered / seconds;
}

/** Keeps the backlog from ending. */
async function feed(bench: Workbench, receiver: Receiver, over: AbortSignal): Promise<void> {
  const topic = bench.deliveries("d1");
  for (let written = 0; !over.aborted; ) {
    if (written - (await receiver.count()) >= BACKLOG) {
      await sleep(STEP_MS);
      continue;
    }
    const from = written;
    await bench.fill(BACKLOG_STEP, (number) => benchDelivery(topic, 0, from + number));
    written += BACKLOG_STEP;
  }
}

/** As deliver writes a delivery that an endpoint answered with 503. */
function scheduledRecord(bench: Workbench, number: number): OutgoingRecord {
  const index = number % DELAYS_MS.length;
  const delayMs = DELAYS_MS[index] ?? DELAYS_MS[0];
  const nowMs = Date.now();
  return benchDelivery(bench.topics.delays(delayMs), 1, number, {
    attempt: index + 1,
    firstAttemptAtMs: nowMs,
    retryCount: index + 1,
    dueAtMs: nowMs + delayMs,
    retryTopic: bench.retries("d2"),
    lastOutcome: "bench=503",
  });
}

async function untilReturned(bench: Workbench): Promise<void> {
  const untilMs = Date.now() + Math.max(...DELAYS_MS) + STALLED_MS;
  for (let returned = 0; returned < RECORDS; ) {
    if (Date.now() > untilMs) throw new Error(`${returned} of ${RECORDS} records have returned`);
    await sleep(STEP_MS * 10);
    const ends = await bench.ends(bench.retries("d2"));
    returned = [...ends.values()].reduce((sum, end) => sum + end, 0);
  }
}

async function readReturned(bench: Workbench): Promise<readonly Returned[]> {
  const returned: Returned[] = [];
  for await (const records of bench.read(bench.retries("d2"))) {
    for (const { timestampMs, headers } of records) {
      const values = new Map(headers.map(([name, value]) => [name, Number(value)]));
      const dueAtMs = values.get(DELIVERY_HEADER.dueAt) ?? Number.NaN;
      const delayMs = DELAYS_MS[(values.get(DELIVERY_HEADER.retryCount) ?? 0) - 1] ?? Number.NaN;
      returned.push({ delayMs, latenessMs: timestampMs - dueAtMs });
    }
  }
  return returned;
}

function table(returned: readonly Returned[]): string {
  const row = (title: string, of: readonly Returned[]) => {
    const lateness = of.map(({ latenessMs }) => latenessMs);
    return {
      delay: title,
      records: `${lateness.length}`,
      early: `${lateness.filter((ms) => ms < 0).length}`,
      "median ms late": `${quantile(lateness, 0.5)}`,
      "p99 ms late": `${quantile(lateness, 0.99)}`,
      "max ms late": `${quantile(lateness, 1)}`,
    };
  };
  const rows = DELAYS_MS.map((delayMs) =>
    row(
      delayName(delayMs),
      returned.filter((each) => each.delayMs === delayMs),
    ),
  );
  return markdown([...rows, row("all", returned)]);
}
