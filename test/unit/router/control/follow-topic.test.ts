// The table of follow-topic.ts, on a Kafka in memory.

import { expect, onTestFinished, test } from "vitest";
import type { Kafka } from "../../../../src/kafka/port.ts";
import { FollowedTopic } from "../../../../src/router/control/follow-topic.ts";
import { clockDriver } from "../../../support/clock/clock-driver.ts";
import { ManualClock } from "../../../support/clock/manual-clock.ts";
import { createPrng } from "../../../support/clock/prng.ts";
import { MemoryCluster } from "../../../support/memory-kafka/memory-kafka.ts";

const TOPIC = "sw.followed";

function world(kafkaOf: (kafka: Kafka) => Pick<Kafka, "admin" | "read" | "follow"> = (one) => one) {
  const clock = new ManualClock();
  const cluster = new MemoryCluster({ clock, random: createPrng(1) });
  cluster.createTopic(TOPIC, 1);
  const events: string[] = [];
  const write = (text: string) =>
    cluster.append({ topic: TOPIC, key: Buffer.from(text), value: Buffer.from("x"), headers: [] });
  const start = () => {
    const followed = new FollowedTopic({ kafka: kafkaOf(cluster.connect()), clock }, TOPIC, {
      startReading: (hasLost) => {
        events.push(hasLost ? "reads what lost records" : "reads");
        return {
          take: ({ key }) => void events.push(`stored ${key}`),
          done: () => void events.push("done"),
        };
      },
      take: (records) => {
        for (const { key } of records) events.push(`new ${key}`);
      },
      onFailed: (_, isLogged) => {
        if (!isLogged) events.push("failed");
        return true;
      },
    });
    onTestFinished(() => followed[Symbol.dispose]());
    return followed;
  };
  return { clock, cluster, driver: clockDriver(clock), events, write, start };
}

test("the topic is read whole, and then each record", async () => {
  const { clock, driver, events, write, start } = world();
  write("a");
  write("b");
  const followed = start();
  await driver.during(followed.read);
  write("c");
  await clock.advance(2_000);
  expect(events).toEqual(["reads", "stored a", "stored b", "done", "new c"]);
  expect(followed.error).toBeNull();
});

test("a topic that cannot be read is read again, whole, and the failure is reported once", async () => {
  let isRefused = true;
  const { clock, events, write, start } = world((kafka) => ({
    admin: kafka.admin,
    follow: (range) => kafka.follow(range),
    read: (range) => {
      if (isRefused) throw new Error("Not authorized");
      return kafka.read(range);
    },
  }));
  write("a");
  const followed = start();
  let isRead = false;
  void followed.read.then(() => {
    isRead = true;
  });
  await clock.advance(20_000);
  expect([followed.error, isRead]).toEqual(["Not authorized", false]);
  expect(events.filter((each) => each === "failed")).toHaveLength(1);
  isRefused = false;
  await clock.advance(6_000);
  expect([followed.error, isRead]).toEqual([null, true]);
  expect(events.slice(-3)).toEqual(["reads", "stored a", "done"]);
});

test("silence of the brokers is reported within 15 s, and what was written meanwhile is read", async () => {
  const { clock, cluster, driver, events, write, start } = world();
  const followed = start();
  await driver.during(followed.read);
  await clock.advance(30_000);
  expect(followed.error).toBeNull();
  cluster.goDown();
  await clock.advance(15_000);
  expect(followed.error).toBe("the brokers do not respond");
  await clock.advance(60_000);
  expect(events.filter((each) => each === "failed")).toHaveLength(1);
  cluster.comeUp();
  write("a");
  await clock.advance(2_000);
  expect(followed.error).toBeNull();
  expect(events.at(-1)).toBe("new a");
});

test("a topic that ends before what was read is reported as one that lost records", async () => {
  const { clock, cluster, driver, events, write, start } = world();
  for (const text of ["a", "b"]) write(text);
  const followed = start();
  await driver.during(followed.read);
  await driver.during(cluster.connect().admin.deleteTopics([TOPIC]));
  cluster.createTopic(TOPIC, 1);
  write("c");
  await clock.advance(6_000);
  expect(events.slice(-3)).toEqual(["reads what lost records", "stored c", "done"]);
});

test.each([
  ["shorter", ["c"]],
  ["longer", ["c", "d", "e"]],
])(
  "a recreated topic that is %s is reported once, even if it cannot be read at first",
  async (_, now) => {
    let failures = 0;
    const { clock, cluster, driver, events, write, start } = world((kafka) => ({
      admin: kafka.admin,
      read: async function* (range) {
        if (failures-- > 0) throw new Error("connection reset");
        yield* kafka.read(range);
      },
      follow: async function* (range) {
        for await (const records of kafka.follow(range)) {
          yield records;
          throw new Error("connection reset");
        }
      },
    }));
    for (const text of ["a", "b"]) write(text);
    const followed = start();
    await driver.during(followed.read);
    await driver.during(cluster.connect().admin.deleteTopics([TOPIC]));
    cluster.createTopic(TOPIC, 1);
    failures = 1;
    for (const text of now) write(text);
    await clock.advance(30_000);
    const readings = events.filter((each) => each.startsWith("reads"));
    expect(readings).toEqual(["reads", "reads what lost records", "reads"]);
    expect(events.slice(-now.length - 1)).toEqual([...now.map((text) => `stored ${text}`), "done"]);
  },
);
