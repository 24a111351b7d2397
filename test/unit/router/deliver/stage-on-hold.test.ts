// The queue of a destination, which is on hold while its endpoints are unavailable, and the retries that overtake it.

import { expect, onTestFinished, test } from "vitest";
import { type Delivery, deliveryHeaders } from "../../../../src/domain/delivery.ts";
import type { MessageId } from "../../../../src/domain/ids.ts";
import type { WebhookDestination } from "../../../../src/router/destinations/webhook/settings.ts";
import { headerTexts } from "../../../support/build/calls.ts";
import { deliveryOf, webhookDestination } from "../../../support/build/webhook-destination.ts";
import {
  CRM,
  DeliverWorld,
  HOUR_MS,
  idOf,
  RETRY_DELAYS_MS,
  topics,
} from "../../../support/worlds/deliver-world.ts";
import type { ScriptedResponse, Sent } from "../../../support/worlds/scripted-http.ts";

const A = "https://a.example.com/hook";
const B = "https://b.example.com/hook";
const S = 1_000;
const MINUTE_MS = 60 * S;

/** Runs the deliver and delay stages for one destination. Requests contain the message ID. */
async function worldOf(
  given: Partial<WebhookDestination> & { readonly urls?: readonly string[] },
  respond: (sent: Sent, sinceStartMs: number) => ScriptedResponse,
) {
  const destination = webhookDestination({ urls: [A], messageIdHeader: true, ...given });
  const world: DeliverWorld = new DeliverWorld({
    destinations: [destination],
    respond: (sent) => respond(sent, sent.atMs - startMs),
  });
  const startMs = world.clock.nowMs();
  const stages = [await world.startDeliver(), await world.startDelay()];
  const stop = async () => {
    for (const stage of stages.splice(0)) await world.stop(stage);
  };
  onTestFinished(stop);
  return { world, startMs, stop };
}

const numberOf = (sent: Sent) => Number(idOf(sent).slice(1));

function accepted(world: DeliverWorld): Set<unknown> {
  const done = world.attempts().filter(({ decision }) => decision === "accepted");
  return new Set(done.map(({ messageId }) => messageId));
}

/** Returns the deliveries that were written to delay topics, in any order. */
function scheduledRetries(world: DeliverWorld) {
  return RETRY_DELAYS_MS.flatMap((delayMs) =>
    world.cluster.records(topics.delays(delayMs)).map(headerTexts),
  );
}

test.each([5, 50])(
  "after 8 s of 503, each after %i ms, all of 10,000 are accepted within 20 s of the recovery",
  async (afterMs) => {
    const { world } = await worldOf({}, (_sent, sinceMs) => ({
      status: sinceMs < 8 * S ? 503 : 200,
      afterMs,
    }));
    world.calls(10_000);
    await world.clock.advance(28 * S);
    expect(accepted(world).size).toBe(10_000);
    expect(world.deadLetters()).toEqual([]);
  },
);

test("while its endpoint fails a queue is on hold: none is scheduled for retry without an attempt, and lag shows them", async () => {
  const { world } = await worldOf({ concurrency: 8 }, () => ({
    status: 503,
    afterMs: 100,
  }));
  world.calls(2_000);
  await world.clock.advance(30 * MINUTE_MS);
  const scheduled = scheduledRetries(world);
  expect(scheduled.length).toBe(world.http.sent.length);
  expect(scheduled.filter((texts) => texts["switchyard-attempt"] === undefined)).toEqual([]);
  const attempted = new Set(world.http.sent.map(idOf));
  // There is a second of failures, then a probe now and then.
  expect(attempted.size).toBeLessThan(150);
  const asked = world.kafka.admin.committed("sw.deliver.crm", topics.deliveries(CRM));
  await world.clock.advance(S);
  const [committed] = await asked;
  expect(committed?.offset).toBeLessThanOrEqual(attempted.size);
});

test("an outage of six hours costs what was attempted before its end, each ten times; the rest goes out in order", async () => {
  const { world } = await worldOf({ concurrency: 8 }, (_sent, sinceMs) => ({
    status: sinceMs < 6 * HOUR_MS ? 503 : 200,
    afterMs: 100,
  }));
  world.calls(1_500, { user: (call) => `u${call % 100}` });
  await world.clock.advance(6 * HOUR_MS + 10 * MINUTE_MS);
  const deadLetters = world.deadLetters();
  expect(deadLetters.length).toBeGreaterThan(0);
  for (const deadLetter of deadLetters) expect(deadLetter["switchyard-attempt"]).toBe("10");
  const expired = new Set(deadLetters.map((deadLetter) => deadLetter["switchyard-message-id"]));
  // Deliveries that were attempted late in the outage are still awaiting their retry.
  await world.clock.advance(HOUR_MS);
  expect(accepted(world).size + expired.size).toBe(1_500);
  const attemptsOf = Map.groupBy(world.http.sent, idOf);
  const once = world.http.sent.filter((sent) => attemptsOf.get(idOf(sent))?.length === 1);
  expect(once.length).toBeGreaterThan(800);
  const byKey = Map.groupBy(
    once.map((sent) => numberOf(sent)),
    (id) => id % 100,
  );
  for (const ids of byKey.values()) expect(ids).toEqual(ids.toSorted((a, b) => a - b));
});

test("after 20 minutes of an endpoint that hangs a long queue goes out at the pace of the ramp", async () => {
  const waiting = 5_000;
  const { world } = await worldOf({}, (_sent, sinceMs) =>
    sinceMs < 20 * MINUTE_MS ? { cause: "timeout", afterMs: 5_000 } : { status: 200, afterMs: 20 },
  );
  world.calls(waiting);
  await world.clock.advance(20 * MINUTE_MS);
  const before = new Set(world.http.sent.map(idOf)).size;
  // 64 at a time for two rounds, then one at a time.
  expect(before).toBeLessThan(400);
  // The next probe is at most a minute away. Deliveries that were attempted late await their own retry.
  await world.clock.advance(MINUTE_MS + 15 * S);
  expect(accepted(world).size).toBeGreaterThan(waiting - before);
  await world.clock.advance(HOUR_MS);
  expect(accepted(world).size).toBe(waiting);
  expect(world.deadLetters()).toEqual([]);
});

test("behind the long queue of a slow endpoint retries are at most a second late", async () => {
  const random = (id: string) => (Number(id.slice(1)) * 7_919) % 10 === 0;
  const attempts = new Map<string, number>();
  const { world } = await worldOf({}, (sent) => {
    const id = idOf(sent);
    const attempt = (attempts.get(id) ?? 0) + 1;
    attempts.set(id, attempt);
    // This is two seconds on average.
    const afterMs = 1_000 + ((Number(id.slice(1)) * 104_729 + attempt * 331) % 2_000);
    return { status: random(id) && attempt < 3 ? 503 : 200, afterMs };
  });
  world.calls(10_000);
  await world.clock.advance(5 * MINUTE_MS);
  const dueAtMs = new Map(
    scheduledRetries(world).map((texts) => [
      `${texts["switchyard-message-id"]}/${texts["switchyard-attempt"]}`,
      Number(texts["switchyard-due-at"]),
    ]),
  );
  const seen = new Map<string, number>();
  const lateMs: number[] = [];
  for (const sent of world.http.sent) {
    const id = idOf(sent);
    const attempt = seen.get(id) ?? 0;
    seen.set(id, attempt + 1);
    const due = dueAtMs.get(`${id}/${attempt}`);
    if (due !== undefined) lateMs.push(sent.atMs - due);
  }
  lateMs.sort((a, b) => a - b);
  expect(lateMs.length).toBeGreaterThan(500);
  expect(lateMs[0]).toBeGreaterThanOrEqual(0);
  expect(lateMs[Math.floor(lateMs.length * 0.99)]).toBeLessThanOrEqual(1_000);
  expect(world.http.underWayMax).toBe(64);
});

test("calls that always fail keep no endpoint closed", async () => {
  const { world } = await worldOf({ concurrency: 4 }, (sent) => ({
    status: numberOf(sent) < 60 ? 500 : 200,
    afterMs: 50,
  }));
  world.calls(1_000);
  await world.clock.advance(10 * MINUTE_MS);
  expect(accepted(world).size).toBe(940);
  expect(world.deadLetters()).toEqual([]);
});

test("while a circuit is open retries go one at a time, and none of the queue alongside them", async () => {
  const { world } = await worldOf({ concurrency: 16 }, () => ({
    status: 503,
    afterMs: 200,
  }));
  world.calls(500);
  await world.clock.advance(3 * S);
  world.http.underWayMax = 0;
  const before = world.http.sent.length;
  await world.clock.advance(MINUTE_MS);
  expect(world.http.underWayMax).toBe(1);
  expect(world.http.sent.length - before).toBeGreaterThan(50);
});

test("Retry-After puts the queue on hold, and lets it continue when it is over", async () => {
  const { world, startMs } = await worldOf({ concurrency: 4 }, (_sent, sinceMs) =>
    sinceMs < S ? { status: 429, retryAfter: "60" } : 200,
  );
  world.calls(100);
  await world.clock.advance(50 * S);
  const first = world.http.sent.length;
  expect(first).toBeLessThan(10);
  await world.clock.advance(15 * S);
  const later = world.http.sent.slice(first);
  expect(later).toHaveLength(100 - first);
  for (const { atMs } of later) expect(atMs - startMs).toBeGreaterThanOrEqual(60 * S);
  expect(scheduledRetries(world)).toHaveLength(first);
});

test.each([
  ["paused", { paused: true }],
  ["disabled", { enabled: false }],
] as const)(
  "%s: the queue waits, retries too, and windows that end meanwhile are reported apart",
  async (because, still) => {
    const { world } = await worldOf(still, () => 200);
    world.calls(50);
    const returned = (number: number, leftMs: number) => {
      const delivery = deliveryOf({
        messageId: `r-${number}` as MessageId,
        attempt: 3,
        retryCount: 3,
        firstAttemptAtMs: world.clock.nowMs() - 4 * HOUR_MS + leftMs,
      });
      const value = Buffer.from('{"type":"track","event":"e","userId":"u"}');
      const headers = deliveryHeaders(delivery);
      world.cluster.append({ topic: topics.retries(CRM), key: null, value, headers });
    };
    for (let number = 0; number < 400; number += 1) returned(number, HOUR_MS);
    await world.clock.advance(HOUR_MS - 5 * S);
    expect(world.deadLetters()).toEqual([]);
    await world.clock.advance(15 * S);
    const deadLetters = world.deadLetters();
    expect(deadLetters).toHaveLength(400);
    for (const deadLetter of deadLetters) {
      expect(deadLetter["switchyard-reason"]).toBe("expired");
      expect(deadLetter["switchyard-error"]).toContain(`the destination was ${because}`);
      const failedAtMs = Number(deadLetter["switchyard-failed-at"]);
      expect(failedAtMs).toBeGreaterThan(
        Number(deadLetter["switchyard-first-attempt-at"]) + 4 * HOUR_MS,
      );
    }
    expect(world.http.sent).toEqual([]);
    expect(scheduledRetries(world)).toEqual([]);
    const text = await world.metrics.text();
    expect(text).toContain(
      `switchyard_destination_on_hold{destination="crm",reason="${because}"} 1`,
    );
    expect(text).toContain(
      `switchyard_deliveries_expired_while_due_total{destination="crm",reason="${because}"} 400`,
    );
  },
);

test("a queue that was on hold continues after a restart where it was, in order", async () => {
  const first = await worldOf({ paused: true }, () => 200);
  first.world.calls(600, { user: (call) => `u${call % 10}` });
  await first.world.clock.advance(MINUTE_MS);
  await first.stop();
  expect(first.world.http.sent).toEqual([]);
  const { world } = first;
  world.destinations = [webhookDestination({ urls: [A], messageIdHeader: true })];
  const stage = await world.startDeliver();
  await world.clock.advance(MINUTE_MS);
  const byKey = Map.groupBy(
    world.http.sent.map((sent) => numberOf(sent)),
    (id) => id % 10,
  );
  expect(world.http.sent).toHaveLength(600);
  for (const ids of byKey.values()) expect(ids).toEqual(ids.toSorted((a, b) => a - b));
  await world.stop(stage);
});

test("every: one unavailable endpoint puts no queue on hold; its share is scheduled for retry for 2 minutes at most", async () => {
  const back = 40 * MINUTE_MS;
  const { world } = await worldOf(
    { urls: [A, B], deliver: "every", concurrency: 8 },
    ({ url }, sinceMs) => ({ status: url === A && sinceMs < back ? 503 : 200, afterMs: 50 }),
  );
  world.calls(400);
  await world.clock.advance(MINUTE_MS);
  const to = (url: string) => new Set(world.http.sent.filter((sent) => sent.url === url).map(idOf));
  expect(to(B).size).toBe(400);
  await world.clock.advance(back - MINUTE_MS);
  const unattempted = scheduledRetries(world).filter(
    (texts) => texts["switchyard-attempt"] === undefined,
  );
  expect(unattempted.length).toBeGreaterThan(400);
  for (const texts of unattempted) expect(texts["switchyard-endpoint"]).not.toBe("");
  // Deliveries that were never attempted there are returned within 2 minutes.
  const attempted = to(A);
  await world.clock.advance(3 * MINUTE_MS);
  expect(to(A).size).toBe(400);
  expect(attempted.size).toBeLessThan(400);
  await world.clock.advance(HOUR_MS);
  expect(world.deadLetters()).toEqual([]);
});

test("any: while one endpoint is unavailable the other gets everything, and no queue is on hold", async () => {
  const { world } = await worldOf({ urls: [A, B], concurrency: 8 }, ({ url }) => ({
    status: url === A ? 503 : 200,
    afterMs: 50,
  }));
  world.calls(1_000);
  await world.clock.advance(30 * S);
  expect(accepted(world).size).toBe(1_000);
  expect(scheduledRetries(world)).toEqual([]);
});

test.each([
  [A, B],
  [B, A],
])(
  "any: retries that are due while both endpoints have sent Retry-After go to %s as soon as it is available",
  async (first, last) => {
    const { world, startMs } = await worldOf({ urls: [A, B] }, ({ url }, sinceMs) => {
      if (sinceMs < 2 * S) return 500;
      if (url === last) return { status: 503, retryAfter: "3600" };
      return sinceMs < 15 * S ? { status: 503, retryAfter: "20" } : 200;
    });
    world.calls(15);
    await world.clock.advance(3 * S);
    world.calls(1);
    await world.clock.advance(MINUTE_MS);
    // The call that got both responses waits for the longer time.
    expect(accepted(world).size).toBe(15);
    const late = world.http.sent.filter(({ atMs }) => atMs - startMs > 15 * S);
    expect(new Set(late.map(({ url }) => url))).toEqual(new Set([first]));
  },
);

test("what waits in a retry delay is attempted, whatever its retry topic, with or without an attempt made", async () => {
  const { world } = await worldOf({}, () => 200);
  const nowMs = world.clock.nowMs();
  const old = { retryCount: 5, retryTopic: topics.deliveries(CRM), dueAtMs: nowMs + 10 * S };
  const firstAttemptAtMs = nowMs - 3 * HOUR_MS;
  const given = [
    { messageId: "tried", attempt: 3, firstAttemptAtMs },
    { messageId: "kept-waiting", firstAttemptAtMs: nowMs - 5 * HOUR_MS },
  ];
  for (const each of given) {
    const delivery = deliveryOf({ ...old, ...each } as Partial<Delivery>);
    const value = Buffer.from('{"type":"track","event":"e","userId":"u"}');
    const headers = deliveryHeaders(delivery);
    world.cluster.append({ topic: topics.delays(10_000), key: null, value, headers });
  }
  await world.clock.advance(15 * S);
  expect([...accepted(world)].sort()).toEqual(["kept-waiting", "tried"]);
  const returned = world.cluster.records(topics.retries(CRM)).map(headerTexts);
  expect(returned.map((texts) => texts["switchyard-message-id"])).toEqual(["tried"]);
});
