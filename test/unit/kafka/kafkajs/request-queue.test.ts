import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { loadInternal } from "../../../../src/kafka/kafkajs/kafkajs.ts";
import { timeoutCheckMs } from "../../../../src/kafka/kafkajs/request-queue.ts";

interface Queue {
  onThrottled: (request: string, throttleMs: number) => void;
  readonly isThrottled: boolean;
  readonly pending: readonly unknown[];
  maybeThrottle(forMs: number): void;
  push(request: object): void;
  fulfillRequest(response: object): void;
  rejectAll(error: Error): void;
  scheduleRequestTimeoutCheck(): void;
  destroy(): void;
  hold(): void;
  release(): void;
}

const RequestQueue = loadInternal("src/network/requestQueue/index.js") as new (
  options: object,
) => Queue;

const EMPTY = Buffer.alloc(0);
/** Returns a Fetch response, which starts with the throttle time. */
const throttling = (throttleMs: number): Buffer => {
  const payload = Buffer.alloc(8);
  payload.writeInt32BE(throttleMs);
  return payload;
};
const logger = { debug: () => undefined, warn: () => undefined };

function createQueue(options: object = {}) {
  return new RequestQueue({
    maxInFlightRequests: null,
    requestTimeout: 30_000,
    enforceRequestTimeout: true,
    clientId: "test",
    broker: "test:9092",
    logger,
    ...options,
  });
}

function push(queue: Queue, correlationId: number, apiKey = 1) {
  const sendRequest = vi.fn<() => void>();
  const resolve = vi.fn<(response: object) => void>();
  const reject = vi.fn<(error: Error) => void>();
  const entry = { correlationId, apiName: "Fetch", apiKey, apiVersion: 11, resolve, reject };
  queue.push({ entry, expectResponse: true, sendRequest });
  return { sendRequest, resolve, reject };
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("an idle connection has no timer for pending requests, nor has a waiting one", () => {
  const queue = createQueue();
  push(queue, 1);
  expect(vi.getTimerCount()).toBe(0);
  queue.fulfillRequest({ correlationId: 1, payload: EMPTY, size: 0 });
  expect(vi.getTimerCount()).toBe(0);
});

test("a throttled request waits for the end of the throttle and is then sent", () => {
  const queue = createQueue();
  queue.maybeThrottle(500);
  const { sendRequest } = push(queue, 1);
  vi.advanceTimersByTime(499);
  expect(sendRequest).not.toHaveBeenCalled();
  vi.advanceTimersByTime(2);
  expect(sendRequest).toHaveBeenCalledOnce();
  expect(vi.getTimerCount()).toBe(0);
});

test("a throttle that is prolonged meanwhile counts", () => {
  const queue = createQueue();
  queue.maybeThrottle(100);
  const { sendRequest } = push(queue, 1);
  queue.maybeThrottle(1000);
  vi.advanceTimersByTime(999);
  expect(sendRequest).not.toHaveBeenCalled();
  vi.advanceTimersByTime(2);
  expect(sendRequest).toHaveBeenCalledOnce();
});

test("the throttle time of a response holds what is pending, and then one request is sent at a time", () => {
  const queue = createQueue();
  const heard = vi.fn<(request: string, throttleMs: number) => void>();
  queue.onThrottled = heard;
  push(queue, 1);
  queue.fulfillRequest({ correlationId: 1, payload: throttling(1_000), size: 8 });
  expect(heard).toHaveBeenCalledWith("Fetch", 1_000);
  const [second, third, fourth] = [2, 3, 4].map((id) => push(queue, id));
  vi.advanceTimersByTime(999);
  expect(second?.sendRequest).not.toHaveBeenCalled();
  vi.advanceTimersByTime(2);
  expect(second?.sendRequest).toHaveBeenCalledOnce();
  expect(third?.sendRequest).not.toHaveBeenCalled();
  queue.fulfillRequest({ correlationId: 2, payload: throttling(300), size: 8 });
  expect(third?.sendRequest).not.toHaveBeenCalled();
  vi.advanceTimersByTime(301);
  expect(third?.sendRequest).toHaveBeenCalledOnce();
  expect(fourth?.sendRequest).not.toHaveBeenCalled();
  expect(queue.isThrottled).toBe(true);
  queue.fulfillRequest({ correlationId: 3, payload: throttling(0), size: 8 });
  expect(fourth?.sendRequest).toHaveBeenCalledOnce();
  expect(queue.isThrottled).toBe(false);
  queue.destroy();
});

test("throttle times do not count as a part of the time that a request may take", () => {
  const queue = createQueue();
  queue.scheduleRequestTimeoutCheck();
  const requests = Array.from({ length: 60 }, (_, id) => push(queue, id));
  // They were sent before the broker started to throttle, and the broker reads one of them per second.
  for (const id of requests.keys()) {
    queue.fulfillRequest({ correlationId: id, payload: throttling(1_000), size: 8 });
    vi.advanceTimersByTime(1_000);
  }
  for (const { resolve, reject } of requests) {
    expect(resolve).toHaveBeenCalledOnce();
    expect(reject).not.toHaveBeenCalled();
  }
  queue.destroy();
});

test("with too many in flight a request is sent as soon as one has its response, in order", () => {
  const queue = createQueue({ maxInFlightRequests: 1 });
  push(queue, 1);
  const second = push(queue, 2);
  const third = push(queue, 3);
  queue.fulfillRequest({ correlationId: 1, payload: EMPTY, size: 0 });
  expect(second.sendRequest).toHaveBeenCalledOnce();
  expect(third.sendRequest).not.toHaveBeenCalled();
  queue.destroy();
});

test("responses reach their own requests, in whatever order they come", () => {
  const queue = createQueue();
  const requests = [1, 2, 3].map((id) => push(queue, id));
  for (const id of [2, 3, 1]) {
    queue.fulfillRequest({ correlationId: id, payload: Buffer.from(`..${id}`), size: 3 });
    // A second response belongs to no request.
    queue.fulfillRequest({ correlationId: id, payload: EMPTY, size: 0 });
  }
  const payloads = requests.map(({ resolve }) => resolve.mock.calls);
  expect(payloads).toEqual(
    [1, 2, 3].map((id) => [[expect.objectContaining({ payload: Buffer.from(`..${id}`) })]]),
  );
});

test("a request without a response times out, and the next one is sent", () => {
  const queue = createQueue({ maxInFlightRequests: 1 });
  queue.scheduleRequestTimeoutCheck();
  const { reject } = push(queue, 1);
  const second = push(queue, 2);
  vi.advanceTimersByTime(30_000);
  expect(reject).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1001);
  expect(reject).toHaveBeenCalledWith(
    expect.objectContaining({ name: "KafkaJSRequestTimeoutError" }),
  );
  expect(second.sendRequest).toHaveBeenCalledOnce();
  queue.destroy();
  expect(vi.getTimerCount()).toBe(0);
});

test("all requests that take too long time out with the same check", () => {
  const queue = createQueue();
  queue.scheduleRequestTimeoutCheck();
  const requests = [1, 2, 3].map((id) => push(queue, id));
  vi.advanceTimersByTime(31_000);
  for (const { reject } of requests) expect(reject).toHaveBeenCalledOnce();
  queue.destroy();
});

test("the check for timeouts ends with the connection", () => {
  const queue = createQueue({ isConnected: () => false });
  queue.scheduleRequestTimeoutCheck();
  vi.advanceTimersByTime(1000);
  expect(vi.getTimerCount()).toBe(0);
});

test.each([
  [50, 50],
  [1000, 100],
  [10_000, 500],
  [30_000, 1000],
  [300_000, 1000],
])("a request timeout of %i ms is checked every %i ms", (requestTimeoutMs, checkMs) => {
  expect(timeoutCheckMs(requestTimeoutMs)).toBe(checkMs);
});

test("while a connection logs in, only the authentication is sent; the others follow in their order", () => {
  const queue = createQueue();
  queue.hold();
  const held = [push(queue, 1), push(queue, 2)];
  const [handshake, authenticateToBroker] = [push(queue, 3, 17), push(queue, 4, 36)];
  expect(held.map(({ sendRequest }) => sendRequest.mock.calls.length)).toEqual([0, 0]);
  expect(handshake.sendRequest).toHaveBeenCalledOnce();
  expect(authenticateToBroker.sendRequest).toHaveBeenCalledOnce();
  queue.release();
  const [first = NaN, second = NaN] = held.map(
    ({ sendRequest }) => sendRequest.mock.invocationCallOrder[0],
  );
  expect(first).toBeLessThan(second);
  expect(push(queue, 5).sendRequest).toHaveBeenCalledOnce();
});

test("held requests fail with their connection", () => {
  const rejected = createQueue();
  rejected.hold();
  const cut = push(rejected, 1);
  rejected.rejectAll(new Error("cut"));
  expect(cut.reject).toHaveBeenCalledOnce();
  const gone = createQueue({ isConnected: () => false });
  gone.hold();
  const closed = push(gone, 1);
  gone.release();
  expect(closed.reject).toHaveBeenCalledOnce();
  expect(closed.sendRequest).not.toHaveBeenCalled();
});

test("a request that takes too long is reported once, after it was rejected; one with a response never", async () => {
  const queue = createQueue({ isConnected: () => true });
  const onTimedOut = vi.fn<() => void>();
  Object.assign(queue, { onTimedOut });
  queue.scheduleRequestTimeoutCheck();
  push(queue, 1);
  queue.fulfillRequest({ correlationId: 1, payload: EMPTY, size: 0 });
  await vi.advanceTimersByTimeAsync(40_000);
  expect(onTimedOut).not.toHaveBeenCalled();
  const { reject } = push(queue, 2);
  await vi.advanceTimersByTimeAsync(29_000);
  expect(onTimedOut).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(3_000);
  expect(reject).toHaveBeenCalledOnce();
  expect(onTimedOut).toHaveBeenCalledOnce();
  queue.destroy();
});
