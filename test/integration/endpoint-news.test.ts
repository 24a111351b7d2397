// Three processes of one destination: what one of them finds out about the endpoint also applies to the others. Only
// one process makes the retries of a destination.

import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { stringify } from "yaml";
import { partitionOfKey } from "../../src/kafka/port.ts";
import { uniquePrefix } from "../support/build/prefix.ts";
import { programWorld } from "../support/servers/program.ts";
import { testKafka } from "../support/worlds/test-kafka.ts";

const BROKERS = (process.env.SWITCHYARD_KAFKA_BROKERS ?? "").split(",");
const POLL = { interval: 200, timeout: 60_000 };
/** For each process, this is enough failures for its circuit to open while others are accepted. */
const CALLS = 1_800;

/** Starts a receiver that responds after 20 ms with the status that `statusOf` returns. */
async function receiver(statusOf: (id: string, earlier: number) => number) {
  const attempts = new Map<string, number>();
  const accepted = new Set<string>();
  const server = createServer((request, response) => {
    const id = `${request.headers["x-switchyard-message-id"]}`;
    request.resume();
    request.on("end", () => {
      const earlier = attempts.get(id) ?? 0;
      attempts.set(id, earlier + 1);
      const status = statusOf(id, earlier);
      if (status === 200) accepted.add(id);
      setTimeout(() => response.writeHead(status).end(), 20);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { accepted, attempts, url: `http://127.0.0.1:${port}/hook` };
}

async function threeProcesses(url: string) {
  const prefix = uniquePrefix("news");
  const world = programWorld(
    stringify({
      kafka: { brokers: BROKERS, topicPrefix: prefix, partitions: 3, replicationFactor: 1 },
      sources: [{ id: "web", writeKey: "a-write-key-of-tests", destinations: ["crm"] }],
      defaultSource: "web",
      destinations: [
        { id: "crm", type: "webhook", concurrency: 4, messageIdHeader: true, endpoints: [{ url }] },
      ],
      delivery: { retryDelays: ["1s"], allowNetworks: ["127.0.0.0/8"] },
      admin: { host: "127.0.0.1", port: 0 },
      log: { attempts: "failures" },
    }),
  );
  onTestFinished(() => world[Symbol.asyncDispose]());
  const programs = [0, 1, 2].map(() => world.start());
  await Promise.all(programs.map((program) => program.logged("ready")));
  const kafka = testKafka({ sessionTimeoutMs: 6_000 });
  onTestFinished(() => kafka.close());
  const publish = async (count: number) => {
    const records = Array.from({ length: count }, (_, at) => ({
      topic: `${prefix}calls`,
      key: Buffer.from(`u${at}`),
      value: Buffer.from(
        JSON.stringify({ type: "track", userId: `u${at}`, event: "e", messageId: `m${at}` }),
      ),
      headers: [],
    }));
    expect(await kafka.producer().send(records)).toEqual([]);
  };
  return { programs, publish };
}

test("first attempts that fail hold no process while retries are accepted by another", async () => {
  const hook = await receiver((_id, earlier) => (earlier === 0 ? 503 : 200));
  const { programs, publish } = await threeProcesses(hook.url);
  await publish(CALLS);
  await expect.poll(() => hook.accepted.size, POLL).toBe(CALLS);
  // The circuit was closed in the process with the retries, and open in others.
  const opened = programs.filter(({ lines }) =>
    lines.some(({ msg, state }) => msg === "endpoint.circuit-changed" && state === "open"),
  );
  expect(opened.length).toBeGreaterThan(0);
});

test("after an outage the first acceptance in any process lets all of them deliver", async () => {
  let isUp = false;
  /** Partitions from which a call was accepted at the first attempt, and the calls that were accepted until then. */
  const partitions = new Set<number>();
  let acceptedBefore = 0;
  const hook = await receiver((id, earlier) => {
    if (!isUp) return 503;
    if (earlier === 0 && partitions.size < 3) {
      partitions.add(partitionOfKey(Buffer.from(id.replace("m", "u")), 3));
      acceptedBefore = hook.accepted.size;
    }
    return 200;
  });
  const { programs, publish } = await threeProcesses(hook.url);
  await publish(CALLS);
  // Each process has sent several probes, so its next probe is at least ten seconds away.
  const openings = () =>
    programs.map(({ lines }) => lines.filter((line) => line.state === "open").length);
  await expect.poll(() => Math.min(...openings()), POLL).toBeGreaterThanOrEqual(3);
  isUp = true;
  await expect.poll(() => hook.accepted.size, POLL).toBe(CALLS);
  // The queues of all processes continue before one of them has delivered its own queue.
  expect(partitions.size).toBe(3);
  expect(acceptedBefore).toBeLessThan(CALLS / 3);
});
