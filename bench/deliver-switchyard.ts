/**
 * Switchyard's deliver stage as a contestant of `bench deliver`: the real stage with a real Kafka and
 * real sockets. Accepted calls are counted.
 *
 *   node bench/deliver-switchyard.ts <in flight> <units> <warm-up units> <url> <brokers> <topic prefix> <log level> [proxy|audited]
 */

import { systemClock } from "../src/base/runtime/clock.ts";
import { createMetrics } from "../src/base/telemetry/instruments.ts";
import { createLog, type LogLevel } from "../src/base/telemetry/log.ts";
import { parseNetwork } from "../src/domain/addresses.ts";
import { groupNames, topicNames } from "../src/domain/topics.ts";
import { startDeliver } from "../src/router/deliver/stage.ts";
import type { RequestResult } from "../src/router/destinations/port.ts";
import { createHttp } from "../src/router/destinations/webhook/http.ts";
import { webhookTransport } from "../src/router/destinations/webhook/transport.ts";
import { createMeter } from "./measure.ts";
import { benchDestination } from "./work.ts";
import { benchKafka, benchLedger } from "./workbench.ts";

const [inFlight = "", units = "", warmUp = "", url = "", brokers = "", prefix = "", level = ""] =
  process.argv.slice(2);
const [more = null] = process.argv.slice(9);
const isAudited = more === "audited";
const proxy = isAudited ? null : more;
const warmUpUnits = Number(warmUp);
const total = Number(units) + warmUpUnits;

const kafka = benchKafka(brokers);
const producer = kafka.producer();
const loopback = parseNetwork("127.0.0.0/8");
if (loopback === null) throw new Error("127.0.0.0/8 is no network");
const http = createHttp({
  timeoutMs: 5_000,
  allowNetworks: [loopback],
  connectionMaxAgeMs: 60_000,
  ...{ ca: null, proxy, proxyCa: null },
});
const meter = createMeter();
const finished = Promise.withResolvers<void>();
let done = 0;
/** The number of units that were done before the measured part. */
let marked: number | null = null;
// Log lines go to a file or are dropped, because otherwise the terminal would also be measured.
const log = createLog(level as LogLevel, { write: () => undefined });
const deps = { kafka, clock: systemClock, log, metrics: createMetrics() };
const topics = topicNames(prefix);
const ledger = isAudited ? { ledger: benchLedger(producer, topics) } : {};

const stage = await startDeliver(
  {
    ...deps,
    ...ledger,
    producer,
    transport: webhookTransport({
      update: (egress) => http.update(egress),
      open: (destination) => {
        const connections = http.open(destination);
        return {
          update: (changed) => connections.update(changed),
          close: () => connections.close(),
          send: (endpoint, request, onResult, phases) => {
            const counted = (result: RequestResult) => {
              onResult(result);
              if (result.kind !== "response" || result.status !== 200) {
                finished.reject(new Error(`not accepted: ${JSON.stringify(result)}`));
              }
              done += 1;
              if (marked === null && done >= warmUpUnits) {
                marked = done;
                meter.start();
              }
              if (done >= total) finished.resolve();
            };
            connections.send(endpoint, request, counted, phases);
          },
        };
      },
    }),
  },
  {
    topics,
    groups: groupNames(prefix),
    destinations: [benchDestination(url, Number(inFlight))],
    retryDelaysMs: [1_000],
    retryWindowMs: 14_400_000,
    maxBytes: () => 8 * 1_024 * 1_024,
    commonMaxBytes: 0,
    drainLimitMs: 10_000,
  },
);
await finished.promise;
const measured = meter.stop(done - (marked ?? 0));
await stage[Symbol.asyncDispose]();
await producer.close(1_000);
await kafka.close();
process.stdout.write(`${JSON.stringify(measured)}\n`);
