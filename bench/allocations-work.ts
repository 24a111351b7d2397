/**
 * Measures how many bytes of JavaScript's heap a stage allocates for each record. The work is the same each time, so
 * the figure does not depend on how busy the machine is. Prints one number.
 *
 *   node bench/allocations-work.ts route|deliver|delay [calls per request of deliver]
 */

import { GCProfiler } from "node:v8";
import { systemClock } from "../src/base/runtime/clock.ts";
import { createMetrics } from "../src/base/telemetry/instruments.ts";
import { deliveryHeaders } from "../src/domain/delivery.ts";
import type { DestinationId, SourceId } from "../src/domain/ids.ts";
import { groupNames, topicNames } from "../src/domain/topics.ts";
import { startDelay } from "../src/router/delay/stage.ts";
import { startDeliver } from "../src/router/deliver/stage.ts";
import { webhookTransport } from "../src/router/destinations/webhook/transport.ts";
import { startRoute } from "../src/router/route/stage.ts";
import { aSource } from "../test/support/build/calls.ts";
import { deliveryOf } from "../test/support/build/webhook-destination.ts";
import { type Straight, straightKafka } from "./straight-kafka.ts";
import { benchDelivery, benchDestination, benchTopicDestinations, callRecord } from "./work.ts";
import { benchLedger, benchLog } from "./workbench.ts";

/** Before this many records, functions are still being compiled, and allocate other amounts. */
const WARM_UP = 30_000;
const COUNTED = 20_000;

const [name = "", calls = "0"] = process.argv.slice(2);
const topics = topicNames("");
const common = {
  topics,
  groups: groupNames(""),
  drainLimitMs: 1_000,
} as const;
const deps = ({ kafka, producer }: Straight) => ({
  ...{ kafka, producer, clock: systemClock, log: benchLog, metrics: createMetrics() },
  ledger: benchLedger(producer, topics),
  onFatal: (error: Error) => {
    throw error;
  },
});

async function startRouteOf(): Promise<Straight> {
  const straight = straightKafka(topics.calls, [], (offset) => callRecord(topics.calls, offset));
  const destinations = benchTopicDestinations();
  const source = aSource(
    "bench",
    destinations.map(({ id }) => id),
  );
  const own = { sources: [source], defaultSource: "bench" as SourceId, destinations };
  await startRoute(deps(straight), { ...common, ...own, maxBytes: 8 * 1_024 * 1_024 });
  return straight;
}

async function startDeliverOf(): Promise<Straight> {
  const destination = benchDestination("http://127.0.0.1:1/", 64, Number(calls));
  const topic = topics.deliveries(destination.id);
  const straight = straightKafka(topic, [], (offset) => benchDelivery(topic, 0, offset));
  const accepted = { kind: "response", status: 200, retryAfter: null, durationMs: 1 } as const;
  const connections = {
    update: () => undefined,
    send: (_endpoint: unknown, _request: unknown, done: (result: typeof accepted) => void) =>
      queueMicrotask(() => done(accepted)),
    close: () => Promise.resolve(),
  };
  await startDeliver(
    {
      ...deps(straight),
      transport: webhookTransport({ update: () => false, open: () => connections }),
    },
    {
      ...common,
      destinations: [destination],
      retryDelaysMs: [1_000],
      retryWindowMs: 14_400_000,
      maxBytes: () => 8 * 1_024 * 1_024,
      commonMaxBytes: 0,
    },
  );
  return straight;
}

/** Starts the delay stage with records that are due on arrival. */
async function startDelayOf(): Promise<Straight> {
  const topic = topics.delays(1_000);
  const id = "d1" as DestinationId;
  const straight = straightKafka(topic, [topics.deliveries(id), topics.retries(id)], (offset) => ({
    ...benchDelivery(topic, 0, offset),
    headers: deliveryHeaders(
      deliveryOf({ destination: id, dueAtMs: 1, retryTopic: topics.retries(id) }),
    ),
  }));
  await startDelay(deps(straight), {
    ...common,
    delays: ["1s"],
    destinations: [id],
    shownMax: 1,
    retryWindowMs: 14_400_000,
    maxBytes: 8 * 1_024 * 1_024,
  });
  return straight;
}

/**
 * Starts to count the bytes that are allocated on the heap. Returns a function that reads the count; it can be called
 * once. Between two collections, the heap grows by the number of allocated bytes.
 */
function countAllocated(): () => number {
  const profiler = new GCProfiler();
  const usedAtFirst = process.memoryUsage().heapUsed;
  profiler.start();
  return () => {
    let [used, allocated] = [usedAtFirst, 0];
    for (const { beforeGC, afterGC } of profiler.stop()?.statistics ?? []) {
      allocated += beforeGC.heapStatistics.usedHeapSize - used;
      used = afterGC.heapStatistics.usedHeapSize;
    }
    return allocated + process.memoryUsage().heapUsed - used;
  };
}

const STAGES = { route: startRouteOf, deliver: startDeliverOf, delay: startDelayOf } as const;
const { prepare, pass } = await STAGES[name as keyof typeof STAGES]();
// The stages have no timers that would keep the process alive.
setInterval(() => undefined, 1_000);
prepare(WARM_UP);
await pass();
prepare(COUNTED);
const allocated = countAllocated();
await pass();
process.stdout.write(`${Math.round(allocated() / COUNTED)}\n`);
process.exit(0);
