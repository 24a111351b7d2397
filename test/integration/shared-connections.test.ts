// Many consumers of one process on a real Kafka: how many sockets they need, and whether one of them affects the
// others.

import diagnostics from "node:diagnostics_channel";
import type { Socket } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Consumer, TopicGoneError } from "../../src/kafka/port.ts";
import { Bench, record } from "../support/contract/bench.ts";
import { Taker } from "../support/contract/taker.ts";
import { BROKERS } from "../support/kit/kafka.ts";
import { testKafka } from "../support/worlds/test-kafka.ts";

const CONSUMERS = 50;
/** Sockets for fetches, commits, other requests, produced records, and topics that are followed. */
const SOCKETS_MAX = 5 * BROKERS.length;

const bench = new Bench();
const running: Consumer[] = [];

function consume(...[kafka, taker, options]: Parameters<Bench["consume"]>): Consumer {
  const consumer = bench.consume(kafka, taker, options);
  running.push(consumer);
  return consumer;
}

beforeEach(() => {
  bench.open({
    connect: () => testKafka({ recordMaxBytes: () => 900_000 }),
    close: () => Promise.resolve(),
  });
});
afterEach(async () => {
  await Promise.all(running.splice(0).map((consumer) => consumer.stop()));
  await bench.close();
});

/** Counts the open sockets to the brokers that are opened from now on. */
function countSockets() {
  const open = new Set<Socket>();
  const ports = new Set(BROKERS.map((address) => Number(address.split(":")[1])));
  const count = (message: unknown): void => {
    const { socket } = message as { readonly socket: Socket };
    socket.once("connect", () => {
      if (socket.remotePort !== undefined && ports.has(socket.remotePort)) open.add(socket);
    });
    socket.once("close", () => open.delete(socket));
  };
  diagnostics.subscribe("net.client.socket", count);
  return {
    open: () => open.size,
    [Symbol.dispose]: () => void diagnostics.unsubscribe("net.client.socket", count),
  };
}

test("fifty consumers, a producer, the watch and a follower have five sockets to a broker", async () => {
  using sockets = countSockets();
  const kafka = bench.connect();
  const watch = kafka.watch();
  const all = await Promise.all(
    Array.from({ length: CONSUMERS }, async () => {
      const topic = await bench.topic(kafka, 2);
      const taker = new Taker({ finishesAtOnce: true });
      const consumer = consume(kafka, taker, { groupId: topic, topics: [topic] });
      return { topic, taker, consumer };
    }),
  );
  await Promise.all(all.map(({ consumer }) => consumer.joined));
  const producer = kafka.producer();
  for (const round of [1, 2]) {
    await producer.send(all.map(({ topic }) => record(topic, `${round}`)));
    await Promise.all(all.map(({ taker }) => taker.untilTaken(round)));
  }
  const stopped = new AbortController();
  const [{ topic: followed = "" } = {}] = all;
  const place = { topic: followed, partition: 0, from: 0, maxBytes: 1_000_000 };
  for await (const _records of kafka.read({ ...place, to: 1, signal: stopped.signal }));
  const following = untilOver(kafka.follow({ ...place, signal: stopped.signal }));
  const committed = () =>
    all.filter(({ consumer }) => consumer.progress().some(({ position }) => position > 0)).length;
  await expect.poll(committed).toBe(CONSUMERS);
  await expect.poll(() => watch.endsAtMs()).not.toBe(null);
  await expect.poll(sockets.open).toBeLessThanOrEqual(SOCKETS_MAX);
  // This shows that sockets were counted at all.
  expect(sockets.open()).toBeGreaterThan(0);
  await producer.send(all.map(({ topic }) => record(topic, "3")));
  await Promise.all(all.map(({ taker }) => taker.untilTaken(3)));
  expect(sockets.open()).toBeLessThanOrEqual(SOCKETS_MAX);
  for (const { taker } of all) expect(taker.taken).toHaveLength(3);
  stopped.abort();
  await following;
});

async function untilOver(records: AsyncIterable<unknown>): Promise<void> {
  for await (const _records of records);
}

test("two groups of a process that read the same partitions both have all of it", async () => {
  const kafka = bench.connect();
  const topic = await bench.topic(kafka, 1);
  const takers = [1, 2].map((group) => {
    const taker = new Taker({ finishesAtOnce: true });
    consume(kafka, taker, { groupId: `${topic}-${group}`, topics: [topic] });
    return taker;
  });
  await bench.fill(kafka, topic, 50, 0);
  await Promise.all(takers.map((taker) => taker.untilTaken(50)));
  await bench.fill(kafka, topic, 50, 0);
  await Promise.all(takers.map((taker) => taker.untilTaken(100)));
  for (const { taken } of takers) {
    expect(taken.map(({ offset }) => offset)).toEqual(Array.from({ length: 100 }, (_, at) => at));
  }
});

test("a consumer that stops, one whose topic goes and one that comes leave the others alone", async () => {
  const kafka = bench.connect();
  const [steady, stopped, gone, late] = await Promise.all(
    [1, 2, 3, 4].map(() => bench.topic(kafka, 2)),
  );
  if (steady === undefined || stopped === undefined) throw new Error("no topic");
  if (gone === undefined || late === undefined) throw new Error("no topic");
  const taker = new Taker({ finishesAtOnce: true });
  const consumer = consume(kafka, taker, { groupId: steady, topics: [steady] });
  const stopping = consume(kafka, new Taker(), { groupId: stopped, topics: [stopped] });
  const crashed = Promise.withResolvers<Error>();
  const failing = consume(kafka, new Taker(), {
    groupId: gone,
    topics: [gone],
    onCrash: crashed.resolve,
  });
  await Promise.all([consumer, stopping, failing].map(({ joined }) => joined));
  await bench.fill(kafka, steady, 20, 0);
  await taker.untilTaken(20);

  await Promise.all([stopping.stop(), kafka.admin.deleteTopics([gone])]);
  await bench.fill(kafka, steady, 20, 1);
  await taker.untilTaken(40);
  expect(await crashed.promise).toBeInstanceOf(TopicGoneError);

  const second = new Taker({ finishesAtOnce: true });
  consume(kafka, second, { groupId: late, topics: [late] });
  await bench.fill(kafka, late, 20, 0);
  await second.untilTaken(20);
  await bench.fill(kafka, steady, 20, 0);
  await taker.untilTaken(60);
  expect(taker.taken).toHaveLength(60);
  expect(consumer.rebalances()).toBe(1);
});

test("a consumer with the maximum in flight requests nothing, and continues when it has room", async () => {
  const kafka = bench.connect();
  const [full, other] = await Promise.all([1, 2].map(() => bench.topic(kafka, 1)));
  if (full === undefined || other === undefined) throw new Error("no topic");
  const holding = new Taker();
  const flowing = new Taker({ finishesAtOnce: true });
  const options = { partitionRecordsMax: 5, whenFull: "hold" as const };
  consume(kafka, holding, { groupId: full, topics: [full], ...options });
  consume(kafka, flowing, { groupId: other, topics: [other] });
  await bench.fill(kafka, full, 100, 0);
  await holding.until(() => holding.unfinished().length === 5);
  await bench.fill(kafka, other, 100, 0);
  await flowing.untilTaken(100);
  expect(holding.taken).toHaveLength(5);
  while (holding.taken.length < 100 || holding.unfinished().length > 0) {
    for (const taken of holding.unfinished()) holding.finish(taken);
    if (holding.taken.length < 100) await holding.untilTaken(holding.taken.length + 1);
  }
  expect(holding.taken.map(({ offset }) => offset)).toEqual(
    Array.from({ length: 100 }, (_, at) => at),
  );
});
