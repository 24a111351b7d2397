// Destinations that are paused, resumed and steered otherwise while two processes deliver under load
// on a real Kafka, compared with what was published.

import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setImmediate as otherWork } from "node:timers/promises";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";

import { createKafka } from "../../src/kafka/kafka.ts";
import type { Kafka, Producer } from "../../src/kafka/port.ts";
import { createLog } from "../../src/telemetry/log.ts";
import { freePort } from "../../tools/kafka/free-port.ts";
import { uniquePrefix } from "../support/build/prefix.ts";
import { type ProgramWorld, programWorld } from "../support/servers/program.ts";

const brokers = (process.env.SWITCHYARD_KAFKA_BROKERS ?? "").split(",");
/** Far above what it takes: a loaded machine, and the brokers' initial rebalance delay. */
const SOON = { timeout: 30_000, interval: 50 };
const TIMEOUT_MS = 90_000;
/** Of a pause, until all processes go by it; what is on its way then may still arrive. */
const PAUSED_WITHIN_MS = 2_000;

interface Taken {
  readonly id: string;
  readonly user: string;
  readonly atMs: number;
}

let prefix = "";
let kafka: Kafka;
let producer: Producer;
let receiver: Awaited<ReturnType<typeof startReceiver>>;

/** Keeps what each path is sent; a path can refuse for a while. */
async function startReceiver() {
  const taken = new Map<string, Taken[]>();
  const refusing = new Set<string>();
  const server = createServer((request, response) => {
    const path = (request.url ?? "").slice(1);
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const { userId } = JSON.parse(Buffer.concat(chunks).toString()) as { userId: string };
      const id = `${request.headers["x-switchyard-message-id"]}`;
      const status = refusing.has(path) ? 503 : 200;
      const own = taken.get(`${path}/${status}`) ?? [];
      taken.set(`${path}/${status}`, own);
      own.push({ id, user: userId, atMs: Date.now() });
      response.writeHead(status, { "content-length": 0 }).end();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    refusing,
    at: (path: string): readonly Taken[] => taken.get(`${path}/200`) ?? [],
    refused: (path: string): readonly Taken[] => taken.get(`${path}/503`) ?? [],
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

beforeEach(async () => {
  prefix = uniquePrefix("steering");
  kafka = createKafka(
    {
      ...{ brokers, clientId: "steering-test", tls: null, sasl: null, sessionTimeoutMs: 6_000 },
      recordMaxBytes: () => 1_048_576,
    },
    createLog("error", { write: () => undefined }),
  );
  producer = kafka.producer();
  receiver = await startReceiver();
});

afterEach(async () => {
  await producer.close(1_000);
  const names = (await kafka.admin.topics()).filter((name) => name.startsWith(prefix));
  await kafka.admin.deleteTopics(names);
  await kafka.close();
  await receiver[Symbol.asyncDispose]();
});

/** @param delays of the tiers. */
function worldOf(admin: number, delays: string): ProgramWorld {
  const hook = (id: string) =>
    `  - { id: ${id}, type: webhook, messageIdHeader: true, endpoints: [{ url: "http://127.0.0.1:${receiver.port}/${id}" }] }`;
  const world = programWorld(`
kafka: { brokers: [${brokers.join(", ")}], topicPrefix: ${prefix}, partitions: 2 }
defaultSource: web
sources: [{ id: web, destinations: [crm, other] }]
destinations:
${["crm", "other"].map(hook).join("\n")}
delivery: { allowNetworks: [127.0.0.0/8], delays: [${delays}] }
admin: { host: 127.0.0.1, port: ${admin} }
`);
  onTestFinished(() => world[Symbol.asyncDispose]());
  return world;
}

const STAGES = ["--stages", "route,deliver,delay"];

async function twoProcesses(delays: string) {
  const ports = [await freePort(), await freePort()] as const;
  const worlds = ports.map((port) => worldOf(port, delays));
  const [first, second] = worlds;
  if (first === undefined || second === undefined) throw new Error("there are two");
  const programs = [first.start(STAGES)];
  // The first one makes the topics.
  await programs[0]?.logged("ready");
  programs.push(second.start(STAGES));
  await programs[1]?.logged("ready");
  return { world: first, second, ports, programs };
}

/** Publishes until it is stopped: the ledger of message ids by user, in order. */
function load() {
  const ledger: { readonly id: string; readonly user: string }[] = [];
  let isOver = false;
  const publish = async (count: number) => {
    const records = Array.from({ length: count }, () => {
      const [id, user] = [`m${ledger.length}`, `u${ledger.length % 7}`];
      ledger.push({ id, user });
      const call = { type: "track", userId: user, event: "e", messageId: id };
      const value = Buffer.from(JSON.stringify(call));
      return { topic: `${prefix}calls`, key: Buffer.from(user), value, headers: [] };
    });
    await producer.send(records);
  };
  const live = async () => {
    while (!isOver) {
      await publish(10);
      await otherWork();
    }
  };
  return {
    ledger,
    publish,
    start: () => {
      const running = live();
      return async () => {
        isOver = true;
        await running;
      };
    },
  };
}

const inOrder = (all: readonly { readonly id: string; readonly user: string }[]) =>
  Object.fromEntries(
    [...Map.groupBy(all, ({ user }) => user)]
      .map(([user, of]) => [user, of.map(({ id }) => id)] as const)
      .sort(([one], [other]) => (one < other ? -1 : 1)),
  );

test(
  "pause stops a destination in both processes while others go on; resume sends all in order, once",
  async () => {
    const { world, ports } = await twoProcesses("1s, 2s");
    const { ledger, start } = load();
    const stop = start();
    await expect.poll(() => receiver.at("crm").length, SOON).toBeGreaterThan(50);
    const paused = await world.command(["pause", "crm", "--for", "1h"]);
    expect(paused.err).toBe("");
    expect(paused.out).toMatch(/^Paused: crm until 20.* UTC\. `switchyard resume crm` ends it\.\n/);
    expect(paused.out).toMatch(/^In its line: \d+\. They wait without a window\.$/m);
    expect(paused.status).toBe(0);
    const pausedAtMs = Date.now();
    await expect
      .poll(async () => {
        const held = await Promise.all(ports.map(heldBy));
        return held.every((each) => each === "command");
      }, SOON)
      .toBe(true);
    const before = receiver.at("other").length;
    await expect
      .poll(
        () => receiver.at("other").length > before + 200 && Date.now() > pausedAtMs + 4_000,
        SOON,
      )
      .toBe(true);
    const late = receiver.at("crm").filter(({ atMs }) => atMs > pausedAtMs + PAUSED_WITHIN_MS);
    expect(late).toEqual([]);
    await stop();
    const status = await world.command([
      "status",
      "--admin",
      ports.map((p) => `127.0.0.1:${p}`).join(),
    ]);
    expect(status.out).toMatch(/^crm .*held since .*: paused by command until/m);
    expect(receiver.at("crm").length).toBeLessThan(ledger.length);
    const resumed = await world.command(["resume", "crm"]);
    expect([resumed.status, resumed.out, resumed.err]).toEqual([0, "Resumed: crm.\n", ""]);
    for (const path of ["crm", "other"]) {
      await expect.poll(() => receiver.at(path).length, SOON).toBe(ledger.length);
      expect(inOrder(receiver.at(path))).toEqual(inOrder(ledger));
    }
  },
  TIMEOUT_MS,
);

/** Who paused `crm`, as the process says. */
async function heldBy(port: number): Promise<string | undefined> {
  const answer = await fetch(`http://127.0.0.1:${port}/status`);
  const { destinations } = (await answer.json()) as {
    readonly destinations: readonly {
      readonly id: string;
      readonly held: { by?: string } | null;
    }[];
  };
  return destinations.find(({ id }) => id === "crm")?.held?.by;
}

test(
  "a pause with an end is over although no process ran then, and one without stays over a restart",
  async () => {
    const world = worldOf(await freePort(), "1s");
    const first = world.start(STAGES);
    await first.logged("ready");
    const { publish, ledger } = load();
    await world.command(["pause", "crm"]);
    await world.command(["pause", "other", "--for", "3s"]);
    await first.logged("destination.paused", 2);
    const untilMs = Date.now() + 3_000;
    await first.kill();
    await publish(20);
    await expect.poll(() => Date.now(), SOON).toBeGreaterThan(untilMs);
    const second = world.start(STAGES);
    await expect.poll(() => receiver.at("other").length, SOON).toBe(ledger.length);
    expect(receiver.at("crm")).toEqual([]);
    expect(second.lines.filter(({ msg }) => msg === "destination.paused")).toEqual([
      expect.objectContaining({ destination: "crm", by: "command" }),
    ]);
    await world.command(["resume", "crm"]);
    await expect.poll(() => receiver.at("crm").length, SOON).toBe(ledger.length);
    expect(inOrder(receiver.at("crm"))).toEqual(inOrder(ledger));
  },
  TIMEOUT_MS,
);
