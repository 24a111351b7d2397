// Posts to a webhook whose responses each test specifies, with a Kafka in memory, and the tables of webhook-sender.ts.

import { expect, test } from "vitest";
import type { IncomingRecord } from "../../../../src/domain/record.ts";
import { groupNames } from "../../../../src/domain/topics.ts";
import type { ConsumeOptions, Kafka } from "../../../../src/kafka/port.ts";
import { eventText, operatorEvent } from "../../../../src/operator/events/event.ts";
import {
  type Posted,
  postEvents,
  taskOf,
  waitBefore,
} from "../../../../src/operator/events/webhook-sender.ts";
import { clockDriver } from "../../../support/clock/clock-driver.ts";
import { ManualClock } from "../../../support/clock/manual-clock.ts";
import { createPrng } from "../../../support/clock/prng.ts";
import { MemoryCluster } from "../../../support/memory-kafka/memory-kafka.ts";
import { stageProcess } from "../../../support/worlds/stage-process.ts";

const TOPIC = "sw.operator-events";
const RETRY: Posted = { kind: "retry", cause: "503", retryAfterMs: null };

type OnAssigned = ConsumeOptions["onAssigned"];
type StageSettings = (onAssigned: OnAssigned) => OnAssigned;

class World {
  readonly clock = new ManualClock();
  readonly cluster = new MemoryCluster({ clock: this.clock, random: createPrng(7) });
  readonly posted: string[] = [];
  response: Posted = { kind: "accepted" };

  constructor() {
    this.cluster.createTopic(TOPIC, 1);
  }

  write(subject: string | null): void {
    const at = this.clock.nowMs();
    const value =
      subject === null
        ? null
        : Buffer.from(
            eventText(operatorEvent("/switchyard/sw.", "destination.paused", subject, at, {})),
          );
    this.cluster.append({ topic: TOPIC, key: Buffer.from("k"), value, headers: [] });
  }

  /** @param wraps the handler of the partition. */
  start(around: StageSettings = (onAssigned) => onAssigned) {
    const { deps, lines, metrics } = stageProcess(this.cluster, this.clock);
    const consume: Kafka["consume"] = (options) =>
      deps.kafka.consume({ ...options, onAssigned: around(options.onAssigned) });
    const kafka: Kafka = Object.create(deps.kafka, { consume: { value: consume } });
    const posts = postEvents(
      { ...deps, kafka },
      {
        topic: TOPIC,
        group: groupNames("sw.").operatorEvents,
        post: async ({ subject }) => {
          this.posted.push(subject);
          return this.response;
        },
      },
    );
    const said = (msg: string) => lines.filter((line) => line.msg === msg);
    return {
      posts,
      said,
      text: () => metrics.text(),
      stop: () => clockDriver(this.clock).during(stopped(posts)),
    };
  }
}

async function stopped(posts: AsyncDisposable): Promise<void> {
  await posts[Symbol.asyncDispose]();
}

test("events are posted in order, and a restart posts none again", async () => {
  const world = new World();
  for (const subject of ["a", null, "b"]) world.write(subject);
  const first = world.start();
  await world.clock.advance(30_000);
  await first.stop();
  world.write("c");
  const second = world.start();
  await world.clock.advance(30_000);
  expect(world.posted).toEqual(["a", "b", "c"]);
  expect(await second.text()).toContain(
    'switchyard_operator_event_posts_total{outcome="accepted"} 1\n',
  );
  await second.stop();
});

test("one that is not taken is posted again, before the next, also by another process", async () => {
  const world = new World();
  world.response = RETRY;
  world.write("a");
  world.write("b");
  const first = world.start();
  await world.clock.advance(60_000);
  expect(new Set(world.posted)).toEqual(new Set(["a"]));
  expect(world.posted.length).toBeGreaterThan(2);
  expect(first.posts.healthProblems()).toEqual([
    expect.stringMatching(/^the operator webhook has been failing since 20.*Z: 503$/),
  ]);
  expect(first.said("operator-webhook.failing")).toEqual([
    expect.objectContaining({ event: "destination.paused", subject: "a", cause: "503" }),
  ]);
  await first.stop();
  world.response = { kind: "accepted" };
  world.posted.length = 0;
  const second = world.start();
  await world.clock.advance(30_000);
  expect(world.posted).toEqual(["a", "b"]);
  expect(second.posts.healthProblems()).toEqual([]);
  await second.stop();
});

test("one that is rejected is abandoned, with a line", async () => {
  const world = new World();
  world.response = { kind: "rejected", cause: "410" };
  world.write("a");
  const { posts, said, stop } = world.start();
  await world.clock.advance(60_000);
  expect(world.posted).toEqual(["a"]);
  expect(said("operator-webhook.rejected")).toEqual([
    expect.objectContaining({ subject: "a", cause: "410" }),
  ]);
  expect(posts.healthProblems()).toEqual([]);
  await stop();
});

test("those of an outage of more than a day are passed over", async () => {
  const world = new World();
  world.response = RETRY;
  world.write("a");
  const { text, stop } = world.start();
  await world.clock.advance(25 * 3_600_000);
  world.response = { kind: "accepted" };
  world.posted.length = 0;
  world.write("b");
  await world.clock.advance(600_000);
  expect(world.posted).toEqual(["b"]);
  expect(await text()).toContain('switchyard_operator_event_posts_total{outcome="too-old"} 1\n');
  await stop();
});

test("an event that is handed over just when the one before is done does not wait for another", async () => {
  const world = new World();
  for (const subject of ["a", "b"]) world.write(subject);
  world.start((onAssigned) => (assigned) => {
    const { topic, partition, topicId, hold, isOurs } = assigned;
    const place = { topic, partition, topicId, hold, isOurs };
    const handler = onAssigned({
      ...place,
      finish: (offset) => {
        assigned.finish(offset);
        queueMicrotask(() => handler.take(later.splice(0)));
      },
    });
    const later: IncomingRecord[] = [];
    return {
      take: ([first, ...others]) => {
        later.push(...others);
        if (first !== undefined) handler.take([first]);
      },
      drain: () => handler.drain(),
    };
  });
  await world.clock.advance(30_000);
  expect(world.posted).toEqual(["a", "b"]);
});

const T = Date.UTC(2026, 2, 1, 9, 30);
const DAY_MS = 86_400_000;
const EVENT = operatorEvent("/switchyard/sw.", "destination.paused", "crm", T, { until: null });
const VALUE = Buffer.from(eventText(EVENT));

test.each([
  ["no value", null, T, "none"],
  ["none of ours", Buffer.from("{}"), T, "none"],
  ["older than a day", VALUE, T - DAY_MS - 1, "too-old"],
  ["a day old", VALUE, T - DAY_MS, "post"],
  ["of no known time", VALUE, -1, "post"],
])("an event with %s", (_name, value, timestampMs, kind) => {
  expect(taskOf({ value, timestampMs }, T).kind).toBe(kind);
});

test("it is posted as it lies on the topic", () => {
  expect(taskOf({ value: VALUE, timestampMs: T }, T)).toEqual({
    ...{ kind: "post", event: EVENT, text: VALUE.toString() },
  });
});

test.each([
  [1, null, 5_000],
  [2, null, 10_000],
  [3, 1_000, 20_000],
  [3, 60_000, 60_000],
  [3, DAY_MS, 3_600_000],
  [7, null, 300_000],
  [5_000, null, 300_000],
])("after %i posts, and a Retry-After of %s ms, it waits for %i ms", (tries, asked, waitMs) => {
  expect(waitBefore(tries, asked)).toBe(waitMs);
});
