/**
 * `bench delay`: how late the delay stage returns records, while the same process delivers at full speed.
 *
 * Records are scheduled in the same way as by the deliver stage, evenly at 2,000 per second, for each of four short
 * delays in turn. One destination has a backlog that never ends, and another destination gets the returned records. The
 * lateness of a returned record is the broker's time of its append (`LogAppendTime`) minus the time at which it is due,
 * by the same clock. Goals: no record is early, and the p99 is at most 500 ms.
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
/** The backlog of the destination is never smaller than this. */
const BACKLOG = 40_000;
const BACKLOG_STEP = 4_000;
/** A record that has not returned this long after the last one was due is lost. */
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

/**
 * Schedules records and waits until all of them are returned. Resolves with the number of deliveries from the backlog
 * per second.
 */
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

/** Adds records, so that the backlog does not end. */
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

/** Returns a record as the deliver stage writes it for a delivery to which an endpoint responded 503. */
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
