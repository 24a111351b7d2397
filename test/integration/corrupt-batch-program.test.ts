// The real program and a corrupt batch of calls: the stage halts while others continue, or the batch is skipped.

import { once } from "node:events";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, test } from "vitest";

import type { Kafka } from "../../src/kafka/port.ts";
import { freePort } from "../../tools/kafka/free-port.ts";
import { type PrivateKafka, startKafka } from "../../tools/kafka/start.ts";
import { type DamagingFront, damagingFront } from "../support/servers/damaging-front.ts";
import { programWorld } from "../support/servers/program.ts";
import { testKafka } from "../support/worlds/test-kafka.ts";

const TIMEOUT_MS = 300_000;
const POLL = { timeout: TIMEOUT_MS };

let front: DamagingFront;
let broker: PrivateKafka;
let kafka: Kafka;
let receiver: Server;
/** Message IDs in the order of arrival, for each attempt. */
let received: string[] = [];
/** IDs that are rejected once. */
let refusedOnce = new Set<string>();

beforeAll(async () => {
  front = await damagingFront("intact", "broken");
  broker = await startKafka({ private: true, fronts: [front.address] });
  front.behind = broker.behind[0] ?? "";
  kafka = testKafka({ brokers: [front.address], sessionTimeoutMs: 6_000 });
  const take = async (request: IncomingMessage) => {
    const body = JSON.parse(await text(request)) as { type: string; messageId?: string };
    const id = body.messageId ?? body.type;
    received.push(id);
    return refusedOnce.delete(id) ? 503 : 200;
  };
  receiver = createServer((request, response) => {
    take(request).then(
      (status) => response.writeHead(status).end(),
      () => response.destroy(),
    );
  });
  receiver.listen(0, "127.0.0.1");
  await once(receiver, "listening");
});

afterAll(async () => {
  await kafka?.close();
  await broker?.stop();
  front?.[Symbol.dispose]();
  receiver?.closeAllConnections();
  receiver?.close();
});

async function world(prefix: string, onCorruptBatch: string) {
  received = [];
  const admin = await freePort();
  const { port } = receiver.address() as AddressInfo;
  const program = programWorld(`
kafka:
  brokers: ["${front.address}"]
  topicPrefix: ${prefix}
  partitions: 1
  sessionTimeout: 6s
  onCorruptBatch: { calls: ${onCorruptBatch} }
sources: [{ id: web, writeKey: k, destinations: [hook] }]
destinations:
  - { id: hook, type: webhook, payload: full, endpoints: [{ url: "http://127.0.0.1:${port}/" }] }
delivery: { allowNetworks: [127.0.0.0/8], retryDelays: [1s] }
ingest: { host: 127.0.0.1, port: 0, handover: 100ms }
admin: { host: 127.0.0.1, port: ${admin} }
`);
  const running = program.start();
  await running.logged("ready");
  const producer = kafka.producer();
  const publish = async (messageId: string, event = "e") => {
    const call = { type: "track", event, userId: "u", messageId };
    const headers = [["source-id", Buffer.from("web")]] as const;
    const value = Buffer.from(JSON.stringify(call));
    await producer.send([{ topic: `${prefix}calls`, key: Buffer.from("u"), value, headers }]);
  };
  const metrics = async () => (await fetch(`http://127.0.0.1:${admin}/metrics`)).text();
  return { program, running, admin, producer, publish, metrics };
}

test(
  "stop: route halts and reports where, deletion, deliver and delay continue, and the command frees it",
  async () => {
    const { program, running, admin, producer, publish, metrics } = await world("stop.", "stop");
    await using _ = program;
    await publish("before");
    // Requests to the receiver use another path: the word is changed only in data from brokers.
    await publish("lost", "intact");
    await publish("after");
    expect(await running.logged("stage.halted")).toMatchObject({ level: "error", stage: "route" });
    await expect.poll(() => received, POLL).toContain("before");

    const readiness = await fetch(`http://127.0.0.1:${admin}/readyz`);
    expect(readiness.status).toBe(200);
    const where = "topic stop.calls, partition 0, offset 1";
    const command = "switchyard skip-corrupt-batch stop.calls 0 1";
    const body = await readiness.text();
    expect(body).toContain(where);
    expect(body).toContain(command);
    expect(await metrics()).toContain(
      'switchyard_consumer_halted_offset{stage="route",destination="",topic="stop.calls",partition="0"} 1',
    );
    const status = await program.command(["status", "--admin", `127.0.0.1:${admin}`]);
    expect(status.status).toBe(0);
    expect(status.out).toContain(
      "route is halted at a corrupt batch in stop.calls, partition 0, offset 1",
    );
    expect(status.out).toContain(command);

    // The call passes the deletion and deliver stages, the delay stage once, and the deliver stage again.
    refusedOnce = new Set(["delete"]);
    const request = Buffer.from(JSON.stringify({ userId: "u" }));
    const at = { topic: "stop.deletion-requests", key: Buffer.from("u"), headers: [] };
    await producer.send([{ ...at, value: request }]);
    await expect.poll(() => received.filter((id) => id === "delete").length, POLL).toBe(2);
    expect(received).not.toContain("after");

    const skip = ["skip-corrupt-batch", "stop.calls", "0", "1"];
    const dry = await program.command([...skip, "--dry-run"]);
    expect([dry.status, dry.out]).toEqual([0, expect.stringContaining("offsets 1 to 1")]);
    expect((await program.command(skip)).status).toBe(0);
    await expect.poll(() => received, POLL).toContain("after");
    expect(received).not.toContain("lost");
    await expect
      .poll(metrics, POLL)
      .toContain('switchyard_consumer_halted{stage="route",destination=""} 0');
    running.child.kill("SIGTERM");
    expect(await running.ended).toBe(0);
  },
  TIMEOUT_MS,
);

test(
  "skip: exactly the batch is skipped, reported and counted, and the rest arrives",
  async () => {
    const { program, running, publish, metrics } = await world("skip.", "skip");
    await using _ = program;
    await publish("before");
    await publish("lost", "intact");
    await publish("after");
    await expect.poll(() => received, POLL).toEqual(["before", "after"]);
    expect(await running.logged("stage.corrupt-batch-skipped")).toMatchObject({
      ...{ level: "error", stage: "route", topic: "skip.calls", partition: 0 },
      ...{ firstOffset: 1, lastOffset: 1, corruption: expect.stringContaining("checksum") },
    });
    const counted = 'switchyard_corrupt_batches_skipped_total{stage="route",topic="skip.calls"} 1';
    expect(await metrics()).toContain(counted);
    await publish("last");
    await expect.poll(() => received, POLL).toContain("last");
    expect(running.lines.map(({ msg }) => msg)).not.toContain("stage.halted");
    const again = ["--since", "1h", "--config", program.file];
    const replayed = await program.command(["replay", "hook", ...again]);
    expect([replayed.status, replayed.err]).toEqual([
      0,
      expect.stringContaining("partition 0 of skip.calls, offsets 1 to 1: the batch is corrupt"),
    ]);
    await expect.poll(() => received.filter((id) => id === "last").length, POLL).toBe(2);
    expect(received.filter((id) => id === "before").length).toBe(2);
    running.child.kill("SIGTERM");
    expect(await running.ended).toBe(0);
    expect(await kafka.admin.committed("skip.route", "skip.calls")).toMatchObject([{ offset: 4 }]);
  },
  TIMEOUT_MS,
);
