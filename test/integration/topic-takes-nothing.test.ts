// The real program and a destination's topic that is gone: made again, gone around, through a kill -9.

import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from "vitest";

import { createKafka } from "../../src/kafka/kafka.ts";
import { freePort } from "../../tools/kafka/free-port.ts";
import { uniquePrefix } from "../support/build/prefix.ts";
import { LogLines } from "../support/log/log-lines.ts";
import { programWorld } from "../support/servers/program.ts";

const TIMEOUT_MS = 110_000;
const POLL = { timeout: TIMEOUT_MS, interval: 100 };
const CALLS = 200;

const brokers = (process.env.SWITCHYARD_KAFKA_BROKERS ?? "").split(",");
const limits = { sessionTimeoutMs: 10_000, recordMaxBytes: () => 1_000_000 };
const connection = { brokers, clientId: "takes-nothing", tls: null, sasl: null };
const kafka = createKafka({ ...connection, ...limits }, new LogLines().log);
const producer = kafka.producer();
const hooks = new Map<string, string[]>();
let status = 200;

/** The first part of the path is the destination. */
async function take(request: IncomingMessage): Promise<number> {
  const body = JSON.parse(await text(request)) as { type: string; messageId?: string };
  const destination = request.url?.slice(1) ?? "";
  hooks.set(destination, [...received(destination), body.messageId ?? body.type]);
  return status;
}
const receiver = createServer((request, response) => {
  take(request).then(
    (code) => response.writeHead(code).end(),
    () => response.destroy(),
  );
});

beforeAll(async () => {
  receiver.listen(0, "127.0.0.1");
  await once(receiver, "listening");
});

beforeEach(() => {
  hooks.clear();
  status = 200;
});

afterAll(async () => {
  await kafka.close();
  receiver.closeAllConnections();
  receiver.close();
});

function received(destination: string): readonly string[] {
  return hooks.get(destination) ?? [];
}

/**
 * The program with two destinations, `hook` and `other`.
 *
 * @param makes whether it can make a topic again: of one broker nobody makes three copies.
 */
async function world({ makes }: { readonly makes: boolean }) {
  const prefix = uniquePrefix("nothing");
  const admin = await freePort();
  const { port } = receiver.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  const config = (copies: number) => `
kafka:
  { brokers: [${brokers.join(", ")}], topicPrefix: ${prefix}, partitions: 1, replicationFactor: ${copies} }
sources: [{ id: web, writeKey: k, destinations: [hook, other] }]
defaultSource: web
destinations:
  - { id: hook, type: webhook, payload: full, endpoints: [{ url: "${url}/hook" }] }
  - { id: other, type: webhook, name: Other, payload: full, endpoints: [{ url: "${url}/other" }] }
delivery: { allowNetworks: [127.0.0.0/8], delays: [1s] }
ingest: { host: 127.0.0.1, port: 0, handover: 100ms }
admin: { host: 127.0.0.1, port: ${admin} }
`;
  await using setUp = programWorld(config(1));
  expect((await setUp.command(["topics", "--apply"])).status).toBe(0);
  const program = programWorld(config(makes ? 1 : 3));
  onTestFinished(async () => {
    await program[Symbol.asyncDispose]();
    const names = (await kafka.admin.topics()).filter((name) => name.startsWith(prefix));
    await kafka.admin.deleteTopics(names);
  });
  const running = program.start();
  await running.logged("ready");
  const topic = `${prefix}deliveries.hook`;
  const publish = (count: number, from = 0) =>
    producer.send(
      Array.from({ length: count }, (_, index) => {
        const id = `m${from + index}`;
        const call = { type: "track", event: "e", userId: id, messageId: id };
        const record = { topic: `${prefix}calls`, key: Buffer.from(id), headers: [] };
        return { ...record, value: Buffer.from(JSON.stringify(call)) };
      }),
    );
  const askToDelete = (userId: string) => {
    const value = Buffer.from(JSON.stringify({ userId }));
    const record = { topic: `${prefix}deletion-requests`, key: Buffer.from(userId) };
    return producer.send([{ ...record, value, headers: [] }]);
  };
  const remove = () => kafka.admin.deleteTopics([topic]);
  const makeAgain = () =>
    kafka.admin.create([{ name: topic, partitions: 1, replicationFactor: 1, config: {} }]);
  const wentAround = async (stage: string) => {
    const metrics = await (await fetch(`http://127.0.0.1:${admin}/metrics`)).text();
    const sample = `switchyard_deliveries_around_total{stage="${stage}",destination="hook"} `;
    const line = metrics.split("\n").find((each) => each.startsWith(sample));
    return Number(line?.slice(sample.length) ?? 0);
  };
  return { program, running, prefix, topic, publish, askToDelete, remove, makeAgain, wentAround };
}

function ids(count: number, from = 0): Set<string> {
  return new Set(Array.from({ length: count }, (_, index) => `m${from + index}`));
}

test(
  "deliver goes on with a topic that was deleted and is made again",
  async () => {
    const { topic, publish, askToDelete } = await world({ makes: true });
    await publish(5);
    await expect.poll(() => new Set(received("hook")), POLL).toEqual(ids(5));
    await kafka.admin.deleteTopics([topic]);
    await publish(5, 5);
    await expect.poll(() => new Set(received("other")), POLL).toEqual(ids(10));
    await expect.poll(() => new Set(received("hook")), POLL).toEqual(ids(10));
    // The consumer reads the topic that is there now, from its beginning.
    await askToDelete("m1");
    await expect.poll(() => received("hook"), POLL).toContain("delete");
    expect(await kafka.admin.topics()).toContain(topic);
  },
  TIMEOUT_MS,
);

test(
  "deletion goes around a topic that takes nothing: the others are told at once, its own later",
  async () => {
    const { askToDelete, remove, makeAgain, wentAround, prefix } = await world({ makes: false });
    await remove();
    await askToDelete("u");
    await expect.poll(() => wentAround("deletion"), POLL).toBeGreaterThan(0);
    await expect.poll(() => received("other"), POLL).toEqual(["delete"]);
    // It is not held up: the request is finished.
    const committed = () =>
      kafka.admin.committed(`${prefix}deletion`, `${prefix}deletion-requests`);
    await expect.poll(committed, POLL).toMatchObject([{ offset: 1 }]);
    await makeAgain();
    await expect.poll(() => received("hook"), POLL).toContain("delete");
  },
  TIMEOUT_MS,
);

test(
  "kill -9 while deliveries go around a topic loses none of them",
  async () => {
    const { program, running, publish, remove, makeAgain, wentAround } = await world({
      makes: false,
    });
    await remove();
    await publish(CALLS);
    await expect.poll(() => wentAround("route"), POLL).toBeGreaterThan(0);
    await running.kill();
    expect(running.child.signalCode).toBe("SIGKILL");
    await makeAgain();
    await program.start().logged("ready");
    await expect.poll(() => new Set(received("hook")).size, POLL).toBe(CALLS);
    await expect.poll(() => new Set(received("other")).size, POLL).toBe(CALLS);
  },
  TIMEOUT_MS,
);

test(
  "a replay says which letters a topic does not take, and leaves them for another one",
  async () => {
    const { program, publish, remove, makeAgain } = await world({ makes: false });
    status = 410;
    await publish(10);
    const replay = ["dead-letters", "replay", "--destination", "hook"];
    const dry = async () => (await program.command([...replay, "--dry-run"])).out;
    await expect.poll(dry, POLL).toContain("10 dead letters");
    status = 200;
    hooks.clear();
    const replaying = program.spawn([...replay, "--per-second", "1"]);
    const ended = once(replaying, "close");
    const errors = replaying.stderr === null ? "" : text(replaying.stderr);
    replaying.stdout?.resume();
    await expect.poll(() => received("hook").length, POLL).toBeGreaterThan(0);
    await remove();
    expect(await ended).toEqual([1, null]);
    expect(await errors).toMatch(/\d not replayed: the topic .*deliveries\.hook takes nothing/);
    expect(received("hook").length).toBeLessThan(10);
    await makeAgain();
    expect((await program.command(replay)).status).toBe(0);
    await expect.poll(() => new Set(received("hook")), POLL).toEqual(ids(10));
  },
  TIMEOUT_MS,
);
