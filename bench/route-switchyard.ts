/**
 * Switchyard's route stage as a contestant of `bench route`: the real stage with a real Kafka.
 *
 *   node bench/route-switchyard.ts <brokers> <copies> <warm-up copies> <topic prefix> [audited]
 */

import { systemClock } from "../src/base/runtime/clock.ts";
import { createMetrics } from "../src/base/telemetry/instruments.ts";
import type { SourceId } from "../src/domain/ids.ts";
import { groupNames, topicNames } from "../src/domain/topics.ts";
import type { Producer } from "../src/kafka/port.ts";
import { startRoute } from "../src/router/route/stage.ts";
import { aSource } from "../test/support/build/calls.ts";
import { createMeter } from "./measure.ts";
import { benchTopicDestinations } from "./work.ts";
import { benchKafka, benchLedger, benchLog } from "./workbench.ts";

const [brokers = "", copies = "", warmUp = "", prefix = "", audited] = process.argv.slice(2);
const warmUpCopies = Number(warmUp);
const allCopies = warmUpCopies + Number(copies);
const topics = topicNames(prefix);

const kafka = benchKafka(brokers);
const meter = createMeter();
const finished = Promise.withResolvers<void>();
let done = 0;
let startedAt = 0;
const inner = kafka.producer();
const producer: Producer = {
  close: (limitMs) => inner.close(limitMs),
  send: async (records, options) => {
    const refused = await inner.send(records, options);
    done += records.length - refused.length;
    if (startedAt === 0 && done >= warmUpCopies) {
      startedAt = done;
      meter.start();
    }
    if (done >= allCopies) finished.resolve();
    return refused;
  },
};

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
    // Its records are not counted as copies.
    ...(audited === undefined ? {} : { ledger: benchLedger(inner, topics) }),
  },
  {
    topics,
    groups: groupNames(prefix),
    sources: [
      aSource(
        source,
        destinations.map(({ id }) => id),
      ),
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
