/**
 * One contestant of `bench ingest`. Its clients run in a separate process.
 *
 *   node bench/ingest-server.ts <ours | http | produce> <brokers> <topic> <calls a batch> <connections>
 *     <warm-up batches> <batches>
 *
 *   ours      the stage on the real Kafka
 *   http      a simple node:http server that decompresses, parses and responds
 *   produce   no HTTP: one caller per connection, each of which sends the records of a batch
 */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createInterface } from "node:readline";
import { gunzipSync } from "node:zlib";
import { systemClock } from "../src/base/runtime/clock.ts";
import { createMetrics } from "../src/base/telemetry/instruments.ts";
import { startIngest } from "../src/router/ingest/stage.ts";
import { aSource } from "../test/support/build/calls.ts";
import { INGEST_LIMITS } from "../test/support/worlds/ingest-limits.ts";
import { BENCH_KEY, benchBatch } from "./ingest-work.ts";
import { createMeter, quantile } from "./measure.ts";
import { benchKafka, benchLog } from "./workbench.ts";

const [contestant, brokers = "", topic = "", ...numbers] = process.argv.slice(2);
const [calls = 0, connections = 0, warmUp = 0, batches = 0] = numbers.map(Number);
const meter = createMeter();
const sharedHeaders = [["source-id", Buffer.from("bench")]] as const;

/** Resolves with the latencies when the clients have finished. */
async function serve(port: number): Promise<Readonly<Record<string, number>>> {
  const argv = ["bench/ingest-load.ts", port, calls, connections, warmUp, batches].map(String);
  const load = spawn(process.execPath, argv, { stdio: ["ignore", "pipe", "inherit"] });
  let last = "";
  createInterface({ input: load.stdout }).on("line", (line) => {
    if (line === "warm") meter.start();
    last = line;
  });
  const [status] = (await once(load, "close")) as [number | null];
  if (status !== 0) throw new Error(`the clients ended with ${status}`);
  return JSON.parse(last) as Readonly<Record<string, number>>;
}

async function ours() {
  const kafka = benchKafka(brokers);
  // All calls of a run have the same `sentAt`.
  const source = aSource("bench", [], { writeKeys: [BENCH_KEY], correctClock: false });
  const stage = await startIngest(
    { producer: kafka.producer(), clock: systemClock, log: benchLog, metrics: createMetrics() },
    {
      host: "127.0.0.1",
      port: 0,
      tls: null,
      corsOrigins: [],
      topic,
      sources: [source],
      ...INGEST_LIMITS,
      handoverMs: 0,
      drainLimitMs: 1_000,
    },
  );
  return serve(stage.port);
}

async function http() {
  const body = '{"success":true}';
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const { batch } = JSON.parse(gunzipSync(Buffer.concat(chunks)).toString()) as {
        readonly batch: readonly unknown[];
      };
      if (batch.length !== calls) throw new Error(`a batch of ${batch.length}`);
      response.writeHead(200, {
        "content-type": "application/json",
        "content-length": body.length,
      });
      response.end(body);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return serve((server.address() as AddressInfo).port);
}

async function produce() {
  const producer = benchKafka(brokers).producer();
  const different = Array.from({ length: 200 }, (_, number) => {
    const { batch } = benchBatch(number * calls, calls) as { batch: { userId: string }[] };
    return batch.map((call) => ({
      topic,
      sharedHeaders,
      headers: [],
      key: Buffer.from(call.userId),
      value: Buffer.from(JSON.stringify(call)),
    }));
  });
  const tookMs: number[] = [];
  let sent = 0;
  const caller = async () => {
    while (sent < warmUp + batches) {
      const number = sent;
      sent += 1;
      if (number === warmUp) meter.start();
      const startedAt = performance.now();
      await producer.send(different[number % different.length] ?? []);
      if (number >= warmUp) tookMs.push(performance.now() - startedAt);
    }
  };
  await Promise.all(Array.from({ length: connections }, caller));
  return { p50Ms: quantile(tookMs, 0.5), p99Ms: quantile(tookMs, 0.99) };
}

const contestants = { ours, http, produce } as const;
const run = contestants[contestant as keyof typeof contestants];
const extra = await run();
process.stdout.write(`${JSON.stringify({ ...meter.stop(batches * calls), extra })}\n`);
process.exit(0);
