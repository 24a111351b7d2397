// The shared connections to a broker that throttles each response by a second, which is the maximum of a request quota:
// during this time, it reads nothing from the connection.

import { afterEach, beforeEach, expect, test, vi } from "vitest";

import {
  BrokerConnection,
  type CreateBroker,
} from "../../../../src/kafka/broker/broker-connection.ts";
import type { OpenConnection } from "../../../../src/kafka/broker/open-connection.ts";
import type { Request } from "../../../../src/kafka/broker/request.ts";
import { type Queued, RequestQueue } from "../../../../src/kafka/broker/request-queue.ts";
import * as requests from "../../../../src/kafka/broker/requests.ts";
import { SharedConnections } from "../../../../src/kafka/broker/shared-connections.ts";

const NEVER = new AbortController().signal;
const MUTED_MS = 1_000;
const READ_MS = 2;

interface Sent extends Queued {
  readonly resolve: (result: unknown) => void;
}

/** A broker that processes the requests of a connection one after the other. */
class ThrottlingBroker {
  throttleMs = 0;
  /** True if the latest response had a throttle time above 0. */
  isThrottling = false;
  connections = 0;
  requests = 0;

  readonly createBroker: CreateBroker = (_address, options = { isGathered: false }) =>
    new BrokerConnection(() => this.#connect(), options);

  #connect(): OpenConnection {
    this.connections += 1;
    const unread: Sent[] = [];
    let isReading = false;
    const queue = new RequestQueue<Sent>((sent) => {
      unread.push(sent);
      if (!isReading) read();
    });
    const read = (): void => {
      const sent = unread.shift();
      isReading = sent !== undefined;
      if (sent === undefined) return;
      this.requests += 1;
      const { throttleMs } = this;
      setTimeout(() => {
        this.isThrottling = throttleMs > 0;
        queue.finish(sent, throttleMs);
        sent.resolve({ errorCode: 0, topics: [] });
      }, READ_MS);
      setTimeout(read, READ_MS + throttleMs);
    };
    const connection = {
      isOpen: true,
      get isThrottled() {
        return queue.isThrottled;
      },
      get throttledForMs() {
        return queue.throttledForMs;
      },
      cork: () => undefined,
      open: async () => connection,
      close: () => undefined,
      send: () => new Promise((resolve, reject) => queue.add({ dueMs: 0, resolve, reject })),
    };
    return connection as unknown as OpenConnection;
  }
}

const heartbeat = (at: number) => requests.heartbeat(`g${at}`, 1, `m${at}`);
const commit = (at: number) => requests.offsetCommit(`g${at}`, 1, `m${at}`, null, []);

const open: SharedConnections[] = [];
beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  for (const connections of open.splice(0)) connections.close();
  vi.useRealTimers();
});

/** Returns a connected broker, for requests of all kinds. */
async function connected() {
  const broker = new ThrottlingBroker();
  const isThrottled = () => broker.isThrottling;
  const address = { host: "test", port: 9092 };
  const connections = new SharedConnections(broker.createBroker, [address], isThrottled);
  open.push(connections);
  const shared = connections.broker(address);
  const first = Promise.all([shared.open(), shared.request(commit(0), NEVER)]);
  await vi.advanceTimersByTimeAsync(READ_MS * 2);
  await first;
  const askAll = (questions: readonly Request<unknown>[]) => {
    const respondedMs: number[] = [];
    const beganMs = performance.now();
    for (const request of questions) {
      void shared.request(request, NEVER).then(() => respondedMs.push(performance.now() - beganMs));
    }
    return respondedMs;
  };
  return { broker, askAll };
}

const all = (count: number) => Array.from({ length: count }, (_, at) => at);

test("heartbeats of many members share one connection while no response is throttled", async () => {
  const { broker, askAll } = await connected();
  const before = broker.connections;
  const respondedMs = askAll(all(300).map(heartbeat));
  await vi.advanceTimersByTimeAsync(300 * READ_MS + 10);
  expect(respondedMs).toHaveLength(300);
  expect(broker.connections).toBe(before);
});

test.each([20, 60, 250])(
  "%i heartbeats that are in progress when the broker begins to throttle get their responses within seconds",
  async (count) => {
    const { broker, askAll } = await connected();
    broker.throttleMs = MUTED_MS;
    const respondedMs = askAll(all(count).map(heartbeat));
    await vi.advanceTimersByTimeAsync(5_000);
    expect(respondedMs).toHaveLength(count);
    expect(broker.connections).toBeLessThan(count);
  },
);

test("heartbeats and commits continue for as long as it throttles, by half as many connections", async () => {
  const { broker, askAll } = await connected();
  broker.throttleMs = MUTED_MS;
  askAll([heartbeat(0)]);
  await vi.advanceTimersByTimeAsync(10);
  for (let round = 0; round < 6; round += 1) {
    const heartbeats = askAll(all(40).map(heartbeat));
    const commits = askAll(all(20).map(commit));
    await vi.advanceTimersByTimeAsync(5_000);
    expect([heartbeats, commits].map(({ length }) => length)).toEqual([40, 20]);
    expect(Math.max(...heartbeats, ...commits)).toBeLessThan(3_000);
  }
  expect(broker.connections).toBeLessThanOrEqual(36);
});

test("a commit is sent once, and heartbeats come back to one connection", async () => {
  const { broker, askAll } = await connected();
  const before = broker.requests;
  broker.throttleMs = MUTED_MS;
  const commits = askAll(all(8).map(commit));
  await vi.advanceTimersByTimeAsync(10_000);
  expect(commits).toHaveLength(8);
  expect(broker.requests - before).toBe(8);
  broker.throttleMs = 0;
  askAll(all(100).map(heartbeat));
  await vi.advanceTimersByTimeAsync(10_000);
  const { connections } = broker;
  const respondedMs = askAll(all(100).map(heartbeat));
  await vi.advanceTimersByTimeAsync(1_000);
  expect(respondedMs).toHaveLength(100);
  expect(broker.connections).toBe(connections);
});
