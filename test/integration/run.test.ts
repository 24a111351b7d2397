// The program as a child process on a real Kafka: start, readiness, stop, and failures to start.

import { once } from "node:events";
import { openSync, readdirSync, statSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";
import { freePort } from "../../tools/kafka/free-port.ts";
import { useKafka } from "../support/kit/kafka.ts";
import { type Sections, useProgram, WRITE_KEY } from "../support/kit/program.ts";
import { useReceiver } from "../support/kit/receiver.ts";
import { createTopics } from "../support/worlds/test-kafka.ts";

const NOWHERE = `127.0.0.1:${await freePort()}`;

/** The configuration of a program with one destination, on the tests' Kafka unless there are other settings. */
function world({ kafka, ...more }: Partial<Omit<Sections, "kafka">> & { kafka?: object } = {}) {
  const own = useKafka("run");
  const { brokers, prefix } = own;
  const config: Sections = {
    kafka: { brokers, topicPrefix: prefix, partitions: 2, ...kafka },
    destinations: { hook: "https://hook.example.com/" },
    ...more,
  };
  return { ...own, config, ...useProgram(config) };
}

test("it creates the topics, becomes ready, and ends with 0 when it is stopped", async () => {
  const { directory, ready } = world();
  const program = await ready();
  // Memberships are in the folder of the configuration file, and only their owner can read them.
  await program.logged("audience.store.opened");
  const modes = ["", ...readdirSync(join(directory, "state"), { recursive: true })].map((path) => {
    const found = statSync(join(directory, "state", `${path}`));
    return [found.isDirectory(), found.mode & 0o777] as const;
  });
  expect(modes.length).toBeGreaterThan(5);
  for (const [isDirectory, mode] of modes) expect(mode).toBe(isDirectory ? 0o700 : 0o600);
  expect((await fetch(`http://${await program.admin()}/readyz`)).status).toBe(200);
  const metrics = () => program.get("/metrics");
  // It is known after the first fetch, or after the first check of log end offsets.
  await expect
    .poll(metrics)
    .toContain('switchyard_consumer_lag_records{stage="deliver",destination="hook"} 0\n');
  expect(await metrics()).toMatch(/switchyard_event_loop_delay_seconds\{percentile="99"\} \d/);
  expect(await program.stop()).toBe(0);
});

test("a log on a full device is dropped and counted, and calls are delivered until it is stopped", async () => {
  const [port, ingest] = [await freePort(), await freePort()];
  const receiver = await useReceiver();
  const { spawn } = world({
    destinations: { hook: receiver.url },
    ingest: { port: ingest },
    admin: { port },
  });
  const child = spawn(["run"], openSync("/dev/full", "w"));
  const ended = once(child, "close");
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
    headers: {
      authorization: `Basic ${btoa(`${WRITE_KEY}:`)}`,
      "content-type": "application/json",
    },
    body: JSON.stringify({ userId: "u", event: "Order" }),
  });
  expect(call.status).toBe(200);
  await expect.poll(() => receiver.taken.length).toBe(1);
  expect((await got("/livez"))[0]).toBe(200);
  child.kill("SIGTERM");
  expect((await ended)[0]).toBe(0);
});

test("a stage of its own runs without the others", async () => {
  const { child, logged, ended } = world().begin("route");
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
  const running = world({ ingest: { handover: "3s" } }).begin();
  const { stages } = (await running.logged("ready")) as { readonly stages: readonly string[] };
  const request = await begunRequest((await running.logged("ingest.listening")).port as number);
  running.child.kill("SIGTERM");
  await running.logged("stopping");
  expect((await fetch(`http://${await running.admin()}/readyz`)).status).toBe(503);
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
  const { ended, errors } = world({
    kafka: { brokers: [NOWHERE], topicPrefix: "x.", startTimeout: "2s" },
  }).begin();
  expect(await ended).toBe(1);
  expect(errors.join("")).toContain(NOWHERE);
});

test("while it waits for brokers it is alive and not ready, and can be stopped", async () => {
  const running = world({ kafka: { brokers: [NOWHERE], topicPrefix: "x." } }).begin();
  const admin = await running.admin();
  expect((await fetch(`http://${admin}/livez`)).status).toBe(200);
  expect((await fetch(`http://${admin}/readyz`)).status).toBe(503);
  expect(await running.stop()).toBe(0);
});

test("without permission to create topics, it waits for them and names them", async () => {
  const { prefix, kafka, begin } = world({ kafka: { createTopics: false } });
  const { logged, stop } = begin("route");
  const { topics } = (await logged("topics.waiting")) as { readonly topics: readonly string[] };
  expect(topics).toContain(`${prefix}deliveries.hook`);
  await createTopics(kafka, topics);
  await logged("ready");
  expect(await stop()).toBe(0);
});

test("a port in use ends it with 1 and the setting's name", async () => {
  const port = await freePort();
  await world({ admin: { port } }).begin().admin();
  const second = world({ admin: { port } }).begin();
  expect(await second.ended).toBe(1);
  expect(second.errors.join("")).toContain("admin.port");
});
