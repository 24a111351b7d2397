// The table of waiting-by-destination.ts.

import { expect, test } from "vitest";

import { waitingByDestination } from "../../../src/delay/waiting-by-destination.ts";
import type { Kafka } from "../../../src/kafka/port.ts";
import { clockDriver } from "../../support/clock/clock-driver.ts";
import {
  BILLING,
  CountingWorld,
  CRM,
  groups,
  TIERS,
  topicOf,
  topics,
} from "../../support/worlds/counting-world.ts";

interface Given {
  readonly recordsMax?: number;
  readonly signal?: AbortSignal;
  readonly kafka?: Partial<Kafka>;
}

function ask(world: CountingWorld, given: Given = {}) {
  const { recordsMax = 10_000, signal = new AbortController().signal } = given;
  const kafka = world.cluster.connect();
  const { admin } = kafka;
  const read = given.kafka?.read ?? kafka.read.bind(kafka);
  const asked = { tiers: TIERS, topics, groups, destinations: [CRM], recordsMax, signal };
  const deps = { kafka: { admin, read }, clock: world.clock };
  return clockDriver(world.clock).during(waitingByDestination(deps, asked));
}

test("it counts all that a group has not committed, with the times", async () => {
  const world = new CountingWorld();
  const parkedAtMs = world.clock.nowMs();
  world.park(CRM, "10m", 30);
  world.park(BILLING, "60m", 5, { firstAttemptAtMs: null, attempt: 0 });
  const [ten, sixty] = await ask(world);
  expect(ten).toMatchObject({ tier: "10m", unread: 0, errors: [] });
  expect(ten?.destinations).toEqual(
    new Map([
      [
        CRM,
        {
          count: 30,
          parkedAtMs,
          dueAtMs: parkedAtMs + 600_000,
          firstAttemptAtMs: parkedAtMs - 1_000,
        },
      ],
    ]),
  );
  expect(sixty?.destinations.get(BILLING)).toMatchObject({
    count: 5,
    firstAttemptAtMs: Number.POSITIVE_INFINITY,
  });
});

test("what a stage has returned and committed does not count", async () => {
  const world = new CountingWorld();
  world.park(CRM, "10m", 30);
  const { stop } = await world.start();
  await world.clock.advance(11 * 60_000);
  world.park(CRM, "10m", 4);
  await world.clock.advance(5_000);
  await stop();
  const [ten] = await ask(world);
  expect(ten?.destinations.get(CRM)?.count).toBe(4);
});

test("it stops at the records that are allowed, and tells how many it did not read", async () => {
  const world = new CountingWorld();
  world.park(CRM, "10m", 30);
  world.park(CRM, "60m", 30);
  const tiers = await ask(world, { recordsMax: 25 });
  const counted = tiers.map(({ destinations }) => destinations.get(CRM)?.count ?? 0);
  expect(counted.reduce((sum, count) => sum + count, 0)).toBe(25);
  expect(tiers.reduce((sum, { unread }) => sum + unread, 0)).toBe(35);
});

test("it stops when the signal aborts", async () => {
  const world = new CountingWorld();
  world.park(CRM, "10m", 30);
  const [ten] = await ask(world, { signal: AbortSignal.abort() });
  expect(ten).toMatchObject({ unread: 30, errors: [] });
});

test("a partition that cannot be read is told, and the others are counted", async () => {
  const world = new CountingWorld();
  world.park(CRM, "10m", 40);
  const kafka = world.cluster.connect();
  const [ten] = await ask(world, {
    kafka: {
      read: (range) => {
        if (range.partition === 0) throw new Error("the batch is damaged");
        return kafka.read(range);
      },
    },
  });
  const read = ten?.destinations.get(CRM)?.count ?? 0;
  expect(read).toBe(world.cluster.endOf(topicOf("10m"), 1));
  expect(ten).toMatchObject({ unread: 40 - read, errors: ["the batch is damaged"] });
});
