/**
 * The ingest stage on a real socket, with a Kafka in memory. The cluster's clock advances automatically from one due
 * action to the next, so that 7 s of an outage pass immediately.
 */

import { connect, type Socket } from "node:net";
import { createMetrics, type Metrics } from "../../../src/base/telemetry/instruments.ts";
import type { IncomingRecord } from "../../../src/domain/record.ts";
import type { Producer } from "../../../src/kafka/port.ts";
import { SERVER_TIMES } from "../../../src/router/ingest/server.ts";
import {
  type IngestConfig,
  type RunningIngest,
  startIngest,
} from "../../../src/router/ingest/stage.ts";
import { aSource } from "../build/calls.ts";
import { ManualClock } from "../clock/manual-clock.ts";
import { createPrng } from "../clock/prng.ts";
import { parsedLog } from "../log/parsed-log.ts";
import { MemoryCluster } from "../memory-kafka/memory-kafka.ts";
import { INGEST_LIMITS } from "./ingest-limits.ts";

const TOPIC = "sw.calls";
export const KEY = "web-key";

export interface IngestWorld extends AsyncDisposable {
  readonly stage: RunningIngest;
  readonly cluster: MemoryCluster;
  readonly clock: ManualClock;
  readonly lines: readonly Record<string, unknown>[];
  readonly metrics: Metrics;
  readonly producer: Producer;
  /** All records of the topic, partition by partition. */
  records(): readonly IncomingRecord[];
  values(): readonly Record<string, unknown>[];
  post(path: string, body: unknown, more?: RequestInit): Promise<Response>;
  /** A raw connection, for bytes that no client would send. */
  raw(): RawConnection;
  /** The rest of the metrics line that starts with this. */
  metric(start: string): Promise<string | undefined>;
}

/**
 * @param recordMaxBytes the maximum record size of the topic.
 * @param given a producer to use instead of that of the cluster in memory.
 */
export async function ingestWorld(
  more: Partial<IngestConfig> = {},
  recordMaxBytes = 1_048_576,
  given?: Producer,
): Promise<IngestWorld> {
  const clock = new ManualClock();
  const random = createPrng(7);
  const cluster = new MemoryCluster({ clock, random, recordMaxBytes: () => recordMaxBytes });
  cluster.createTopic(TOPIC, 3);
  const producer = given ?? cluster.connect().producer();
  const metrics = createMetrics();
  const { log, lines } = parsedLog();
  const stage = await startIngest(
    { producer, clock, log, metrics },
    {
      host: "127.0.0.1",
      port: 0,
      tls: null,
      corsOrigins: [],
      topic: TOPIC,
      sources: [
        aSource("web", [], { writeKeys: [KEY, "old-key"] }),
        aSource("slow", [], { writeKeys: ["slow-key"], callsPerSecond: 2 }),
      ],
      ...INGEST_LIMITS,
      handoverMs: 0,
      drainLimitMs: 5_000,
      times: SERVER_TIMES,
      ...more,
    },
  );
  const running = keepRunning(clock);
  const base = `http://127.0.0.1:${stage.port}`;
  return {
    stage,
    cluster,
    clock,
    lines,
    metrics,
    producer,
    records: () => cluster.records(TOPIC),
    values: () => cluster.records(TOPIC).map(({ value }) => JSON.parse(`${value}`)),
    post: (path, body, init = {}) => {
      const isRaw = typeof body === "string" || Buffer.isBuffer(body);
      const sent = isRaw ? new Uint8Array(Buffer.from(body as string)) : JSON.stringify(body);
      const headers = { authorization: `Basic ${btoa(`${KEY}:`)}`, ...init.headers };
      return fetch(`${base}${path}`, { method: "POST", ...init, headers, body: sent });
    },
    raw: () => new RawConnection(stage.port),
    metric: async (start) => {
      const line = (await metrics.text()).split("\n").find((text) => text.startsWith(start));
      return line?.slice(start.length).trim();
    },
    [Symbol.asyncDispose]: async () => {
      await stage[Symbol.asyncDispose]();
      running[Symbol.dispose]();
    },
  };
}

/** Runs scheduled actions in order, with other work in between. */
function keepRunning(clock: ManualClock): Disposable {
  let isOver = false;
  const turn = async () => {
    while (!isOver) {
      const isIdle = !(await clock.advanceToNext());
      if (isIdle) await new Promise((resolve) => setTimeout(resolve, 1));
    }
  };
  void turn();
  return {
    [Symbol.dispose]: () => {
      isOver = true;
    },
  };
}

class RawConnection {
  readonly socket: Socket;
  /** When the server has closed the connection, resolves with everything that was read. */
  readonly closed: Promise<string>;
  #read = "";
  readonly #waiting = new Set<() => void>();

  constructor(port: number) {
    this.socket = connect({ host: "127.0.0.1", port });
    this.socket.on("error", () => undefined);
    this.socket.on("data", (chunk) => {
      this.#read += chunk.toString("latin1");
      for (const look of this.#waiting) look();
    });
    this.closed = new Promise((resolve) => {
      this.socket.once("close", () => resolve(this.#read));
    });
  }

  write(text: string | Buffer): void {
    this.socket.write(text);
  }

  /** Resolves with the text that was read when it matches, or when the connection has ended without a match. */
  until(pattern: RegExp): Promise<string> {
    return new Promise((resolve) => {
      const look = () => {
        if (!pattern.test(this.#read)) return;
        this.#waiting.delete(look);
        resolve(this.#read);
      };
      this.#waiting.add(look);
      this.socket.once("close", () => resolve(this.#read));
      look();
    });
  }
}
