// The rows of the table in src/kafka/broker/request-queue.ts.

import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { type Queued, RequestQueue } from "../../../../src/kafka/broker/request-queue.ts";

interface Named extends Queued {
  readonly name: string;
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function world() {
  const started: string[] = [];
  const failed: string[] = [];
  const queue = new RequestQueue<Named>(({ name }) => started.push(name));
  const add = (name: string): Named => {
    const reject = (error: Error) => void failed.push(`${name}: ${error.message}`);
    const sent = { name, dueMs: performance.now() + 30_000, reject };
    queue.add(sent);
    return sent;
  };
  return { queue, add, started, failed };
}

test("requests are sent at once, however many have no response yet", () => {
  const { add, started } = world();
  for (const name of ["a", "b", "c"]) add(name);
  expect(started).toEqual(["a", "b", "c"]);
});

test("after a throttle time, one request is sent at a time until a response has none", () => {
  const { queue, add, started } = world();
  const [first, second] = [add("a"), add("b")];
  queue.finish(first, 500);
  const third = add("c");
  add("d");
  expect(started).toEqual(["a", "b"]);
  expect([queue.hasPending, queue.isThrottled, queue.throttledForMs]).toEqual([true, true, 500]);
  queue.finish(second, 200);
  vi.advanceTimersByTime(499);
  expect(started).toEqual(["a", "b"]);
  vi.advanceTimersByTime(1);
  expect(started).toEqual(["a", "b", "c"]);
  vi.advanceTimersByTime(5_000);
  expect(started).toHaveLength(3);
  queue.finish(third, 0);
  expect(started).toEqual(["a", "b", "c", "d"]);
  add("e");
  expect(started.at(-1)).toBe("e");
});

test("throttle times are added to the time limits of all requests", () => {
  const { queue, add } = world();
  const [first, second] = [add("a"), add("b")];
  queue.finish(first, 40_000);
  vi.advanceTimersByTime(60_000);
  expect(queue.late()).toBe(undefined);
  vi.advanceTimersByTime(10_001);
  expect(queue.late()).toBe(second);
});

test("requests wait while the connection authenticates", () => {
  const { queue, add, started } = world();
  queue.hold();
  add("a");
  add("b");
  expect(started).toEqual([]);
  queue.release();
  expect(started).toEqual(["a", "b"]);
});

test("when the connection ends, all of its requests fail", () => {
  const { queue, add, failed, started } = world();
  const first = add("a");
  queue.finish(first, 1_000);
  add("b");
  queue.fail(new Error("closed"));
  expect(failed).toEqual(["b: closed"]);
  vi.advanceTimersByTime(2_000);
  expect(started).toEqual(["a"]);
});
