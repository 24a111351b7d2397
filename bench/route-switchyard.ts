/**
 * Switchyard's route stage as a contestant of `bench route`: the real stage on the real Kafka.
 *
 *   node bench/route-switchyard.ts <brokers> <topic prefix> <copies> <warm-up copies>
 */

import type { SourceId } from "../src/domain/ids.ts";
import { groupNames, topicNames } from "../src/domain/topics.ts";
import { startRoute } from "../src/route/stage.ts";
import { systemClock } from "../src/runtime/clock.ts";
import { createMetrics } from "../src/telemetry/instruments.ts";
import { benchKafka, benchLog } from "./bench-kafka.ts";
import { countAcknowledged } from "./count-acknowledged.ts";
import { createMeter } from "./measure.ts";
import { benchTopicDestinations } from "./route-work.ts";

const [brokers = "", prefix = "", copies = "", warmUp = ""] = process.argv.slice(2);
const warmUpCopies = Number(warmUp);
const allCopies = warmUpCopies + Number(copies);

const kafka = benchKafka(brokers);
const meter = createMeter();
const finished = Promise.withResolvers<void>();
let done = 0;
let startedAt = 0;
const producer = countAcknowledged(kafka.producer(), (records) => {
  done += records;
  if (startedAt === 0 && done >= warmUpCopies) {
    startedAt = done;
    meter.start();
  }
  if (done >= allCopies) finished.resolve();
});

const destinations = benchTopicDestinations();
const source = "bench" as SourceId;
const stage = await startRoute(
  {
    kafka,
    producer,
    clock: systemClock,
    log: benchLog,
    metrics: createMetrics(),
    onFatal: finished.reject,
  },
  {
    topics: topicNames(prefix),
    groups: groupNames(prefix),
    sources: [
      {
        id: source,
        writeKeys: [],
        destinations: destinations.map(({ id }) => id),
        callsPerSecond: null,
        correctClock: true,
      },
    ],
    defaultSource: source,
    destinations,
    drainLimitMs: 10_000,
  },
);
await finished.promise;
const measured = meter.stop(done - startedAt);
await stage[Symbol.asyncDispose]();
await kafka.close();
process.stdout.write(`${JSON.stringify(measured)}\n`);
