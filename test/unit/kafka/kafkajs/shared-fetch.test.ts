// The table of src/kafka/kafkajs/shared-fetch.ts, on a line that answers as it is told to.

import { afterEach, expect, test, vi } from "vitest";
import type { BrokerConnection } from "../../../../src/kafka/kafkajs/broker-connection.ts";
import type { FetchRequest } from "../../../../src/kafka/kafkajs/consumer-group.ts";
import type { FetchResult } from "../../../../src/kafka/kafkajs/fetch-result.ts";
import type { Protocol } from "../../../../src/kafka/kafkajs/internals.ts";
import { SharedFetch } from "../../../../src/kafka/kafkajs/shared-fetch.ts";
import { encodeBatch } from "../../../support/build/record-batches.ts";
import { fetchAnswer } from "../../../support/kafkajs/fetch-answer.ts";

/** A connection whose requests wait for the test's answers. */
class ScriptedLine {
  readonly #asked: { answer(payload: Buffer): void; fail(error: Error): void }[] = [];
  #arrived: (() => void) | null = null;
  inFlight = 0;
  underWayMax = 0;
  throttledForMs = 0;
  /** Fails to connect. */
  refused: Error | null = null;

  async open(): Promise<void> {
    if (this.refused !== null) throw this.refused;
  }

  async send(protocol: Protocol): Promise<unknown> {
    this.inFlight += 1;
    this.underWayMax = Math.max(this.inFlight, this.underWayMax);
    const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
    this.#asked.push({ answer: resolve, fail: reject });
    this.#arrived?.();
    try {
      return await protocol.response.decode(await promise);
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

const LONG_MS = 60_000;

afterEach(() => {
  vi.useRealTimers();
});

function create() {
  const connection = new ScriptedLine();
  const outages = { reportSilence: () => undefined, reportResponse: () => undefined };
  return { connection, fetch: new SharedFetch(connection as unknown as BrokerConnection, outages) };
}

function request(topic: string, maxWaitTime = LONG_MS, offset = 0): FetchRequest {
  const policy = { recordMaxBytes: 1_000_000 };
  const partitions = [{ partition: 0, fetchOffset: `${offset}`, maxBytes: 1_000, policy }];
  return { maxWaitTime, maxBytes: 1_000, topics: [{ topic, partitions }] };
}

const batch = () => encodeBatch([{ key: null, value: Buffer.from("v"), headers: [] }]);
const [one, other, third] = [{}, {}, {}];

test("each member has the records of its own partitions, and the others wait on", async () => {
  const { connection, fetch } = create();
  const first = fetch.fetch(one, request("a"));
  const second = fetch.fetch(other, request("b"));
  const records = await batch();
  (await connection.next()).answer(fetchAnswer([{ topic: "a", records }, { topic: "b" }]));
  const { responses } = await first;
  expect(responses).toMatchObject([
    { topicName: "a", partitions: [{ partition: 0, highWatermark: "9" }] },
  ]);
  expect(responses[0]?.partitions[0]?.messages).toHaveLength(1);
  (await connection.next()).answer(fetchAnswer([{ topic: "b", records }]));
  expect((await second).responses).toMatchObject([{ topicName: "b" }]);
  expect(connection.underWayMax).toBe(1);
});

test("an error of a partition is its member's alone, as kafkajs makes it", async () => {
  const { connection, fetch } = create();
  const failing = fetch.fetch(one, request("a"));
  const outOfRange = fetch.fetch(third, request("c"));
  const fine = fetch.fetch(other, request("b"));
  const records = await batch();
  const answered = [
    { topic: "a", errorCode: 6 },
    { topic: "c", errorCode: 1 },
    { topic: "b", records },
  ];
  const errors = Promise.all([
    expect(failing).rejects.toMatchObject({ type: "NOT_LEADER_FOR_PARTITION" }),
    expect(outOfRange).rejects.toMatchObject({
      name: "KafkaJSOffsetOutOfRange",
      topic: "c",
      partition: 0,
    }),
  ]);
  (await connection.next()).answer(fetchAnswer(answered));
  await errors;
  expect((await fine).responses).toMatchObject([{ topicName: "b" }]);
});

test("a corrupt batch is its member's alone", async () => {
  const { connection, fetch } = create();
  const corrupt = fetch.fetch(one, request("a"));
  const fine = fetch.fetch(other, request("b"));
  const records = await batch();
  const broken = Buffer.from(records);
  broken.writeUInt8(broken.readUInt8(66) ^ 1, 66);
  const error = expect(corrupt).rejects.toMatchObject({ name: "CorruptBatchError", topic: "a" });
  (await connection.next()).answer(
    fetchAnswer([
      { topic: "a", records: broken },
      { topic: "b", records },
    ]),
  );
  await error;
  expect((await fine).responses).toMatchObject([{ topicName: "b" }]);
});

test("a fetch ends when its time is over, with the ends that are known", async () => {
  const { connection, fetch } = create();
  const short = fetch.fetch(one, request("a", 20));
  (await connection.next()).answer(fetchAnswer([{ topic: "a", end: 7 }]));
  expect((await short).responses).toMatchObject([
    { topicName: "a", partitions: [{ highWatermark: "7", messages: [] }] },
  ]);
});

test("a fetch that may not wait has one answer all the same", async () => {
  const { connection, fetch } = create();
  const look = fetch.fetch(one, request("a", 0));
  const records = await batch();
  const asked = await connection.next();
  await new Promise((resolve) => setTimeout(resolve, 5));
  asked.answer(fetchAnswer([{ topic: "a", records }]));
  expect((await look).responses[0]?.partitions[0]?.messages).toHaveLength(1);
});

test("a connection that breaks fails all fetches, and the next ones begin a session", async () => {
  const { connection, fetch } = create();
  const fetches = [fetch.fetch(one, request("a")), fetch.fetch(other, request("b"))];
  const cut = new Error("cut");
  const errors = Promise.all(fetches.map((each) => expect(each).rejects.toBe(cut)));
  (await connection.next()).fail(cut);
  await errors;
  connection.refused = new Error("refused");
  await expect(fetch.fetch(one, request("a"))).rejects.toBe(connection.refused);
  connection.refused = null;
  const again = fetch.fetch(one, request("a"));
  (await connection.next()).answer(fetchAnswer([{ topic: "a", records: await batch() }]));
  expect((await again).responses).toMatchObject([{ topicName: "a" }]);
});

test("after a session that is lost the fetches continue in another", async () => {
  const { connection, fetch } = create();
  const waiting = fetch.fetch(one, request("a"));
  (await connection.next()).answer(fetchAnswer([], { errorCode: 70, sessionId: 0 }));
  (await connection.next()).answer(fetchAnswer([{ topic: "a", records: await batch() }]));
  expect((await waiting).responses).toMatchObject([{ topicName: "a" }]);
});

test("another error of the whole answer fails those that were asked", async () => {
  const { connection, fetch } = create();
  const failing = fetch.fetch(one, request("a"));
  const error = expect(failing).rejects.toMatchObject({ type: "CLUSTER_AUTHORIZATION_FAILED" });
  (await connection.next()).answer(fetchAnswer([], { errorCode: 31 }));
  await error;
});

test("a member that leaves has nothing, and takes nothing from the others", async () => {
  const { connection, fetch } = create();
  const leaving = fetch.fetch(one, request("a"));
  const staying = fetch.fetch(other, request("b"));
  const asked = await connection.next();
  fetch.leave(one);
  expect(await leaving).toEqual({ responses: [] });
  const records = await batch();
  asked.answer(
    fetchAnswer([
      { topic: "a", records },
      { topic: "b", records },
    ]),
  );
  expect((await staying).responses).toMatchObject([{ topicName: "b" }]);
});

test("a member that asks again ends its earlier fetch, whose answer counts for the same offset", async () => {
  const { connection, fetch } = create();
  const earlier = fetch.fetch(one, request("a"));
  const asked = await connection.next();
  const later = fetch.fetch(one, request("a"));
  expect(await earlier).toEqual({ responses: [] });
  asked.answer(fetchAnswer([{ topic: "a", records: await batch() }]));
  expect((await later).responses).toMatchObject([{ topicName: "a" }]);
});

test("a partition of one member is taken for another", async () => {
  const { connection, fetch } = create();
  const mine = fetch.fetch(one, request("a"));
  expect(fetch.isTaken(other, request("a"))).toBe(true);
  expect(fetch.isTaken(one, request("a"))).toBe(false);
  expect(fetch.isTaken(other, request("b"))).toBe(false);
  (await connection.next()).answer(fetchAnswer([{ topic: "a", records: await batch() }]));
  await mine;
  expect(fetch.isTaken(other, request("a"))).toBe(false);
});

test("a fetch continues behind what is taken of it, without another one", async () => {
  const { connection, fetch } = create();
  const records = await batch();
  const taken: (readonly (string | number)[])[] = [];
  const take = ({ responses }: FetchResult) => {
    const [{ topicName = "", partitions = [] } = {}] = responses;
    const offset = partitions[0]?.fetchOffset ?? -1;
    taken.push([topicName, offset]);
    return taken.length === 3 ? null : [{ topic: topicName, partition: 0, offset: offset + 1 }];
  };
  let isOver = false;
  const over = fetch.fetch(one, request("a"), take).then((answer) => {
    isOver = true;
    return answer;
  });
  const first = await connection.next();
  first.answer(fetchAnswer([{ topic: "a", records }]));
  const second = await connection.next();
  expect({ isOver, taken }).toEqual({ isOver: false, taken: [["a", 0]] });
  second.answer(fetchAnswer([{ topic: "a", records }]));
  (await connection.next()).answer(fetchAnswer([{ topic: "a", records }]));
  expect((await over).responses).toEqual([]);
  expect(taken).toEqual([
    ["a", 0],
    ["a", 1],
    ["a", 2],
  ]);
});

test("a fetch whose records are not taken fails with the error, and others' continue", async () => {
  const { connection, fetch } = create();
  const broken = new Error("the handler is broken");
  const failing = expect(
    fetch.fetch(one, request("a"), () => {
      throw broken;
    }),
  ).rejects.toBe(broken);
  const fine = fetch.fetch(other, request("b"));
  const records = await batch();
  (await connection.next()).answer(
    fetchAnswer([
      { topic: "a", records },
      { topic: "b", records },
    ]),
  );
  await failing;
  expect((await fine).responses).toMatchObject([{ topicName: "b" }]);
});

test("a fetch that continues ends when its time is over, with the ends that are known", async () => {
  const records = await batch();
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  const { connection, fetch } = create();
  const goOn = () => [{ topic: "a", partition: 0, offset: 1 }];
  const over = fetch.fetch(one, request("a"), goOn);
  await vi.advanceTimersByTimeAsync(20);
  (await connection.next()).answer(fetchAnswer([{ topic: "a", records, end: 7 }]));
  await vi.advanceTimersByTimeAsync(20);
  await connection.next();
  await vi.advanceTimersByTimeAsync(LONG_MS);
  expect((await over).responses).toMatchObject([
    { topicName: "a", partitions: [{ highWatermark: "7", messages: [] }] },
  ]);
});

test("a member that has left takes nothing of a late answer", async () => {
  const { connection, fetch } = create();
  const records = await batch();
  let taken = 0;
  const over = fetch.fetch(one, request("a"), () => {
    taken += 1;
    return null;
  });
  const asked = await connection.next();
  fetch.leave(one);
  asked.answer(fetchAnswer([{ topic: "a", records }]));
  await over;
  await new Promise((resolve) => setImmediate(resolve));
  expect(taken).toBe(0);
});

/** What inflates to far more than may be held at once, from a few kilobytes. */
const inflating = (mebibytes = 8) =>
  encodeBatch([{ key: null, value: Buffer.alloc(mebibytes * 2 ** 20, " "), headers: [] }], {
    compression: 1,
  });

test("a batch that is inflated in pieces holds up nobody else", async () => {
  const { connection, fetch } = create();
  const order: string[] = [];
  const slow = fetch.fetch(one, request("a")).then((answer) => {
    order.push("inflated");
    return answer;
  });
  const records = await batch();
  const large = await inflating(64);
  let asked = await connection.next();
  const quick = fetch.fetch(other, request("b"));
  asked.answer(fetchAnswer([{ topic: "a", records: large }]));
  asked = await connection.next();
  asked.answer(fetchAnswer([{ topic: "b", records }]));
  expect((await quick).responses).toMatchObject([{ topicName: "b" }]);
  order.push("other");
  const { responses } = await slow;
  expect(responses[0]?.partitions[0]?.messages).toHaveLength(1);
  expect(order).toEqual(["other", "inflated"]);
});

test("a member that leaves while its batch is inflated has nothing", async () => {
  const { connection, fetch } = create();
  const leaving = fetch.fetch(one, request("a"));
  const large = await inflating();
  (await connection.next()).answer(fetchAnswer([{ topic: "a", records: large }]));
  const staying = fetch.fetch(other, request("b"));
  const asked = await connection.next();
  fetch.leave(one);
  expect(await leaving).toEqual({ responses: [] });
  asked.answer(fetchAnswer([{ topic: "b", records: await batch() }]));
  expect((await staying).responses).toMatchObject([{ topicName: "b" }]);
});

test("a partition that is asked for again while its batch is inflated is answered once", async () => {
  const { connection, fetch } = create();
  const earlier = fetch.fetch(one, request("a"));
  const large = await inflating();
  (await connection.next()).answer(fetchAnswer([{ topic: "a", records: large }]));
  const staying = fetch.fetch(other, request("b"));
  const asked = await connection.next();
  const later = fetch.fetch(one, request("a"));
  expect(await earlier).toEqual({ responses: [] });
  asked.answer(fetchAnswer([{ topic: "b", records: await batch() }]));
  await staying;
  (await connection.next()).answer(fetchAnswer([{ topic: "a", records: await batch() }]));
  expect((await later).responses).toMatchObject([{ topicName: "a" }]);
});

test("a fetch that continues takes what was inflated, and is over", async () => {
  const { connection, fetch } = create();
  const taken: number[] = [];
  const over = fetch.fetch(one, request("a"), ({ responses }) => {
    taken.push(responses[0]?.partitions[0]?.messages.length ?? 0);
    return [{ topic: "a", partition: 0, offset: 1 }];
  });
  const large = await inflating();
  (await connection.next()).answer(fetchAnswer([{ topic: "a", records: large }]));
  expect(await over).toEqual({ responses: [] });
  expect(taken).toEqual([1]);
});

test("a fetch that its member ends gives nothing, and its partitions leave the session", async () => {
  const { connection, fetch } = create();
  const ended = fetch.fetch(one, request("a"));
  const stays = fetch.fetch(other, request("b"));
  const first = await connection.next();
  fetch.end(one);
  expect(await ended).toEqual({ responses: [] });
  first.answer(fetchAnswer([{ topic: "a", records: await batch() }, { topic: "b" }]));
  (await connection.next()).answer(fetchAnswer([{ topic: "b", records: await batch() }]));
  expect((await stays).responses).toMatchObject([{ topicName: "b" }]);
});

test("a member's later fetch ends its earlier one, whatever either asks for", async () => {
  const { fetch } = create();
  const earlier = fetch.fetch(one, request("a"));
  void fetch.fetch(one, request("b"));
  expect(await earlier).toEqual({ responses: [] });
  // Another member may have it.
  expect(fetch.isTaken(other, request("a"))).toBe(false);
});

test("a fetch that continues has been answered as often as its broker has", async () => {
  const { connection, fetch } = create();
  vi.useFakeTimers({ toFake: ["Date"], now: 1_000 });
  void fetch.fetch(one, request("a"));
  expect(fetch.respondedAtMs(one)).toBe(null);
  (await connection.next()).answer(fetchAnswer([{ topic: "a" }]));
  const second = await connection.next();
  expect(fetch.respondedAtMs(one)).toBe(1_000);
  vi.setSystemTime(5_000);
  second.answer(fetchAnswer([]));
  await connection.next();
  expect(fetch.respondedAtMs(one)).toBe(5_000);
  fetch.end(one);
  expect(fetch.respondedAtMs(one)).toBe(null);
});

test("after throttled responses without records it asks less and less often, until some come", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  const { connection, fetch } = create();
  const asked: number[] = [];
  const first = fetch.fetch(one, request("a"));
  const beganMs = performance.now();
  const answer = async (throttledForMs: number, payload: Buffer) => {
    let isAsked = false;
    const next = connection.next().then((request) => {
      isAsked = true;
      return request;
    });
    while (!isAsked) await vi.advanceTimersByTimeAsync(10);
    asked.push(Math.round((performance.now() - beganMs) / 1_000));
    connection.throttledForMs = throttledForMs;
    (await next).answer(payload);
  };
  // The line itself, which is none here, waits for the throttle time.
  for (let times = 0; times < 5; times += 1) await answer(1_000, fetchAnswer([]));
  expect(asked).toEqual([0, 0, 2, 6, 14]);
  await answer(0, fetchAnswer([{ topic: "a", records: await batch() }]));
  await first;
  void fetch.fetch(one, request("a", LONG_MS, 1));
  await answer(1_000, fetchAnswer([]));
  await answer(1_000, fetchAnswer([]));
  expect(asked.slice(5)).toEqual([22, 22, 22]);
});
