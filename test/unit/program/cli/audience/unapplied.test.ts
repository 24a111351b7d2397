// Waiting until the records of one audience are applied: which records count, how long the command waits, and what it
// reads.

import { expect, test } from "vitest";
import type { IncomingRecord } from "../../../../../src/domain/record.ts";
import { encodeHeld, encodeRanges } from "../../../../../src/kafka/consume/finished-ranges.ts";
import {
  type CommittedOffset,
  type Kafka,
  MissingPermissionError,
} from "../../../../../src/kafka/port.ts";
import { untilApplied } from "../../../../../src/program/cli/audience/unapplied.ts";

const READING = { groupId: "audience", topic: "syncs" };
const LIMIT_MS = 60_000;

/**
 * Creates partitions with records, given by their keys, the commits at each check, and a list of the offsets that were
 * read.
 */
function world(
  partitions: readonly (readonly (string | null)[])[],
  commitsAt: (look: number) => readonly CommittedOffset[],
) {
  let nowMs = 1_000_000;
  let looks = 0;
  const read: string[] = [];
  const said: number[] = [];
  const ofTopic = <Value>(value: Value) => new Map([[READING.topic, value]]);
  const admin = {
    committedOf: async () => {
      looks += 1;
      return new Map([[READING.groupId, ofTopic(commitsAt(looks))]]);
    },
    offsetsOf: async () =>
      ofTopic(partitions.map((keys, partition) => ({ partition, first: 0, end: keys.length }))),
    topicIds: async () => ofTopic("id"),
  };
  const kafka = {
    admin,
    read: async function* ({
      partition,
      from,
      to,
    }: {
      partition: number;
      from: number;
      to: number;
    }) {
      for (let offset = from; offset < to; offset += 1) {
        read.push(`${partition}:${offset}`);
        const key = partitions[partition]?.[offset] ?? null;
        const timestampMs = 1_000 * (partition + 1) + offset;
        yield [
          { offset, timestampMs, key: key === null ? null : Buffer.from(key) },
        ] as unknown as IncomingRecord[];
      }
    },
  } as unknown as Kafka;
  const clock = {
    nowMs: () => nowMs,
    sleep: async (ms: number, signal: AbortSignal) => {
      signal.throwIfAborted();
      nowMs += ms;
    },
  };
  const stopping = new AbortController();
  const wait = () =>
    untilApplied(
      { kafka, clock, signal: stopping.signal, reading: READING, audienceId: "vip" },
      (records) => said.push(records),
    );
  return { wait, read, said, stopping, kafka, admin, passedMs: () => nowMs - 1_000_000 };
}

const commit = (partition: number, offset: number, metadata = ""): CommittedOffset => {
  return { partition, offset, metadata };
};

test.each<[string, readonly (readonly (string | null)[])[], readonly CommittedOffset[]]>([
  ["there is no record", [[]], []],
  ["all are applied", [["vip", "vip"]], [commit(0, 2)]],
  [
    "only others wait, or records without a key",
    [["vip", "other", null], ["other"]],
    [commit(0, 1)],
  ],
  [
    "its records were finished out of order",
    [["other", "vip"]],
    [commit(0, 0, encodeRanges(0, "id", [1, 1]))],
  ],
  [
    "an open sync holds the commit",
    [["other", "vip", "vip"]],
    [commit(0, 0, encodeHeld(0, "id", 3))],
  ],
])("it does not wait if %s", async (_, partitions, commits) => {
  const { wait, said, passedMs } = world(partitions, () => commits);
  expect(await wait()).toBeNull();
  expect([said, passedMs()]).toEqual([[], 0]);
});

test("it waits until they are applied, and reads each record once", async () => {
  const partitions = [
    ["vip", "other"],
    ["other", "vip"],
  ];
  const { wait, read, said } = world(partitions, (look) =>
    (look < 3 ? [] : look < 5 ? [commit(0, 1)] : [commit(1, 2)]).concat(
      look < 5 ? [] : [commit(0, 1)],
    ),
  );
  expect(await wait()).toBeNull();
  expect(said).toEqual([2, 2, 1, 1]);
  expect(read).toEqual(["0:0", "0:1", "1:0", "1:1"]);
});

test.each<[string, readonly CommittedOffset[], number]>([
  ["nothing was committed", [], 3],
  ["some are applied", [commit(0, 1)], 2],
  ["the commit is of an earlier topic", [commit(0, 2, encodeRanges(2, "former", []))], 3],
])("after a minute it says how many are left, and since when: %s", async (_, commits, records) => {
  const { wait, passedMs } = world([["vip", "vip"], ["vip"]], () => commits);
  const oldestAtMs = records === 2 ? 1_001 : 1_000;
  expect(await wait()).toEqual({ kind: "waiting", records, oldestAtMs });
  expect(passedMs()).toBe(LIMIT_MS);
});

test("records that come while it waits count", async () => {
  const partition = ["vip"];
  const { wait } = world([partition], (look) => {
    if (look === 2) partition.push("vip");
    return [commit(0, look < 4 ? 0 : 1)];
  });
  expect(await wait()).toEqual({ kind: "waiting", records: 1, oldestAtMs: 1_001 });
});

test("a missing permission is reported at once", async () => {
  const { wait, admin, passedMs } = world([["vip"]], () => []);
  admin.committedOf = () => Promise.reject(new MissingPermissionError("it is missing", null));
  expect(await wait()).toEqual({ kind: "unknown", error: "it is missing" });
  expect(passedMs()).toBe(0);
});

test("an outage is waited for, and reported after a minute", async () => {
  const { wait, admin, passedMs } = world([["vip"]], () => [commit(0, 1)]);
  const { committedOf } = admin;
  let tries = 0;
  admin.committedOf = () => {
    tries += 1;
    return tries < 4 ? Promise.reject(new Error("Kafka is away")) : committedOf();
  };
  expect(await wait()).toBeNull();
  admin.committedOf = () => Promise.reject(new Error("Kafka is away"));
  expect(await wait()).toEqual({ kind: "unknown", error: "Kafka is away" });
  expect(passedMs()).toBeGreaterThan(LIMIT_MS);
});

test("a partition that cannot be read is reported at once", async () => {
  const { wait, kafka, passedMs } = world([["vip"]], () => []);
  kafka.read = () => {
    throw new Error("the batch is corrupt");
  };
  expect(await wait()).toEqual({ kind: "unknown", error: "the batch is corrupt" });
  expect(passedMs()).toBe(0);
});

test("an interruption ends it with its reason", async () => {
  const { wait, stopping } = world([["vip"]], (look) => {
    if (look === 3) stopping.abort(new Error("Ctrl-C"));
    return [];
  });
  await expect(wait()).rejects.toThrow("Ctrl-C");
});
