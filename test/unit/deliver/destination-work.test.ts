// The work on a destination where its ports do not keep time as well as a manual clock does.

import { expect, test } from "vitest";

import type { HttpResult } from "../../../src/deliver/attempt.ts";
import { DestinationWork } from "../../../src/deliver/destination-work.ts";
import { deliveryHeaders } from "../../../src/domain/delivery.ts";
import type { IncomingRecord } from "../../../src/domain/record.ts";
import { topicNames } from "../../../src/domain/topics.ts";
import { deliveryOf, webhookDestination } from "../../support/build/webhook-destination.ts";

const START_MS = 1_800_000_000_000;
const FAILED: HttpResult = { kind: "response", status: 503, retryAfter: null, durationMs: 1 };

function recordAt(offset: number): IncomingRecord {
  const place = { topic: "sw.deliveries.crm", partition: 0, offset };
  const value = Buffer.from('{"type":"track","event":"e","userId":"u"}');
  const headers = deliveryHeaders(deliveryOf());
  return { ...place, key: null, value, headers, timestampMs: START_MS };
}

/** One destination, of which every request fails at once. Time and timers are the test's. */
function failing() {
  const time = { nowMs: START_MS };
  const timers: { readonly atMs: number; readonly then: () => void }[] = [];
  let sent = 0;
  const answers: (() => void)[] = [];
  const destination = webhookDestination({ concurrency: 1 });
  const policy = { delaysMs: [10_000], windowMs: 14_400_000 };
  const work = new DestinationWork(destination, policy, topicNames("sw."), {
    nowMs: () => time.nowMs,
    after: (ms, then) => timers.push({ atMs: time.nowMs + ms, then }),
    connections: {
      send: (_endpoint, _request, done) => {
        sent += 1;
        answers.push(() => done(FAILED));
      },
      update: () => undefined,
      close: () => Promise.resolve(),
    },
    write: (_replacements, ended) => answers.push(() => ended(true)),
    partitions: 2,
    onStart: () => undefined,
    onAttempted: () => undefined,
    onRounded: () => undefined,
    onBreaker: () => undefined,
  });
  const line = work.own({ finish: () => undefined }, "line");
  const answerAll = () => {
    for (let next = answers.shift(); next !== undefined; next = answers.shift()) next();
  };
  return { time, timers, work, line, answerAll, sent: () => sent };
}

test("a timer that is early does not leave a held line for good", () => {
  const { time, timers, line, answerAll, sent, work } = failing();
  line.take(Array.from({ length: 19 }, (_, offset) => recordAt(offset)));
  answerAll();
  time.nowMs += 1_000;
  line.take([recordAt(19), recordAt(20)]);
  answerAll();
  expect(work.hold()?.because).toBe("breaker");
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
