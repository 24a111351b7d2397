// The latest records are found from the end backwards, and no more is read than necessary.

import { expect, test } from "vitest";

import {
  type LatestQuery,
  readLatest,
} from "../../../../../src/operator/console/read/read-latest.ts";
import { clockDriver } from "../../../../support/clock/clock-driver.ts";
import { ManualClock } from "../../../../support/clock/manual-clock.ts";
import { createPrng } from "../../../../support/clock/prng.ts";
import { MemoryCluster } from "../../../../support/memory-kafka/memory-kafka.ts";

function world(partitions: number) {
  const clock = new ManualClock();
  const cluster = new MemoryCluster({ clock, random: createPrng(1) });
  cluster.createTopic("t", partitions);
  const kafka = cluster.connect();
  const startMs = clock.nowMs();
  return {
    startMs,
    append: async (partition: number, value: string) => {
      await clock.advance(1_000);
      cluster.append({ topic: "t", partition, key: null, value: Buffer.from(value), headers: [] });
    },
    latest: (
      query: Partial<LatestQuery<string>> = {},
      signal: AbortSignal = new AbortController().signal,
    ) => {
      const find = ({ value }: { readonly value: Buffer | null }) => `${value}`;
      const ports = { kafka, signal, nowMs: () => clock.nowMs() };
      const all = { topic: "t", sinceMs: startMs, most: 1_000, find, ...query };
      return clockDriver(clock).during(readLatest(ports, all));
    },
  };
}

const values = (found: readonly { readonly value: string }[]) => found.map(({ value }) => value);

test("all that is wanted is reported over all partitions, the latest first", async () => {
  const { append, latest, startMs } = world(3);
  for (let number = 0; number < 9; number += 1) await append(number % 3, `r${number}`);
  const reported = await latest();
  expect(values(reported.found)).toEqual(["r8", "r7", "r6", "r5", "r4", "r3", "r2", "r1", "r0"]);
  expect(reported).toMatchObject({ looked: 9, sinceMs: startMs, isCut: false });
  const even = await latest({
    find: ({ value }) => (Number(`${value}`.slice(1)) % 2 === 0 ? `${value}` : null),
    most: 2,
  });
  expect(values(even.found)).toEqual(["r8", "r6"]);
});

test("a topic without records, and one whose records are older, have nothing", async () => {
  const { append, latest } = world(2);
  expect(await latest()).toMatchObject({ found: [], looked: 0, isCut: false });
  await append(0, "old");
  const later = await latest({ sinceMs: 1_900_000_000_000 });
  expect(later).toMatchObject({ found: [], sinceMs: 1_900_000_000_000 });
});

test("of a long partition only its end is read, and it is said how far back", async () => {
  const { append, latest, startMs } = world(1);
  for (let number = 0; number < 2_000; number += 1) await append(0, `r${number}`);
  const reported = await latest({ most: 3 });
  expect(values(reported.found)).toEqual(["r1999", "r1998", "r1997"]);
  expect(reported.looked).toBe(500);
  expect(reported.sinceMs).toBe(startMs + 1_501_000);
});

test("a quiet partition is read on as long as it may have a later one", async () => {
  const { append, latest } = world(2);
  // One partition has few records, all of which are later than most records of the other partition.
  for (let number = 0; number < 1_200; number += 1) await append(0, `other${number}`);
  for (let number = 0; number < 3; number += 1) await append(1, `own${number}`);
  await append(0, "last");
  const own = await latest({
    most: 2,
    find: ({ value }) => (`${value}`.startsWith("other") ? null : `${value}`),
  });
  expect(values(own.found)).toEqual(["last", "own2"]);
  // The rare record far back is also found.
  const rare = await latest({
    most: 1,
    find: ({ value }) => (`${value}` === "other0" ? "rare" : null),
  });
  expect(rare.looked).toBe(1_204);
});

test("one that is ended reports what it has, and that this is not all", async () => {
  const { append, latest } = world(1);
  for (let number = 0; number < 700; number += 1) await append(0, `r${number}`);
  const end = new AbortController();
  const reported = await latest(
    {
      find: ({ value }) => {
        end.abort();
        return `${value}`;
      },
    },
    end.signal,
  );
  expect(reported.isCut).toBe(true);
  expect(reported.looked).toBeLessThan(700);
});
