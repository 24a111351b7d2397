// Destinations that are added one by one, and removed one by one, while calls flow: each call
// reaches each of its destinations once, and what the program holds is as before. In this short form
// 30 destinations; `npm run soak:reloads` has a thousand.

import { renameSync, writeFileSync } from "node:fs";
import { setTimeout as timer } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";

import { createKafka } from "../../src/kafka/kafka.ts";
import { createLog } from "../../src/telemetry/log.ts";
import { freePort } from "../../tools/kafka/free-port.ts";
import { uniquePrefix } from "../support/build/prefix.ts";
import { programWorld } from "../support/servers/program.ts";
import { webhookServer } from "../support/servers/webhook-server.ts";

const COUNT = Number(process.env.SWITCHYARD_RELOADS ?? 30);
const TIMEOUT_MS = 120_000 + COUNT * 8_000;
const SOON = { timeout: 60_000 + COUNT * 500, interval: 200 };
/** Destinations that a call names beside the one that gets all. */
const NAMED_MAX = 5;
const PUBLISH_EVERY_MS = 20;
/** Code that is compiled meanwhile, and garbage of the moment. */
const HEAP_MORE_MAX_BYTES = 20e6;
const brokers = (process.env.SWITCHYARD_KAFKA_BROKERS ?? "").split(",");

interface World {
  readonly published: () => number;
  /** Calls name these from now on; resolves when all calls before have been routed. */
  name(ids: readonly string[]): Promise<void>;
  /** Gives the program these destinations; resolves when they are taken over. */
  configure(ids: readonly string[]): Promise<void>;
  /** Message ids that each destination should have been sent. */
  readonly expected: ReadonlyMap<string, ReadonlySet<string>>;
  sent(id: string): readonly string[];
  figures(): Promise<Figures>;
  /** The end of the program's log, from level warn on. */
  log(): string;
  /** Resolves when no calls come any more. */
  quiet(): Promise<void>;
}

interface Figures {
  readonly descriptors: number;
  readonly heapBytes: number;
  /** Lines of metrics. */
  readonly series: number;
  readonly rebalances: number;
}

const BASE = "base";
const all = Array.from({ length: COUNT }, (_, at) => `d${at}`);

function yaml(prefix: string, port: number, hooks: number, ids: readonly string[]): string {
  const destinations = [BASE, ...ids].map((id) => {
    const url = `http://127.0.0.1:${hooks}/${id}`;
    return `  - { id: ${id}, type: webhook, name: ${id}, messageIdHeader: true, endpoints: [{ url: "${url}" }] }`;
  });
  return `
kafka: { brokers: [${brokers.join(", ")}], topicPrefix: ${prefix}, partitions: 1 }
defaultSource: web
sources: [{ id: web, destinations: [${[BASE, ...ids].join(", ")}] }]
destinations:
${destinations.join("\n")}
delivery: { allowNetworks: [127.0.0.0/8], delays: [1s, 2s] }
admin: { host: 127.0.0.1, port: ${port}, reload: true }
log: { level: warn }
`;
}

function figuresOf(text: string): Figures {
  const lines = text.split("\n");
  const figure = (start: string) =>
    Number(lines.find((line) => line.startsWith(`${start} `))?.slice(start.length + 1));
  const rebalances = `switchyard_consumer_rebalances_total{stage="deliver",destination="${BASE}"}`;
  return {
    descriptors: figure("process_open_fds"),
    heapBytes: figure("nodejs_heap_size_used_bytes"),
    series: lines.length,
    rebalances: figure(rebalances),
  };
}

async function start(): Promise<World> {
  const prefix = uniquePrefix("reloads");
  const port = await freePort();
  const hooks = await webhookServer();
  const program = programWorld(yaml(prefix, port, hooks.port, []));
  const connection = { brokers, clientId: "reload-soak", tls: null, sasl: null };
  const kafka = createKafka(
    { ...connection, sessionTimeoutMs: 6_000, recordMaxBytes: () => 1_048_576 },
    createLog("error", { write: () => undefined }),
  );
  const producer = kafka.producer();
  const expected = new Map<string, Set<string>>([BASE, ...all].map((id) => [id, new Set()]));
  let [named, published, isPublishing]: [readonly string[], number, boolean] = [[], 0, true];
  const publish = async () => {
    while (isPublishing) {
      const messageId = `m${published}`;
      const chosen = named.filter(
        (_, at) => (at + published) % Math.ceil(named.length / NAMED_MAX) === 0,
      );
      const flags = Object.fromEntries([BASE, ...chosen].map((id) => [id, true]));
      for (const id of [BASE, ...chosen]) expected.get(id)?.add(messageId);
      published += 1;
      const call = { type: "track", userId: `u${published % 50}`, event: "e", messageId };
      const value = Buffer.from(
        JSON.stringify({ ...call, integrations: { All: false, ...flags } }),
      );
      await producer.send([{ topic: `${prefix}calls`, key: null, value, headers: [] }]);
      await timer(PUBLISH_EVERY_MS);
    }
  };
  const idsAt = (id: string) =>
    hooks.at(`/${id}`).map(({ headers }) => `${headers["x-switchyard-message-id"]}`);
  const isRouted = (count: number) => hooks.at(`/${BASE}`).length >= count;
  const { ended, lines } = program.start();
  await expect
    .poll(async () => (await fetch(`http://127.0.0.1:${port}/readyz`)).status, SOON)
    .toBe(200);
  const publishing = publish();
  onTestFinished(async () => {
    isPublishing = false;
    await publishing;
    await program[Symbol.asyncDispose]();
    await ended;
    await producer.close(1_000);
    const names = (await kafka.admin.topics()).filter((name) => name.startsWith(prefix));
    await kafka.admin.deleteTopics(names);
    await kafka.close();
    await hooks[Symbol.asyncDispose]();
  });
  return {
    published: () => published,
    expected,
    sent: idsAt,
    name: async (ids) => {
      named = ids;
      const before = published;
      // All of them went to the first one, too.
      while (!isRouted(before)) await timer(5);
    },
    configure: async (ids) => {
      writeFileSync(`${program.file}.tmp`, yaml(prefix, port, hooks.port, ids));
      renameSync(`${program.file}.tmp`, program.file);
      const response = await fetch(`http://127.0.0.1:${port}/-/reload`, { method: "POST" });
      const text = await response.text();
      if (response.status !== 200) throw new Error(text);
    },
    figures: async () => {
      return figuresOf(await (await fetch(`http://127.0.0.1:${port}/metrics`)).text());
    },
    log: () => JSON.stringify(lines.slice(-40), undefined, 1),
    quiet: async () => {
      isPublishing = false;
      await publishing;
    },
  };
}

test(
  `${COUNT} destinations are added one by one and removed one by one while calls flow`,
  async () => {
    const world = await start();
    await world.name([]);
    await world.configure(["d0"]);
    await world.name(["d0"]);
    await expect.poll(() => world.sent("d0").length, SOON).toBeGreaterThan(0);
    const before = await world.figures();
    const beganAtMs = Date.now();
    for (let count = 2; count <= COUNT; count += 1) {
      await world.configure(all.slice(0, count));
      await world.name(all.slice(0, count));
    }
    const most = await world.figures();
    for (let gone = 1; gone <= COUNT; gone += 1) {
      await world.name(all.slice(gone));
      await world.configure(all.slice(gone));
    }
    const tookMs = Date.now() - beganAtMs;
    await world.quiet();
    // Their consumers leave.
    await expect
      .poll(async () => (await world.figures()).descriptors, SOON)
      .toBeLessThanOrEqual(before.descriptors + 5);
    // Garbage goes with the next full collection, which each look at the metrics brings nearer.
    await expect
      .poll(async () => (await world.figures()).heapBytes, { ...SOON, interval: 20 })
      .toBeLessThan(before.heapBytes + HEAP_MORE_MAX_BYTES);
    const after = await world.figures();
    // What was left on their topics comes when they are back.
    await world.configure(all);
    const missing = () =>
      [...world.expected].flatMap(([id, ids]) => {
        const sent = new Set(world.sent(id));
        return [...ids].filter((each) => !sent.has(each)).map((each) => `${id}: ${each}`);
      });
    await expect.poll(missing, SOON).toEqual([]);
    const twice = [...world.expected.keys()].flatMap((id) => {
      const sent = world.sent(id);
      return sent.length === new Set(sent).size ? [] : [id];
    });
    expect(twice, world.log()).toEqual([]);
    const [first, last] = [before, after].map(({ heapBytes }) => Math.round(heapBytes / 1e6));
    process.stdout.write(
      `${2 * COUNT} reloads in ${Math.round(tookMs / 1_000)} s, ${world.published()} calls, ` +
        `heap ${first} MB before, ${Math.round(most.heapBytes / 1e6)} with all, ${last} after; ` +
        `descriptors ${before.descriptors}, ${most.descriptors}, ${after.descriptors}; ` +
        `lines of metrics ${before.series}, ${most.series}, ${after.series}\n`,
    );
    expect(after.rebalances).toBe(before.rebalances);
    // One destination fewer.
    expect(after.series).toBeLessThanOrEqual(before.series);
    expect(most.descriptors).toBeGreaterThan(before.descriptors);
  },
  TIMEOUT_MS,
);
