// The records of a key are found even if their topic has got more partitions since, and no partition is read that
// cannot contain them.

import { expect, test } from "vitest";
import { partitionOfKey } from "../../../../src/kafka/port.ts";
import { partitionsOfKeys, Scan } from "../../../../src/operator/timeline/scan.ts";
import { clockDriver } from "../../../support/clock/clock-driver.ts";
import { ManualClock } from "../../../support/clock/manual-clock.ts";
import { createPrng } from "../../../support/clock/prng.ts";
import { MemoryCluster } from "../../../support/memory-kafka/memory-kafka.ts";

const KEY = "m-1";
const among = (partitions: number) => partitionOfKey(Buffer.from(KEY), partitions);
const startsOf = (...offsets: readonly number[]) =>
  offsets.map((offset, partition) => ({ partition, offset }));

test.each([
  ["all were there", [7, 1, 9, 4, 1], [5]],
  ["the last one was there, others are quiet", [0, 0, 0, 0, 1], [5]],
  ["two were there, three may be new", [3, 8, 0, 0, 0], [2, 3, 4, 5]],
  ["two were there, and a quiet one in between", [3, 0, 8, 0, 0], [3, 4, 5]],
  ["nothing is known", [0, 0, 0], [1, 2, 3]],
  ["the topic has one", [0], [1]],
])("%s", (_, offsets, counts) => {
  expect(partitionsOfKeys([KEY], startsOf(...offsets), partitionOfKey)).toEqual(
    new Set(counts.map(among)),
  );
});

test("of several keys, those of each", () => {
  const other = partitionOfKey(Buffer.from("m-2"), 5);
  const found = partitionsOfKeys([KEY, "m-2"], startsOf(1, 1, 1, 1, 1), partitionOfKey);
  expect(found).toEqual(new Set([among(5), other]));
});

/** Creates a topic that had `before` partitions with earlier records, and now has five. */
function world(before: number) {
  const clock = new ManualClock();
  const cluster = new MemoryCluster({ clock, random: createPrng(1) });
  cluster.createTopic("t", 5);
  const append = (partition: number, key: string) =>
    cluster.append({ topic: "t", partition, key: Buffer.from(key), value: null, headers: [] });
  for (let partition = 0; partition < before; partition += 1) append(partition, "earlier");
  const look = async (sinceMs: number) => {
    const found: string[] = [];
    let read = 0;
    const onRead = (records: number) => {
      read += records;
    };
    const { signal } = new AbortController();
    const scan = new Scan({ kafka: cluster.connect(), signal, onRead });
    await scan.know(["t"]);
    await scan.since(["t"], sinceMs, [KEY], ({ key }) => {
      if (`${key}` === KEY) found.push(`${key}`);
    });
    return { found, read };
  };
  return { clock, append, look: (sinceMs: number) => clockDriver(clock).during(look(sinceMs)) };
}

test("a record from before partitions were added is found", async () => {
  expect(among(2)).not.toBe(among(5));
  const { clock, append, look } = world(2);
  await clock.advance(3_600_000);
  const sinceMs = clock.nowMs();
  append(among(2), KEY);
  append(among(5), "later");
  expect(await look(sinceMs)).toMatchObject({ found: [KEY] });
});

test("where no partition was added, one is read", async () => {
  const { clock, append, look } = world(5);
  await clock.advance(3_600_000);
  const sinceMs = clock.nowMs();
  append(among(5), KEY);
  for (let partition = 0; partition < 5; partition += 1) append(partition, "other");
  expect(await look(sinceMs)).toEqual({ found: [KEY], read: 2 });
});
