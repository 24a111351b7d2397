/**
 * One process of `bench ingest-hostile`.
 *
 *   serve <brokers> <topic>       the stage on the real Kafka; prints its port, and at each line that it
 *                                 is given the CPU that it has used
 *   honest <port> <seconds>       batches of 20 calls at a steady rate; prints how long answers took
 *   attack <port> <connections>   four callers, each with a hostile body of its own, without pause, on
 *                                 so many connections each; prints how many were answered
 */

import { Agent, request } from "node:http";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import { gzipSync } from "node:zlib";

import type { SourceId } from "../src/domain/ids.ts";
import { startIngest } from "../src/ingest/stage.ts";
import { systemClock } from "../src/runtime/clock.ts";
import { createMetrics } from "../src/telemetry/instruments.ts";
import { hostileBodies } from "../test/attacks/ingest.ts";
import { INGEST_LIMITS } from "../test/support/worlds/ingest-limits.ts";
import { benchKafka, benchLog } from "./bench-kafka.ts";
import { BENCH_KEY, benchBatch } from "./ingest-work.ts";
import { quantile } from "./measure.ts";

const EVERY_MS = 10;
const WARM_UP = 100;
const authorization = `Basic ${Buffer.from(`${BENCH_KEY}:`).toString("base64")}`;

async function serve(brokers: string, topic: string): Promise<void> {
  const source = { id: "bench" as SourceId, writeKeys: [BENCH_KEY], destinations: [] };
  const producer = benchKafka(brokers).producer();
  const stage = await startIngest(
    { producer, clock: systemClock, log: benchLog, metrics: createMetrics() },
    {
      host: "127.0.0.1",
      port: 0,
      tls: null,
      corsOrigins: [],
      topic,
      // The calls of a run all have one `sentAt`.
      sources: [{ ...source, callsPerSecond: null, correctClock: false }],
      ...INGEST_LIMITS,
      handoverMs: 0,
      drainLimitMs: 1_000,
    },
  );
  process.stdout.write(`${stage.port}\n`);
  for await (const _ of createInterface({ input: process.stdin })) {
    const { user, system } = process.cpuUsage();
    process.stdout.write(`cpu ${(user + system) / 1_000}\n`);
  }
}

function post(port: number, agent: Agent, body: Buffer): Promise<number> {
  return new Promise((resolve, reject) => {
    const headers = { authorization, "content-encoding": "gzip", "content-length": body.length };
    const options = { host: "127.0.0.1", port, agent, method: "POST", path: "/v1/batch", headers };
    const sent = request(options, (response) => {
      response.resume().on("end", () => resolve(response.statusCode ?? 0));
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

/** Sent by the clock, so that a slow answer holds no later one back. */
async function honest(port: number, seconds: number): Promise<void> {
  const agent = new Agent({ keepAlive: true });
  const bodies = Array.from({ length: 50 }, (_, number) =>
    gzipSync(JSON.stringify(benchBatch(number * 20, 20))),
  );
  const tookMs: number[] = [];
  const refused: number[] = [];
  const answers: Promise<void>[] = [];
  const beginMs = performance.now();
  for (let sent = 0; sent * EVERY_MS < seconds * 1_000; sent += 1) {
    const dueMs = beginMs + sent * EVERY_MS;
    const waitMs = dueMs - performance.now();
    if (waitMs > 0) await pause(waitMs);
    const answer = post(port, agent, bodies[sent % bodies.length] ?? Buffer.alloc(0));
    const counted = answer.then((status) => {
      if (status !== 200) refused.push(status);
      if (sent >= WARM_UP) tookMs.push(performance.now() - dueMs);
    });
    answers.push(counted);
  }
  await Promise.all(answers);
  if (refused.length > 0) throw new Error(`answered: ${refused.slice(0, 5).join(", ")}`);
  const result = { p50Ms: quantile(tookMs, 0.5), p99Ms: quantile(tookMs, 0.99) };
  process.stdout.write(`${JSON.stringify(result)}\n`);
}

async function attack(port: number, connections: number): Promise<void> {
  const agent = new Agent({ keepAlive: true });
  let answered = 0;
  process.once("SIGTERM", () => {
    process.stdout.write(`${answered}\n`, () => process.exit(0));
  });
  const bodies = hostileBodies().flatMap((body) => Array.from({ length: connections }, () => body));
  const callers = bodies.map(async (body) => {
    for (;;) {
      await post(port, agent, body).catch(() => 0);
      answered += 1;
    }
  });
  process.stdout.write("begun\n");
  await Promise.all(callers);
}

const [role = "", ...argv] = process.argv.slice(2);
if (role === "serve") await serve(argv[0] ?? "", argv[1] ?? "");
else if (role === "honest") await honest(Number(argv[0]), Number(argv[1]));
else await attack(Number(argv[0]), Number(argv[1]));
