// The delay stage and the brokers: a waiting record is processed when the record that replaces it is written, and a
// record that brokers reject becomes a dead letter. A process that was frozen for longer than its session must not return
// records that others own by now.

import { expect, test } from "vitest";

import type { DestinationId } from "../../../../src/domain/ids.ts";
import { headerTexts } from "../../../support/build/calls.ts";
import { DELAY_MS, delaying, destination, topics } from "../../../support/worlds/delay-world.ts";

const gone = { destination: "gone" as DestinationId };
const large = { value: Buffer.alloc(2_000), headers: [["trace", Buffer.alloc(2_000)]] as const };
/** The maximum size of a record in `dead-letters` in these tests. */
const DEAD_LETTER_BYTES = 1_000;

function small(...names: readonly string[]) {
  return (topic: string) => (names.includes(topic) ? DEAD_LETTER_BYTES : 1_048_576);
}

test("what is due is not done before its write is acknowledged", async () => {
  const world = await delaying();
  await world.clock.advance(500);
  world.cluster.delayWrites(20_000);
  world.scheduleRetry("m1");
  await world.clock.advance(10_000);
  expect(await world.committed()).toEqual([]);
  await world.clock.advance(30_000);
  expect(world.returned()).toHaveLength(1);
  expect(await world.committed()).toEqual([1]);
  // Slow brokers cause lateness.
  const late = /switchyard_delay_overdue_seconds_sum\{delay="1s"\} (\S+)/;
  expect(Number(late.exec(await world.metrics.text())?.[1])).toBeGreaterThan(1);
});

test("what cannot be written is not done: the stage ends", async () => {
  const refusal = new Error("the brokers take nothing");
  const world = await delaying(small(), { send: () => Promise.reject(refusal) });
  world.scheduleRetry("m1");
  await world.clock.advance(10_000);
  expect(world.failures).toEqual([refusal]);
  expect(await world.committed()).toEqual([]);
});

test("a record goes back to its destination's topic, whatever topic it names", async () => {
  const retryTopic = "old.deliveries.crm";
  const world = await delaying();
  world.cluster.createTopic(retryTopic, 1);
  world.scheduleRetry("m1", { delivery: { retryTopic } });
  await world.clock.advance(10_000);
  expect(world.cluster.records(retryTopic)).toEqual([]);
  expect(world.returned()).toHaveLength(1);
});

test("a destination that came with a rollout gets its records back: its topic is enough", async () => {
  const world = await delaying();
  const fresh = "fresh" as DestinationId;
  world.cluster.createTopic(topics.deliveries(fresh), 1);
  world.scheduleRetry("m1", { delivery: { destination: fresh } });
  world.scheduleRetry("m2", { delivery: gone });
  await world.clock.advance(10_000);
  expect(world.cluster.records(topics.deliveries(fresh))).toHaveLength(1);
  expect(
    world.deadLetters().map((deadLetter) => headerTexts(deadLetter)["switchyard-destination"]),
  ).toEqual(["gone"]);
});

test("a dead letter the brokers reject is written without its value, and the retry delay continues", async () => {
  const world = await delaying(small(topics.deadLetters));
  world.scheduleRetry("m1", { delivery: gone, ...large });
  world.scheduleRetry("m2", { delivery: gone });
  world.scheduleRetry("m3");
  await world.clock.advance(3 * DELAY_MS);
  expect(world.failures).toEqual([]);
  expect(world.returned()).toHaveLength(1);
  const [kept, bare] = world.deadLetters();
  expect(kept).toMatchObject({ value: Buffer.from("{}") });
  expect(bare).toMatchObject({ key: null, value: null });
  const headers = headerTexts(bare ?? { headers: [] });
  expect(headers).toMatchObject({
    "switchyard-stage": "delay",
    "switchyard-reason": "unknown-destination",
    "switchyard-error": expect.stringContaining("the value (2000 bytes)"),
    "switchyard-topic": topics.delays(DELAY_MS),
    "switchyard-partition": "0",
    "switchyard-offset": "0",
    "switchyard-destination": "gone",
    "switchyard-message-id": "m1",
  });
  expect(headers).not.toHaveProperty("trace");
  expect(await world.metrics.text()).toContain(
    'switchyard_dead_letters_total{stage="delay",reason="unknown-destination",destination="gone"} 2',
  );
});

test("what its own topic does not take is a dead letter with its value", async () => {
  const world = await delaying(small(topics.deliveries(destination)));
  world.scheduleRetry("m1", large);
  world.scheduleRetry("m2");
  await world.clock.advance(3 * DELAY_MS);
  expect(world.failures).toEqual([]);
  expect(world.returned()).toHaveLength(1);
  const [deadLetter] = world.deadLetters();
  expect(deadLetter).toMatchObject({ value: large.value });
  expect(headerTexts(deadLetter ?? { headers: [] })).toMatchObject({
    "switchyard-reason": "too-large",
    "switchyard-error": expect.stringMatching(/^too large for sw\.deliveries\.d1: /),
    "switchyard-message-id": "m1",
  });
});

test("what neither of them takes is a dead letter without its value", async () => {
  const world = await delaying(small(topics.deliveries(destination), topics.deadLetters));
  world.scheduleRetry("m1", large);
  await world.clock.advance(3 * DELAY_MS);
  expect(world.failures).toEqual([]);
  const [deadLetter] = world.deadLetters();
  expect(deadLetter).toMatchObject({ value: null });
  expect(headerTexts(deadLetter ?? { headers: [] })).toMatchObject({
    "switchyard-reason": "too-large",
    "switchyard-offset": "0",
  });
});

test("a topic of dead letters that takes nothing at all ends the stage", async () => {
  const world = await delaying((topic) => (topic === topics.deadLetters ? 10 : 1_048_576));
  world.scheduleRetry("m1", { delivery: gone });
  await world.clock.advance(3 * DELAY_MS);
  expect(world.failures.map(({ message }) => message)).toEqual([
    expect.stringContaining("Raise the topic's max.message.bytes"),
  ]);
});

test("while the partition is certainly ours, what is due is returned", async () => {
  const { clock, scheduleRetry, returned } = await delaying();
  scheduleRetry("m1");
  await clock.advance(DELAY_MS - 1);
  expect(returned()).toHaveLength(0);
  await clock.advance(200);
  expect(returned()).toHaveLength(1);
});

test("when it may be another's, nothing is", async () => {
  const { clock, lease, scheduleRetry, returned, failures } = await delaying();
  scheduleRetry("m1");
  await clock.advance(DELAY_MS / 2);
  lease.isOurs = false;
  await clock.advance(10 * DELAY_MS);
  expect(returned()).toHaveLength(0);
  expect(failures).toEqual([]);
});
