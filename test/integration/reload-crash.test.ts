// The program is killed in the middle of a change of its destinations, while calls are published. The next start uses
// the file: nothing is lost, topics are created, and new destinations get their calls.

import { renameSync, writeFileSync } from "node:fs";
import { setTimeout as timer } from "node:timers/promises";
import { beforeEach, expect, onTestFinished, test } from "vitest";

import { type UsedKafka, useKafka } from "../support/kit/kafka.ts";
import { configOf, type UsedProcess, useProgram } from "../support/kit/program.ts";
import { type Receiver, useReceiver } from "../support/kit/receiver.ts";

const EVERY_MS = 10;
const SLOW_MS = 500;
/** The number of calls that wait for a destination. At its rate, they take half a minute. */
const LINE_MIN = 120;

let own: UsedKafka;
let receiver: Receiver;

beforeEach(async () => {
  own = useKafka("reload-crash");
  receiver = await useReceiver();
});

function configuration(ids: readonly string[]): string {
  const hook = (id: string) => ({ concurrency: 2, endpoints: [{ url: `${receiver.url}/${id}` }] });
  return configOf({
    kafka: { brokers: own.brokers, topicPrefix: own.prefix, partitions: 2, sessionTimeout: "6s" },
    destinations: Object.fromEntries(ids.map((id) => [id, hook(id)])),
  });
}

const arrived = (id: string) => new Set(receiver.ids(`/${id}`));
const missing = (id: string, wanted: readonly string[]) => {
  const there = arrived(id);
  return wanted.filter((messageId) => !there.has(messageId));
};

/** Publishes calls until stopped. `published` are the message IDs of those that are in the topic. */
function traffic() {
  const published: string[] = [];
  let isOver = false;
  const flow = async () => {
    while (!isOver) {
      published.push(...(await own.publish(1, { users: 20 })));
      await timer(EVERY_MS);
    }
  };
  const flowing = flow();
  const stop = () => {
    isOver = true;
    return flowing;
  };
  onTestFinished(stop);
  return { published, stop };
}

async function start(ids: readonly string[]) {
  const { file, ready } = useProgram(configuration(ids));
  const configure = (next: readonly string[]) => {
    writeFileSync(`${file}.tmp`, configuration(next));
    renameSync(`${file}.tmp`, file);
  };
  return { program: await ready(), configure, restart: () => ready() };
}

const ADDED_MOMENTS: Readonly<Record<string, (program: UsedProcess) => Promise<unknown>>> = {
  "when the file has been written": () => Promise.resolve(),
  "when its topics are made": (program) => program.logged("topics.created"),
  "when it has been taken over": (program) => program.logged("config.applied"),
  "when it gets its first call": () => expect.poll(() => arrived("new").size).toBeGreaterThan(0),
};

test.each(Object.keys(ADDED_MOMENTS))("killed while a destination is added, %s", async (moment) => {
  const { program, configure, restart } = await start(["crm"]);
  const { published, stop } = traffic();
  await expect.poll(() => arrived("crm").size).toBeGreaterThan(20);
  configure(["crm", "new"]);
  await ADDED_MOMENTS[moment]?.(program);
  await program.kill();
  await restart();
  const names = await own.kafka.admin.topics();
  expect(names).toEqual(
    expect.arrayContaining([`${own.prefix}deliveries.new`, `${own.prefix}retries.new`]),
  );
  const before = published.length;
  await expect.poll(() => published.length).toBeGreaterThan(before + 50);
  await stop();
  await expect.poll(() => missing("crm", published)).toEqual([]);
  await expect.poll(() => missing("new", published.slice(before))).toEqual([]);
});

const REMOVED_MOMENTS: Readonly<Record<string, (program: UsedProcess) => Promise<unknown>>> = {
  "when the file has been written": () => Promise.resolve(),
  "while its attempts in flight end": (program) => program.logged("config.applied"),
};

test.each(Object.keys(REMOVED_MOMENTS))(
  "killed while a destination is removed, %s",
  async (moment) => {
    receiver.slow("/gone", SLOW_MS);
    const { program, configure, restart } = await start(["crm", "gone"]);
    const first = traffic();
    await expect.poll(() => arrived("gone").size).toBeGreaterThan(2);
    // Its queue is long, and responses take a long time.
    const line = () => first.published.length - arrived("gone").size;
    await expect.poll(line).toBeGreaterThan(LINE_MIN);
    const before = [...first.published];
    // One partition may be written much earlier than the other.
    const notCopied = async () => {
      const copied = new Set(await own.idsIn("deliveries.gone"));
      return before.filter((messageId) => !copied.has(messageId));
    };
    await expect.poll(notCopied).toEqual([]);
    expect(arrived("gone").size).toBeLessThan(before.length);
    configure(["crm"]);
    await REMOVED_MOMENTS[moment]?.(program);
    await program.kill();
    await restart();
    const after = first.published.length;
    await expect.poll(() => first.published.length).toBeGreaterThan(after + 50);
    await first.stop();
    await expect.poll(() => missing("crm", first.published)).toEqual([]);
    // Its queue has waited.
    receiver.slow("/gone", 0);
    configure(["crm", "gone"]);
    await expect.poll(() => missing("gone", before)).toEqual([]);
  },
);
