/** What a user costs whose calls wait: facts instead of copies. The figures are in `docs/decisions/0064-strict-order.md`. */

import { expect, test } from "vitest";
import { ManualClock } from "../../support/clock/manual-clock.ts";
import { createPrng } from "../../support/clock/prng.ts";
import { MemoryCluster } from "../../support/memory-kafka/memory-kafka.ts";
import { Endpoint } from "./endpoint.ts";
import { Process } from "./process.ts";
import {
  DEAD_LETTERS,
  DELAY_TOPICS,
  FACTS,
  factOf,
  PARTITIONS,
  QUEUE,
  RETRIES,
  SECOND_MS,
} from "./setup.ts";
import { THE_DESIGN } from "./steps.ts";

const USER = "9f1c6a52-7d0e-4c1b-8a53-2f6b0e1d4c77";
const WAITING = 100;

test("a waiting delivery costs one fact, one tombstone and one read, however often the first one is retried", async () => {
  const clock = new ManualClock();
  const cluster = new MemoryCluster({ clock, random: createPrng(1) });
  for (const name of [QUEUE, FACTS]) cluster.createTopic(name, PARTITIONS);
  for (const name of [RETRIES, DEAD_LETTERS, ...DELAY_TOPICS]) cluster.createTopic(name, 1);
  const badUntilMs = new Map([[USER, clock.nowMs() + 30 * SECOND_MS]]);
  const manners = { failure: 0, rejection: 0, lostResponse: 0, badUntilMs };
  const endpoint = new Endpoint(clock, createPrng(2), manners);
  const controls = {
    isPaused: false,
    isOnHold: false,
    cancelledMs: 0,
    releasedMs: 0,
    isRetryTopicMissing: false,
  };
  const settings = {
    design: THE_DESIGN,
    onDeadLetter: "continue",
    blockedMax: 100,
    drainLimitMs: SECOND_MS,
    controls,
  } as const;
  const kafka = cluster.connect();
  new Process({ id: 0, clock, kafka, endpoint, settings, onStep: () => undefined });
  const append = () =>
    cluster.append({ topic: QUEUE, key: Buffer.from(USER), value: Buffer.from("{}"), headers: [] });
  append();
  clock.schedule(2 * SECOND_MS, () => {
    for (let count = 0; count < WAITING; count += 1) append();
  });
  await clock.advance(100 * SECOND_MS);

  const accepted = endpoint.attempts.filter(({ acceptedMs }) => acceptedMs !== null);
  expect(accepted).toHaveLength(WAITING + 1);
  const facts = cluster.records(FACTS);
  const count = (kind: string, isThere: boolean) =>
    facts.filter(({ key, value }) => factOf(`${key}`).kind === kind && (value !== null) === isThere)
      .length;
  expect([count("wait", true), count("wait", false)]).toEqual([WAITING, WAITING]);
  expect([count("retry", true), count("settled", true)]).toEqual([1, 1]);
  expect(Math.max(...facts.map(({ key }) => key?.length ?? 0))).toBeLessThan(60);
  // After 5 s, 15 s and 15 s: only the first delivery is copied.
  expect(cluster.records(RETRIES)).toHaveLength(3);
  expect(DELAY_TOPICS.flatMap((name) => cluster.records(name))).toHaveLength(3);
});
