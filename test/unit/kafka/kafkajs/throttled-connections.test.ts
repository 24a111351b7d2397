// The shared connections to a broker that throttles each response by a second, which is the maximum of a request quota:
// during this time, it reads nothing from the connection.

import { afterEach, beforeEach, expect, test, vi } from "vitest";

import type { Broker, CreateBroker, Protocol } from "../../../../src/kafka/kafkajs/internals.ts";
import { loadInternal } from "../../../../src/kafka/kafkajs/kafkajs.ts";
import { SharedConnections } from "../../../../src/kafka/kafkajs/shared-connections.ts";
import {
  encodeHeartbeat,
  readHeartbeatResponse,
} from "../../../../src/kafka/wire/group-requests.ts";
import { COMMIT, HEARTBEAT } from "../../../../src/kafka/wire/request-kinds.ts";

interface Pushed {
  readonly entry: { readonly correlationId: number };
}
interface Queue {
  push(request: object): void;
  fulfillRequest(response: object): void;
}

const RequestQueue = loadInternal("src/network/requestQueue/index.js") as new (
  options: object,
) => Queue;
const logger = { debug: () => undefined, warn: () => undefined };
const MUTED_MS = 1_000;
const READ_MS = 2;

/** A broker that processes the requests of a connection one after the other. */
class ThrottlingBroker {
  throttleMs = 0;
  /** True if the latest response had a throttle time above 0. */
  isThrottling = false;
  connections = 0;
  requests = 0;

  readonly createBroker: CreateBroker = () => {
    const broker = {
      connectionPool: { pool: [this.#connect()] },
      versions: {},
      connect: async () => undefined,
      disconnect: async () => undefined,
    };
    return broker as unknown as Broker;
  };

  #connect(): object {
    this.connections += 1;
    const unread: Pushed[] = [];
    let isReading = false;
    let correlationId = 0;
    const requestQueue = new RequestQueue({
      maxInFlightRequests: null,
      requestTimeout: 30_000,
      enforceRequestTimeout: true,
      clientId: "test",
      broker: "test:9092",
      logger,
    });
    const read = (): void => {
      const request = unread.shift();
      isReading = request !== undefined;
      if (request === undefined) return;
      this.requests += 1;
      const { throttleMs } = this;
      const payload = Buffer.alloc(6);
      payload.writeInt32BE(throttleMs);
      const { entry } = request;
      setTimeout(() => {
        this.isThrottling = throttleMs > 0;
        requestQueue.fulfillRequest({ ...entry, payload, size: 6 });
      }, READ_MS);
      setTimeout(read, READ_MS + throttleMs);
    };
    const { push } = RequestQueue.prototype;
    requestQueue.push = (request: object & Pushed & { sendRequest?: unknown }) => {
      const sendRequest = (): void => {
        unread.push(request);
        if (!isReading) read();
      };
      push.call(requestQueue, { ...request, sendRequest });
    };
    const send = async ({ request, response }: Protocol): Promise<unknown> => {
      const { promise, resolve } = Promise.withResolvers<{ readonly payload: Buffer }>();
      const entry = { ...(request as object), correlationId: correlationId++, resolve };
      requestQueue.push({ entry, expectResponse: true, requestTimeout: null });
      return await response.decode((await promise).payload);
    };
    return {
      send,
      clientId: "test",
      sasl: null,
      requestQueue,
      socket: { cork: () => undefined, uncork: () => undefined, destroy: () => undefined },
      nextCorrelationId: () => correlationId++,
      isConnected: () => true,
      isAuthenticated: () => true,
      rejectRequests: () => undefined,
      authHandlers: null,
    };
  }
}

function heartbeat(at: number) {
  const member = { groupId: `g${at}`, generationId: 1, memberId: `m${at}` };
  return {
    apiKey: HEARTBEAT.apiKey,
    apiName: HEARTBEAT.apiName,
    apiVersion: 3,
    isRepeatable: true,
    encode: (roomBytes: number) => encodeHeartbeat(member, roomBytes),
    read: readHeartbeatResponse,
  };
}

const commit = (at: number) => ({
  ...heartbeat(at),
  apiKey: COMMIT.apiKey,
  apiName: COMMIT.apiName,
  apiVersion: 5,
  isRepeatable: false,
});

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
  const first = Promise.all([shared.open(), shared.sendDirect(commit(0))]);
  await vi.advanceTimersByTimeAsync(READ_MS * 2);
  await first;
  const askAll = (questions: readonly ReturnType<typeof heartbeat>[]) => {
    const respondedMs: number[] = [];
    const beganMs = performance.now();
    for (const request of questions) {
      void shared.sendDirect(request).then(() => respondedMs.push(performance.now() - beganMs));
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
