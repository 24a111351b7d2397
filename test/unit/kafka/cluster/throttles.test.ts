// The table of src/kafka/cluster/connection.ts.

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Throttles } from "../../../../src/kafka/cluster/connection.ts";
import { LogLines } from "../../../support/log/log-lines.ts";

const A = { broker: "a:1", request: "Fetch" };
const B = { broker: "b:2", request: "Heartbeat" };

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function create() {
  const lines = new LogLines();
  const throttles = new Throttles(lines.log, { nowMs: () => Date.now() });
  return { throttles, logged: () => lines.lines.map(({ fields }) => fields) };
}

test("each broker is logged at once, and once a minute with the sum", () => {
  const { throttles, logged } = create();
  throttles.throttled({ ...A, throttleMs: 100 });
  throttles.throttled({ ...B, throttleMs: 300 });
  for (let second = 0; second < 59; second += 1) {
    vi.advanceTimersByTime(1_000);
    throttles.throttled({ ...A, throttleMs: 1_000 });
  }
  expect(logged()).toEqual([
    { ...A, throttleMs: 100, sumMs: 100 },
    { ...B, throttleMs: 300, sumMs: 300 },
  ]);
  vi.advanceTimersByTime(1_000);
  throttles.throttled({ ...A, throttleMs: 500 });
  expect(logged().slice(2)).toEqual([{ ...A, throttleMs: 500, sumMs: 59_500 }]);
  expect([...throttles.totalsMs()]).toEqual([
    ["a:1", 59_600],
    ["b:2", 300],
  ]);
});

test("a broker counts as throttling until 5 s after the throttle time", () => {
  const { throttles } = create();
  expect([throttles.isThrottled(), throttles.isThrottled("a:1")]).toEqual([false, false]);
  throttles.throttled({ ...A, throttleMs: 2_000 });
  vi.advanceTimersByTime(6_999);
  const seen = () => ["a:1", "b:2", undefined].map((broker) => throttles.isThrottled(broker));
  expect(seen()).toEqual([true, false, true]);
  vi.advanceTimersByTime(1);
  expect(seen()).toEqual([false, false, false]);
});
