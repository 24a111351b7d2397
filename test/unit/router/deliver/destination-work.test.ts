// The work of a destination whose ports are less exact than a manual clock.

import { expect, test } from "vitest";
import { deliveryHeaders } from "../../../../src/domain/delivery.ts";
import type { IncomingRecord } from "../../../../src/domain/record.ts";
import { topicNames } from "../../../../src/domain/topics.ts";
import { DestinationWork } from "../../../../src/router/deliver/destination-work.ts";
import type { SendResult } from "../../../../src/router/destinations/port.ts";
import type { WebhookDestination } from "../../../../src/router/destinations/webhook/settings.ts";
import { webhookTransport } from "../../../../src/router/destinations/webhook/transport.ts";
import { deliveryOf, webhookDestination } from "../../../support/build/webhook-destination.ts";

const START_MS = 1_800_000_000_000;
const FAILED: SendResult = { kind: "response", status: 503, retryAfter: null, durationMs: 1 };

const ACCEPTED: SendResult = { ...FAILED, status: 200 };

function recordAt(offset: number): IncomingRecord {
  const place = { topic: "sw.deliveries.crm", partition: 0, offset };
  const value = Buffer.from('{"type":"track","event":"e","userId":"u"}');
  const headers = deliveryHeaders(deliveryOf());
  return { ...place, key: null, value, headers, timestampMs: START_MS };
}

/** Creates one destination, which responds to each request in the same way. The test controls time and timers. */
function worldOf(destination: WebhookDestination, response: SendResult) {
  const time = { nowMs: START_MS };
  const timers: { readonly atMs: number; readonly then: () => void }[] = [];
  let sent = 0;
  const responses: (() => void)[] = [];
  const policy = { retryDelaysMs: [10_000], retryWindowMs: 14_400_000 };
  const work = new DestinationWork(destination, policy, topicNames("sw."), {
    nowMs: () => time.nowMs,
    after: (ms, then) => timers.push({ atMs: time.nowMs + ms, then }),
    sender: webhookTransport({
      trust: () => false,
      open: () => ({
        send: (_endpoint, _request, done) => {
          sent += 1;
          responses.push(() => done(response));
        },
        update: () => undefined,
        close: () => Promise.resolve(),
      }),
    }).open(destination),
    write: (_replacements, ended) => responses.push(() => ended(true)),
    partitions: 2,
    onStart: () => undefined,
    onResult: () => undefined,
    onUnreadable: () => undefined,
    onAttempted: () => undefined,
    onRounded: () => undefined,
    onCircuit: () => undefined,
  });
  const finished: number[] = [];
  const finish = (offset: number) => finished.push(offset);
  const line = work.own({ finish }, "queue");
  const retries = work.own({ finish }, "retry");
  const respondToAll = () => {
    for (let next = responses.shift(); next !== undefined; next = responses.shift()) next();
  };
  return { time, timers, work, line, retries, respondToAll, finished, sent: () => sent };
}

test("a timer that is early does not leave a queue on hold for good", () => {
  const { time, timers, line, respondToAll, sent, work } = worldOf(
    webhookDestination({ concurrency: 1 }),
    FAILED,
  );
  line.take(Array.from({ length: 19 }, (_, offset) => recordAt(offset)));
  respondToAll();
  time.nowMs += 1_000;
  line.take([recordAt(19), recordAt(20)]);
  respondToAll();
  expect(work.hold()?.reason).toBe("circuit-open");
  expect(sent()).toBe(20);
  const [first] = timers.splice(0);
  expect(first?.atMs).toBe(time.nowMs + 5_000);
  time.nowMs = (first?.atMs ?? 0) - 1;
  first?.then();
  expect(sent()).toBe(20);
  const [again] = timers.splice(0);
  expect(again?.atMs).toBe(first?.atMs);
  time.nowMs = again?.atMs ?? 0;
  again?.then();
  expect(sent()).toBe(21);
});

test("retries that wait for the end of a pause, and for their rate then, all go", () => {
  const destination = webhookDestination({ requestsPerSecond: 2 });
  const paused = { ...destination, paused: true };
  const { time, timers, work, retries, respondToAll, finished } = worldOf(paused, ACCEPTED);
  const offsets = Array.from({ length: 8 }, (_, offset) => offset);
  retries.take(offsets.map(recordAt));
  expect(finished).toEqual([]);
  work.update(destination);
  // The same settings are applied again, as in a reload of the configuration.
  work.update(destination);
  for (let next = timers.shift(); next !== undefined; next = timers.shift()) {
    respondToAll();
    time.nowMs = Math.max(time.nowMs, next.atMs);
    next.then();
    timers.sort((one, other) => one.atMs - other.atMs);
  }
  respondToAll();
  expect(finished.toSorted((one, other) => one - other)).toEqual(offsets);
});
