// Deliveries that waited are read from the queue again.

import { expect, test } from "vitest";
import type { IncomingRecord } from "../../../../../src/domain/record.ts";
import type { ReadRange } from "../../../../../src/kafka/port.ts";
import { ReadBack } from "../../../../../src/router/deliver/order/read-back.ts";
import { orderKey } from "../../../../../src/router/order/facts.ts";
import { aRecord } from "../../../../support/build/calls.ts";
import { parsedLog } from "../../../../support/log/parsed-log.ts";

type Reading = readonly IncomingRecord[] | Error;

/** @param readings what each reading yields, in turn; the last one repeats. */
function readBackOf(...readings: readonly Reading[]) {
  const ranges: ReadRange[] = [];
  const stop = new AbortController();
  const { log, lines } = parsedLog();
  async function* readRange(range: ReadRange) {
    const reading = readings[Math.min(ranges.length, readings.length - 1)] ?? [];
    ranges.push(range);
    if (reading instanceof Error) throw reading;
    const wanted = reading.filter(({ offset }) => offset >= range.from && offset < range.to);
    if (wanted.length > 0) yield wanted;
  }
  const timer = { nowMs: () => 0, after: (_ms: number, then: () => void) => then() };
  const readBack = new ReadBack(
    { kafka: { read: readRange }, log, timer },
    "queue",
    3,
    stop.signal,
  );
  const read = (offset: number, end: number, user = "a") =>
    readBack.read(offset, end, orderKey({ key: Buffer.from(user) }) ?? "");
  return { readBack: read, ranges, stop, events: () => lines.map(({ msg }) => msg) };
}

function records(...keys: readonly string[]): readonly IncomingRecord[] {
  return keys.map((key, offset) => aRecord(offset, { offset, key: Buffer.from(key) }));
}

test("later deliveries of the user in the same response are not fetched again", async () => {
  const { readBack, ranges } = readBackOf(records("a", "b", "a", "a"));
  for (const offset of [0, 2, 3]) {
    expect(await readBack(offset, 4)).toMatchObject({ offset, key: Buffer.from("a") });
  }
  expect(ranges).toEqual([expect.objectContaining({ partition: 3, from: 0, to: 4 })]);
});

test("those of other users are", async () => {
  const { readBack, ranges } = readBackOf(records("a", "b"));
  expect(await readBack(0, 2)).toMatchObject({ offset: 0 });
  expect(await readBack(1, 2, "b")).toMatchObject({ offset: 1 });
  expect(ranges).toHaveLength(2);
});

test("nothing is read beyond what the owner has read, except for the delivery", async () => {
  const { readBack, ranges } = readBackOf(records("a", "a", "a"));
  expect(await readBack(0, 0)).toMatchObject({ offset: 0 });
  expect(await readBack(1, 0)).toMatchObject({ offset: 1 });
  expect(ranges.map(({ from, to }) => [from, to])).toEqual([
    [0, 1],
    [1, 2],
  ]);
});

test("only those of the 64 users that were used last are kept", async () => {
  const keys = Array.from({ length: 65 }, (_, user) => `${user}`);
  const { readBack, ranges } = readBackOf(records(...keys, ...keys));
  for (const user of keys.keys()) await readBack(user, 130, `${user}`);
  expect(ranges).toHaveLength(65);
  await readBack(65 + 1, 130, "1");
  expect(ranges).toHaveLength(65);
  await readBack(65, 130, "0");
  expect(ranges).toHaveLength(66);
});

test.each([
  ["the next one is there", records("a", "a").slice(1)],
  ["nothing is there", []],
])("a delivery that was deleted is lost: %s", async (_, reading) => {
  const { readBack, events } = readBackOf(reading);
  expect(await readBack(0, 2)).toBeNull();
  expect(events()).toEqual(["order.delivery-lost"]);
});

test("a delivery of another user at the same offset is not the one that waited", async () => {
  const { readBack, events } = readBackOf(records("a"));
  expect(await readBack(0, 1, "b")).toBeNull();
  expect(events()).toEqual(["order.delivery-lost"]);
});

test("reading is tried again", async () => {
  const { readBack, events } = readBackOf(new Error("no leader"), records("a"));
  expect(await readBack(0, 1)).toMatchObject({ offset: 0 });
  expect(events()).toEqual(["order.read-failed"]);
});

test("nothing is lost when the partition is drained", async () => {
  const { readBack, stop, events } = readBackOf([]);
  stop.abort();
  expect(await readBack(0, 1)).toBeNull();
  expect(events()).toEqual([]);
});
