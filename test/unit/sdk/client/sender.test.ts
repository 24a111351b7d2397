import { expect, test } from "vitest";

import type { SendOutcome } from "../../../../src/sdk/client/retry.ts";
import { Sender } from "../../../../src/sdk/client/sender.ts";
import { ManualClock } from "../../../support/clock/manual-clock.ts";

const OK: SendOutcome = { kind: "response", status: 200, retryAfter: null, explanation: null };
const BUSY: SendOutcome = { ...OK, status: 503, retryAfter: "7" };
const CALL = { json: "{}", bytes: 2 };

interface Timer {
  readonly delayMs: number;
  isHeld: boolean;
  isOver: boolean;
}

function start(...outcomes: readonly SendOutcome[]) {
  const clock = new ManualClock();
  const sentAfterMs: number[] = [];
  const timers: Timer[] = [];
  const startMs = clock.nowMs();
  const sender = new Sender(
    {
      flushAt: 3,
      flushAfterMs: 5_000,
      attemptsMax: 3,
      queue: { callsMax: 10, maxBytes: 1_000_000 },
    },
    {
      nowMs: () => clock.nowMs(),
      random: () => 0,
      schedule: (delayMs, action) => {
        const timer: Timer = { delayMs, isHeld: false, isOver: false };
        timers.push(timer);
        const entry = clock.schedule(delayMs, () => {
          timer.isOver = true;
          action();
        });
        return {
          cancel: () => {
            timer.isOver = true;
            entry.cancel();
          },
          hold: (isHeld) => {
            timer.isHeld = isHeld;
          },
        };
      },
      post: () => {
        sentAfterMs.push(clock.nowMs() - startMs);
        return Promise.resolve(outcomes[sentAfterMs.length - 1] ?? OK);
      },
      lost: () => {},
      acknowledged: () => {},
      log: () => {},
    },
  );
  const running = () => timers.filter(({ isOver }) => !isOver);
  return { clock, sender, sentAfterMs, running };
}

test("a call is sent 5 s after the last flush, at once when that is over", async () => {
  const { clock, sender, sentAfterMs, running } = start();
  await clock.advance(1_000);
  sender.add(CALL);
  await clock.advance(3_999);
  expect(sentAfterMs).toEqual([]);
  await clock.advance(1);
  expect(sentAfterMs).toEqual([5_000]);
  await clock.advance(1_000);
  sender.add(CALL);
  await clock.advance(10_000);
  expect(sentAfterMs).toEqual([5_000, 10_000]);
  sender.add(CALL);
  await clock.advance(0);
  expect(sentAfterMs).toEqual([5_000, 10_000, 16_000]);
  expect(running()).toEqual([]);
});

test("flushAt calls are sent at once, what is beyond them waits for the timer", async () => {
  const { clock, sender, sentAfterMs } = start();
  for (let count = 0; count < 7; count += 1) sender.add(CALL);
  expect(sentAfterMs).toEqual([]);
  await clock.advance(0);
  expect(sentAfterMs).toEqual([0, 0]);
  expect(sender.count).toBe(1);
  await clock.advance(5_000);
  expect(sentAfterMs).toEqual([0, 0, 5_000]);
});

test("calls that fill a request are sent before there are flushAt of them", async () => {
  const { clock, sender, sentAfterMs } = start();
  sender.add({ json: "{}", bytes: 300_000 });
  sender.add({ json: "{}", bytes: 300_000 });
  await clock.advance(0);
  expect(sentAfterMs).toEqual([0]);
  expect(sender.count).toBe(1);
});

test("a timer keeps the process alive only while somebody waits", async () => {
  const { clock, sender, running } = start(BUSY, BUSY);
  sender.add(CALL);
  expect(running()).toMatchObject([{ delayMs: 5_000, isHeld: false }]);
  await clock.advance(5_000);
  expect(running()).toMatchObject([{ delayMs: 7_000, isHeld: false }]);
  const flushed = sender.flush();
  expect(running()).toMatchObject([{ delayMs: 7_000, isHeld: true }]);
  await clock.advance(14_000);
  await flushed;
  expect(running()).toEqual([]);
});

test("close waits no longer than it may, and leaves no timer", async () => {
  const { clock, sender, sentAfterMs, running } = start(BUSY);
  sender.add(CALL);
  const closed = sender.close(2_000);
  await clock.advance(2_000);
  await closed;
  expect(sentAfterMs).toEqual([0]);
  expect(sender.count).toBe(0);
  expect(running()).toEqual([]);
});
