// The table of src/kafka/fetch/source.ts, with a connection whose responses each test specifies.

import { afterEach, expect, test, vi } from "vitest";
import type { BrokerConnection } from "../../../../src/kafka/broker/broker-connection.ts";
import { Cursor, type CursorOwner } from "../../../../src/kafka/fetch/cursor.ts";
import { FetchSource } from "../../../../src/kafka/fetch/source.ts";
import type { FetchedBatch } from "../../../../src/kafka/membership.ts";
import { readFetchResponse } from "../../../../src/kafka/wire/fetch-response.ts";
import { encodeBatch } from "../../../support/build/record-batches.ts";
import { int16, int32, int64, text } from "../../../support/kafka-client/bytes.ts";
import { readerOf } from "../../../support/kafka-client/fetch-response.ts";

interface ResultPartition {
  readonly topic: string;
  readonly partition?: number;
  readonly errorCode?: number;
  readonly end?: number;
  readonly records?: Buffer;
}

/** A Fetch response of version 11 with these partitions. */
function fetchResult(
  partitions: readonly ResultPartition[],
  { sessionId = 1, errorCode = 0 } = {},
): Buffer {
  return Buffer.concat([
    int32(0),
    int16(errorCode),
    int32(sessionId),
    int32(partitions.length),
    ...partitions.flatMap(({ topic, partition = 0, errorCode: error = 0, end = 9, records }) => [
      text(topic),
      int32(1),
      int32(partition),
      int16(error),
      int64(end),
      int64(end),
      int64(0),
      int32(0),
      int32(-1),
      int32(records?.length ?? 0),
      records ?? Buffer.alloc(0),
    ]),
  ]);
}

/** A connection whose requests wait for responses from the test. */
class ScriptedConnection {
  readonly #asked: { respond(payload: Buffer): void; fail(error: Error): void }[] = [];
  #arrived: (() => void) | null = null;
  inFlight = 0;
  inFlightMax = 0;
  throttledForMs = 0;
  isOpen = false;
  fetchVersions = { minVersion: 4, maxVersion: 17 };

  async open() {
    return { versions: { 1: this.fetchVersions } };
  }

  async send(): Promise<unknown> {
    this.inFlight += 1;
    this.inFlightMax = Math.max(this.inFlight, this.inFlightMax);
    const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
    this.#asked.push({ respond: resolve, fail: reject });
    this.#arrived?.();
    try {
      return readFetchResponse(readerOf(await promise));
    } finally {
      this.inFlight -= 1;
    }
  }

  /** The next request. */
  async next() {
    while (this.#asked.length === 0) {
      await new Promise<void>((resolve) => {
        this.#arrived = resolve;
      });
    }
    const next = this.#asked.shift();
    if (next === undefined) throw new Error("no request");
    return next;
  }
}

/** Records what the member of a cursor gets. */
class Reader {
  readonly cursor: Cursor;
  readonly got: (FetchedBatch | Error)[] = [];
  #arrived: (() => void) | null = null;

  constructor(source: FetchSource, topic: string) {
    const take = (what: FetchedBatch | Error): void => {
      this.got.push(what);
      this.#arrived?.();
    };
    const owner: CursorOwner = {
      fetched: (_, batch) => take(batch),
      failed: (_, error) => take(error),
    };
    const policy = { recordMaxBytes: 1_000_000, skipsCorrupt: false };
    this.cursor = new Cursor({ topic, partition: 0 }, owner, { policy, maxBytes: 1_000 });
    expect(source.attach(this.cursor)).toBe(true);
    this.cursor.setSource(source);
    this.cursor.moveTo(0);
  }

  async next(): Promise<FetchedBatch | Error | undefined> {
    while (this.got.length === 0) {
      await new Promise<void>((resolve) => {
        this.#arrived = resolve;
      });
    }
    return this.got.shift();
  }
}

afterEach(() => {
  vi.useRealTimers();
});

function create() {
  const connection = new ScriptedConnection();
  const outages = { reportSilence: () => undefined, reportResponse: () => undefined };
  let lost = 0;
  const source = new FetchSource({
    connection: connection as unknown as BrokerConnection,
    broker: "a:9092",
    outages,
    onLost: () => {
      lost += 1;
    },
  });
  const reader = (topic: string) => new Reader(source, topic);
  return { connection, source, reader, lost: () => lost };
}

const batch = () => encodeBatch([{ key: null, value: Buffer.from("v"), headers: [] }]);

/** A few kilobytes that decompress to much more than may be in memory at once. */
const inflating = (mebibytes = 8) =>
  encodeBatch([{ key: null, value: Buffer.alloc(mebibytes * 2 ** 20, " "), headers: [] }], {
    compression: 1,
  });

test("each member has the records of its own partitions, one request at a time", async () => {
  const { connection, reader } = create();
  const [one, other] = [reader("a"), reader("b")];
  const records = await batch();
  (await connection.next()).respond(fetchResult([{ topic: "a", records }, { topic: "b" }]));
  expect(await one.next()).toMatchObject({ topic: "a", from: 0, last: 0, count: 1, end: 9 });
  expect(await other.next()).toMatchObject({ topic: "b", last: null, count: 0, end: 9 });
  other.cursor.give();
  (await connection.next()).respond(fetchResult([{ topic: "b", records }]));
  expect(await other.next()).toMatchObject({ topic: "b", count: 1 });
  expect(connection.inFlightMax).toBe(1);
});

test("a partition is fetched again where its member has moved it, not before", async () => {
  const { connection, reader, source } = create();
  const [one, other] = [reader("a"), reader("b")];
  const records = await batch();
  (await connection.next()).respond(fetchResult([{ topic: "a", records }]));
  await one.next();
  // The member has its records.
  (await connection.next()).respond(
    fetchResult([
      { topic: "a", records },
      { topic: "b", records },
    ]),
  );
  await other.next();
  expect([one.got, source.respondedAtMs(one.cursor)]).toEqual([[], null]);
  one.cursor.moveTo(1);
  one.cursor.give();
  (await connection.next()).respond(fetchResult([{ topic: "a", records }]));
  expect(await one.next()).toMatchObject({ from: 1 });
});

test("an error of a partition, and a corrupt batch, are its member's alone", async () => {
  const { connection, reader } = create();
  const [moved, corrupt, fine] = [reader("a"), reader("b"), reader("c")];
  const records = await batch();
  const broken = Buffer.from(records);
  broken.writeUInt8(broken.readUInt8(66) ^ 1, 66);
  (await connection.next()).respond(
    fetchResult([
      { topic: "a", errorCode: 6 },
      { topic: "b", records: broken },
      { topic: "c", records },
    ]),
  );
  expect(await moved.next()).toMatchObject({ type: "NOT_LEADER_OR_FOLLOWER" });
  expect(await corrupt.next()).toMatchObject({ name: "CorruptBatchError", topic: "b" });
  expect(await fine.next()).toMatchObject({ count: 1 });
});

test("a connection that breaks loses no cursor: the next request begins a session, and leaders are looked up", async () => {
  const { connection, reader, lost } = create();
  const one = reader("a");
  (await connection.next()).fail(new Error("cut"));
  (await connection.next()).respond(fetchResult([{ topic: "a", records: await batch() }]));
  expect(await one.next()).toMatchObject({ from: 0, count: 1 });
  expect(lost()).toBe(1);
});

test("after a session that is lost the cursors continue in another", async () => {
  const { connection, reader } = create();
  const one = reader("a");
  (await connection.next()).respond(fetchResult([], { errorCode: 70, sessionId: 0 }));
  (await connection.next()).respond(fetchResult([{ topic: "a", records: await batch() }]));
  expect(await one.next()).toMatchObject({ count: 1 });
});

test("an error of the whole response that lasts is everybody's", async () => {
  const { connection, reader } = create();
  const [one, other] = [reader("a"), reader("b")];
  (await connection.next()).respond(fetchResult([], { errorCode: 31 }));
  expect(await one.next()).toMatchObject({ type: "CLUSTER_AUTHORIZATION_FAILED" });
  expect(await other.next()).toMatchObject({ type: "CLUSTER_AUTHORIZATION_FAILED" });
});

test("an error that nobody expects is everybody's, too, when it comes again and again", async () => {
  const { connection, reader } = create();
  const one = reader("a");
  const broken = new Error("a bug");
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  for (let times = 0; times < 5; times += 1) {
    expect(one.got).toEqual([]);
    await vi.advanceTimersByTimeAsync(400);
    (await connection.next()).fail(broken);
    await vi.advanceTimersByTimeAsync(1);
  }
  expect(one.got).toEqual([broken]);
});

test("a broker that is too old says so to everybody", async () => {
  const { connection, reader } = create();
  connection.fetchVersions = { minVersion: 0, maxVersion: 10 };
  expect(await reader("a").next()).toMatchObject({ name: "NoCommonVersionError" });
});

test.each([
  ["is closed", (cursor: Cursor) => cursor.close()],
  ["is paused", (cursor: Cursor) => cursor.pause()],
  ["moves to another leader", (cursor: Cursor) => cursor.setSource(null)],
  ["is moved to another offset", (cursor: Cursor) => cursor.moveTo(5)],
])("what arrives for a cursor that %s meanwhile is dropped", async (_what, change) => {
  const { connection, reader } = create();
  const [one, other] = [reader("a"), reader("b")];
  const records = await batch();
  const asked = await connection.next();
  change(one.cursor);
  asked.respond(
    fetchResult([
      { topic: "a", records },
      { topic: "b", records },
    ]),
  );
  await other.next();
  expect(one.got).toEqual([]);
});

test("a partition that another group reads here needs another source", async () => {
  const { source, reader } = create();
  const one = reader("a");
  const policy = { recordMaxBytes: 1, skipsCorrupt: false };
  const owner = { fetched: () => undefined, failed: () => undefined };
  const second = new Cursor({ topic: "a", partition: 0 }, owner, { policy, maxBytes: 1 });
  expect(source.attach(second)).toBe(false);
  one.cursor.close();
  expect([source.isUnused, source.attach(second)]).toEqual([true, true]);
});

test("a batch that is inflated in pieces holds up nobody else", async () => {
  const { connection, reader } = create();
  const slow = reader("a");
  const records = await batch();
  const large = await inflating(64);
  const asked = await connection.next();
  const quick = reader("b");
  asked.respond(fetchResult([{ topic: "a", records: large }]));
  (await connection.next()).respond(fetchResult([{ topic: "b", records }]));
  expect(await quick.next()).toMatchObject({ count: 1 });
  expect(slow.got).toEqual([]);
  expect(await slow.next()).toMatchObject({ topic: "a", count: 1 });
});

test("a cursor that is closed while its batch is inflated has nothing", async () => {
  const { connection, reader } = create();
  const leaving = reader("a");
  const large = await inflating();
  (await connection.next()).respond(fetchResult([{ topic: "a", records: large }]));
  const staying = reader("b");
  const asked = await connection.next();
  leaving.cursor.close();
  asked.respond(fetchResult([{ topic: "b", records: await batch() }]));
  await staying.next();
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(leaving.got).toEqual([]);
});

test("a cursor that waits has had as many responses as its broker has", async () => {
  const { connection, reader, source } = create();
  vi.useFakeTimers({ toFake: ["Date"], now: 1_000 });
  const { cursor } = reader("a");
  expect(source.respondedAtMs(cursor)).toBe(null);
  (await connection.next()).respond(fetchResult([]));
  const second = await connection.next();
  expect(source.respondedAtMs(cursor)).toBe(1_000);
  vi.setSystemTime(5_000);
  second.respond(fetchResult([]));
  await connection.next();
  expect(source.respondedAtMs(cursor)).toBe(5_000);
});
