// Destinations are added one by one, and removed one by one, while calls are published: each call reaches each of its
// destinations once, and the program's memory is the same as before. This short form has 30 destinations; `npm run
// soak:reloads` has a thousand.

import { renameSync, writeFileSync } from "node:fs";
import { setTimeout as timer } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import type { Kafka } from "../../src/kafka/port.ts";
import { freePort } from "../../tools/kafka/free-port.ts";
import { uniquePrefix } from "../support/build/prefix.ts";
import { BROKERS } from "../support/kit/kafka.ts";
import { startReceiver, type TakenRequest } from "../support/kit/receiver.ts";
import { programWorld, type RunningProgram } from "../support/servers/program.ts";
import { deleteTopics, testKafka } from "../support/worlds/test-kafka.ts";

const COUNT = Number(process.env.SWITCHYARD_RELOADS ?? 30);
const TIMEOUT_MS = 120_000 + COUNT * 8_000;
const SOON = { timeout: 60_000 + COUNT * 500, interval: 200 };
/** The number of destinations that a call names, in addition to the destination that gets all calls. */
const NAMED_MAX = 5;
const PUBLISH_EVERY_MS = 20;
/** For code that is compiled meanwhile, and for current garbage. */
const HEAP_MORE_MAX_BYTES = 20e6;

interface World {
  readonly published: () => number;
  /** From now on, calls name these destinations. Resolves when all earlier calls have been routed. */
  name(ids: readonly string[]): Promise<void>;
  /** Configures these destinations, and resolves when the program has applied the change. */
  configure(ids: readonly string[]): Promise<void>;
  /** The message IDs that each destination should have got. */
  readonly expected: ReadonlyMap<string, ReadonlySet<string>>;
  sent(id: string): readonly string[];
  figures(): Promise<Figures>;
  /** Returns deliveries that were repeated without a reason; see `repeatedIn`. */
  repeated(): readonly string[];
  /** Returns deliveries that were repeated with a reason. */
  explained(): readonly string[];
  /** Returns the end of the program's log, with levels from warn on, without failed attempts. */
  log(): string;
  /** Resolves when no more calls arrive. */
  quiet(): Promise<void>;
}

interface Figures {
  readonly descriptors: number;
  readonly heapBytes: number;
  /** The number of metric lines that name a destination which is removed later. */
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
kafka: { brokers: [${BROKERS.join(", ")}], topicPrefix: ${prefix}, partitions: 1 }
defaultSource: web
sources: [{ id: web, writeKey: web-0123456789, destinations: [${[BASE, ...ids].join(", ")}] }]
destinations:
${destinations.join("\n")}
delivery: { allowNetworks: [127.0.0.0/8], retryDelays: [1s, 2s] }
admin: { host: 127.0.0.1, port: ${port}, reload: true }
ingest: { host: 127.0.0.1, port: 0 }
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
    series: lines.filter((line) => line.includes('destination="d')).length,
    rebalances: figure(rebalances),
  };
}

/**
 * Returns the deliveries that arrived more than once, with the times of both. There are two reasons for repeating
 * deliveries, and the program's log names the deliveries or the group:
 *
 *   an attempt had failed      its response came after the deadline of 5 s, as on a busy machine
 *   the group's last commit    the broker did not respond in time, or removed the member; the
 *   failed                     group's next consumer repeats what was finished after the commit before
 */
function repeatedIn(
  id: string,
  taken: readonly TakenRequest[],
  lines: RunningProgram["lines"],
  isExplained: boolean,
): readonly string[] {
  const own = lines.filter(({ destination }) => destination === id);
  const failed = new Set(
    own.filter(({ msg }) => msg === "delivery.attempted").map(({ messageId }) => messageId),
  );
  const isDeadLettered = lines.some(
    ({ msg, group }) => msg === "kafka.commit.abandoned" && `${group}`.endsWith(`.${id}`),
  );
  const firstAtMs = new Map<string, number>();
  return taken.flatMap(({ id: messageId, atMs }) => {
    const first = firstAtMs.get(messageId);
    if (first === undefined) firstAtMs.set(messageId, atMs);
    if (first === undefined || (failed.has(messageId) || isDeadLettered) !== isExplained) return [];
    return [
      `${id}: ${messageId} at ${new Date(first).toISOString()}, again ${atMs - first} ms later`,
    ];
  });
}

function connect(): Kafka {
  return testKafka({ sessionTimeoutMs: 6_000 });
}

async function start(): Promise<World> {
  const prefix = uniquePrefix("reloads");
  const port = await freePort();
  const hooks = await startReceiver();
  const program = programWorld(yaml(prefix, port, hooks.port, []));
  const kafka = connect();
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
  const idsAt = (id: string) => hooks.ids(`/${id}`);
  const { ended, lines } = program.start();
  const repeated = (isExplained: boolean) =>
    [...expected.keys()].flatMap((id) => repeatedIn(id, hooks.at(`/${id}`), lines, isExplained));
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
    await deleteTopics(kafka, prefix);
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
      // All of them also went to the first destination. Some may arrive late, and some twice.
      for (let routed = new Set<string>(); routed.size < before; ) {
        await timer(5);
        routed = new Set(idsAt(BASE).filter((id) => Number(id.slice(1)) < before));
      }
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
    repeated: () => repeated(false),
    explained: () => repeated(true),
    log: () => {
      const others = lines.filter(({ msg }) => msg !== "delivery.attempted");
      return JSON.stringify(others.slice(-40), undefined, 1);
    },
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
    // The consumers of the removed destinations leave.
    await expect
      .poll(async () => (await world.figures()).descriptors, SOON)
      .toBeLessThanOrEqual(before.descriptors + 5);
    // Garbage is freed by the next full collection, which each scrape of the metrics makes more likely.
    await expect
      .poll(async () => (await world.figures()).heapBytes, { ...SOON, interval: 20 })
      .toBeLessThan(before.heapBytes + HEAP_MORE_MAX_BYTES);
    const after = await world.figures();
    // Records that are left in their topics are delivered when the destinations are configured again.
    await world.configure(all);
    const missing = () =>
      [...world.expected].flatMap(([id, ids]) => {
        const sent = new Set(world.sent(id));
        return [...ids].filter((each) => !sent.has(each)).map((each) => `${id}: ${each}`);
      });
    await expect.poll(missing, SOON).toEqual([]);
    expect(world.repeated(), world.log()).toEqual([]);
    const explained = world.explained();
    if (explained.length > 0)
      process.stdout.write(
        `${explained.length} repeated, as they may:\n${explained.slice(0, 10).join("\n")}\n`,
      );
    const [first, last] = [before, after].map(({ heapBytes }) => Math.round(heapBytes / 1e6));
    process.stdout.write(
      `${2 * COUNT} reloads in ${Math.round(tookMs / 1_000)} s, ${world.published()} calls, ` +
        `heap ${first} MB before, ${Math.round(most.heapBytes / 1e6)} with all, ${last} after; ` +
        `descriptors ${before.descriptors}, ${most.descriptors}, ${after.descriptors}; ` +
        `lines of metrics ${before.series}, ${most.series}, ${after.series}\n`,
    );
    expect(after.rebalances).toBe(before.rebalances);
    // There is one destination fewer.
    expect(after.series).toBeLessThanOrEqual(before.series);
    expect(most.series).toBeGreaterThan(before.series);
  },
  TIMEOUT_MS,
);
