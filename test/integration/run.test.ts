// The program as a child process on a real Kafka: start, readiness, stop, and failures to start.

import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, openSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import { expect, onTestFinished, test } from "vitest";

import { freePort } from "../../tools/kafka/free-port.ts";
import { spawnGuarded } from "../../tools/kafka/guarded-process.ts";
import { uniquePrefix } from "../support/build/prefix.ts";
import { createTopics, testKafka } from "../support/worlds/test-kafka.ts";

const ROOT = join(import.meta.dirname, "../..");
const brokers = (process.env.SWITCHYARD_KAFKA_BROKERS ?? "").split(",");

interface Running {
  readonly directory: string;
  readonly child: ChildProcess;
  readonly lines: Record<string, unknown>[];
  /** Resolves with the log line that has this `msg`. */
  logged(msg: string): Promise<Record<string, unknown>>;
  readonly ended: Promise<number | null>;
  readonly errors: string[];
}

function start(config: string, args: readonly string[] = [], output?: string): Running {
  const directory = mkdtempSync(join(tmpdir(), "switchyard-run-"));
  const file = join(directory, "switchyard.yaml");
  writeFileSync(file, config);
  // The environment overrides the file, and here it names the broker of the tests.
  const { SWITCHYARD_KAFKA_BROKERS: _, ...env } = process.env;
  const command = [process.execPath, join(ROOT, "src/main.ts"), "run", "-c", file, ...args];
  const child = spawnGuarded(directory, command, {
    output: [output === undefined ? "pipe" : openSync(output, "w"), "pipe"],
    env,
  });
  const lines: Record<string, unknown>[] = [];
  const errors: string[] = [];
  const waiting = new Map<string, (line: Record<string, unknown>) => void>();
  createInterface({ input: child.stdout ?? Readable.from([]) }).on("line", (text) => {
    const line = JSON.parse(text) as Record<string, unknown>;
    lines.push(line);
    waiting.get(String(line.msg))?.(line);
  });
  child.stderr?.setEncoding("utf8").on("data", (text: string) => errors.push(text));
  const ended = once(child, "close").then(([status]) => status as number | null);
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await ended;
    rmSync(directory, { recursive: true });
  });
  return {
    child,
    directory,
    lines,
    errors,
    ended,
    logged: (msg) => {
      const there = lines.find((line) => line.msg === msg);
      if (there !== undefined) return Promise.resolve(there);
      const { promise, resolve, reject } = Promise.withResolvers<Record<string, unknown>>();
      waiting.set(msg, resolve);
      ended
        .then((status) =>
          reject(new Error(`ended with ${status} before ${msg}: ${errors.join("")}`)),
        )
        .catch(() => undefined);
      return promise;
    },
  };
}

function configuration(options: {
  readonly brokers: readonly string[];
  readonly prefix: string;
  readonly port: number;
  readonly kafka?: string;
}): string {
  return `
kafka:
  brokers: [${options.brokers.join(", ")}]
  topicPrefix: ${options.prefix}
  partitions: 2
  ${options.kafka ?? ""}
sources: [{ id: web, writeKey: k, destinations: [hook] }]
destinations: [{ id: hook, type: webhook, endpoints: [{ url: "https://hook.example.com/" }] }]
ingest: { host: 127.0.0.1, port: 0, handover: 100ms }
admin: { host: 127.0.0.1, port: ${options.port} }
`;
}

test("it creates the topics, becomes ready, and ends with 0 when it is stopped", async () => {
  const port = await freePort();
  const prefix = uniquePrefix("run");
  const { child, logged, ended, directory } = start(configuration({ brokers, prefix, port }));
  await logged("ready");
  // Memberships are in the folder of the configuration file, and only their owner can read them.
  await logged("audience.store.opened");
  const modes = ["", ...readdirSync(join(directory, "state"), { recursive: true })].map((path) => {
    const found = statSync(join(directory, "state", `${path}`));
    return [found.isDirectory(), found.mode & 0o777] as const;
  });
  expect(modes.length).toBeGreaterThan(5);
  for (const [isDirectory, mode] of modes) expect(mode).toBe(isDirectory ? 0o700 : 0o600);
  expect((await fetch(`http://127.0.0.1:${port}/readyz`)).status).toBe(200);
  const metrics = async () => (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  // It is known after the first fetch, or after the first check of log end offsets.
  await expect
    .poll(metrics)
    .toContain('switchyard_consumer_lag_records{stage="deliver",destination="hook"} 0\n');
  expect(await metrics()).toMatch(/switchyard_event_loop_delay_seconds\{percentile="99"\} \d/);
  child.kill("SIGTERM");
  expect(await ended).toBe(0);
});

test("a log on a full device is dropped and counted, and calls are delivered until it is stopped", async () => {
  const [port, ingest] = [await freePort(), await freePort()];
  const received = Promise.withResolvers<void>();
  const receiver = createServer((_, response) => {
    response.end();
    received.resolve();
  }).listen(0, "127.0.0.1");
  onTestFinished(() => void receiver.close());
  await once(receiver, "listening");
  const hook = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
  const config = configuration({ brokers, prefix: uniquePrefix("run"), port })
    .replace("https://hook.example.com/", hook)
    .replace("port: 0", `port: ${ingest}`);
  const allowed = `${config}delivery: { allowNetworks: [127.0.0.1/32] }\n`;
  const { child, ended } = start(allowed, [], "/dev/full");
  const got = async (path: string) =>
    await fetch(`http://127.0.0.1:${port}${path}`).then(
      async (response) => [response.status, await response.text()] as const,
      () => [0, ""] as const,
    );
  await expect.poll(async () => (await got("/readyz"))[0], { timeout: 60_000 }).toBe(200);
  expect((await got("/readyz"))[1]).toContain(
    "the log cannot be written to standard output: ENOSPC",
  );
  expect((await got("/metrics"))[1]).toMatch(/switchyard_log_lines_dropped_total [1-9]/);
  const call = await fetch(`http://127.0.0.1:${ingest}/v1/track`, {
    method: "POST",
    headers: { authorization: `Basic ${btoa("k:")}`, "content-type": "application/json" },
    body: JSON.stringify({ userId: "u", event: "Order" }),
  });
  expect(call.status).toBe(200);
  await received.promise;
  expect((await got("/livez"))[0]).toBe(200);
  child.kill("SIGTERM");
  expect(await ended).toBe(0);
});

test("a stage of its own runs without the others", async () => {
  const port = await freePort();
  const config = configuration({ brokers, prefix: uniquePrefix("run"), port });
  const { child, logged, ended } = start(config, ["--stages", "route"]);
  expect((await logged("ready")).stages).toEqual(["route"]);
  const started = { msg: "starting", level: "info", stages: ["route"], node: process.version };
  expect(await logged("starting")).toMatchObject({
    ...started,
    version: expect.stringMatching(/^\d+\.\d+\.\d+/),
    file: expect.stringMatching(/switchyard\.yaml$/),
  });
  child.kill("SIGINT");
  expect(await ended).toBe(0);
});

test("when it is stopped, the other stages do not wait for ingest's handover", async () => {
  const port = await freePort();
  const config = configuration({ brokers, prefix: uniquePrefix("run"), port });
  const running = start(config.replace("handover: 100ms", "handover: 3s"));
  const { stages } = (await running.logged("ready")) as { readonly stages: readonly string[] };
  const request = await begunRequest((await running.logged("ingest.listening")).port as number);
  running.child.kill("SIGTERM");
  await running.logged("stopping");
  expect((await fetch(`http://127.0.0.1:${port}/readyz`)).status).toBe(503);
  const stopped = () =>
    running.lines.filter(({ msg }) => msg === "stage.stopped").map(({ stage }) => stage);
  await expect.poll(() => stopped().length).toBe(stages.length - 1);
  request.destroy();
  expect(await running.ended).toBe(0);
  expect(stopped().toSorted()).toEqual(stages.toSorted());
  expect(stopped().at(-1)).toBe("ingest");
  // No part of the log was lost.
  expect(running.lines.at(-1)).toMatchObject({ msg: "stopped" });
});

/**
 * Opens a request without its body. The ingest stage does not stop until the body arrives, not even if the hand-over
 * ends before the other stages have stopped on a slow machine.
 */
async function begunRequest(port: number): Promise<Socket> {
  const socket = connect({ host: "127.0.0.1", port });
  socket.on("error", () => undefined);
  socket.write(
    "POST /v1/batch HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n",
  );
  // The request is in progress when the client is told to continue.
  await once(socket, "data");
  return socket;
}

test("without brokers it tries for the configured time, then ends with 1 and the address", async () => {
  const port = await freePort();
  const nowhere = `127.0.0.1:${await freePort()}`;
  const config = configuration({
    brokers: [nowhere],
    prefix: "x.",
    port,
    kafka: "startTimeout: 2s",
  });
  const { ended, errors } = start(config);
  expect(await ended).toBe(1);
  expect(errors.join("")).toContain(nowhere);
});

test("while it waits for brokers it is alive and not ready, and can be stopped", async () => {
  const port = await freePort();
  const nowhere = `127.0.0.1:${await freePort()}`;
  const running = start(configuration({ brokers: [nowhere], prefix: "x.", port }));
  await running.logged("admin.listening");
  expect((await fetch(`http://127.0.0.1:${port}/livez`)).status).toBe(200);
  expect((await fetch(`http://127.0.0.1:${port}/readyz`)).status).toBe(503);
  running.child.kill("SIGTERM");
  expect(await running.ended).toBe(0);
});

test("without permission to create topics, it waits for them and names them", async () => {
  const port = await freePort();
  const prefix = uniquePrefix("run");
  const config = configuration({ brokers, prefix, port, kafka: "createTopics: false" });
  const { child, logged, ended } = start(config, ["--stages", "route"]);
  const { topics } = (await logged("topics.waiting")) as { readonly topics: readonly string[] };
  expect(topics).toContain(`${prefix}deliveries.hook`);
  const kafka = testKafka({ sessionTimeoutMs: 6_000 });
  onTestFinished(() => kafka.close());
  await createTopics(kafka, topics);
  await logged("ready");
  child.kill("SIGTERM");
  expect(await ended).toBe(0);
});

test("a port in use ends it with 1 and the setting's name", async () => {
  const port = await freePort();
  const first = start(configuration({ brokers, prefix: uniquePrefix("run"), port }));
  await first.logged("admin.listening");
  const second = start(configuration({ brokers, prefix: uniquePrefix("run"), port }));
  expect(await second.ended).toBe(1);
  expect(second.errors.join("")).toContain("admin.port");
});
