// The table of scan-awaiting-retry.ts, and deliveries that expire soon: what a stage reports about its own partitions,
// and the total count.

import { expect, test } from "vitest";
import { encodeRanges } from "../../../../src/kafka/consume/finished-ranges.ts";
import type { Kafka } from "../../../../src/kafka/port.ts";
import {
  NO_OPERATOR_ACTIONS,
  type OperatorActions,
} from "../../../../src/router/control/operator-action-state.ts";
import {
  countExpiring,
  eachWaiting,
  isWhole,
} from "../../../../src/router/delay/scan-awaiting-retry.ts";
import { addTo, type Tallies, timesOf } from "../../../../src/router/delay/tally.ts";
import { clockDriver } from "../../../support/clock/clock-driver.ts";
import {
  BILLING,
  COUNTED_MS,
  CountingWorld,
  CRM,
  DELAYS,
  groups,
  topicOf,
  topics,
  WINDOW_MS,
} from "../../../support/worlds/counting-world.ts";

interface Given {
  readonly recordsMax?: number;
  readonly signal?: AbortSignal;
  readonly kafka?: Partial<Kafka>;
  readonly operatorActions?: OperatorActions;
}

async function ask(world: CountingWorld, given: Given = {}) {
  const { recordsMax = 10_000, signal = new AbortController().signal } = given;
  const kafka = world.cluster.connect();
  const admin = given.kafka?.admin ?? kafka.admin;
  const read = given.kafka?.read ?? kafka.read.bind(kafka);
  const operatorActions = given.operatorActions ?? NO_OPERATOR_ACTIONS;
  const asked = { delays: DELAYS, topics, groups, operatorActions, recordsMax, signal };
  const deps = { kafka: { admin, read }, clock: world.clock };
  const tallies = new Map<string, Tallies>(DELAYS.map((delay) => [delay, new Map()]));
  const delays = await clockDriver(world.clock).during(
    eachWaiting(deps, asked, (waiting, delay) => {
      const label = waiting.kind === "waiting" ? waiting.destination : "";
      addTo(tallies.get(delay) ?? new Map(), label, timesOf(waiting));
    }),
  );
  return delays.map((each) => ({ ...each, destinations: tallies.get(each.delay) ?? new Map() }));
}

test("it counts all that a group has not committed, with the times", async () => {
  const world = new CountingWorld();
  const scheduledAtMs = world.clock.nowMs();
  world.scheduleRetry(CRM, "10m", 30);
  world.scheduleRetry(BILLING, "60m", 5, { firstAttemptAtMs: null, attempt: 0 });
  const [ten, sixty] = await ask(world);
  expect(ten).toMatchObject({ delay: "10m", unread: 0, errors: [] });
  expect(ten?.destinations).toEqual(
    new Map([
      [
        CRM,
        {
          count: 30,
          scheduledAtMs,
          dueAtMs: scheduledAtMs + 600_000,
          firstAttemptAtMs: scheduledAtMs - 1_000,
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
  world.scheduleRetry(CRM, "10m", 30);
  const { stop } = await world.start();
  await world.clock.advance(11 * 60_000);
  world.scheduleRetry(CRM, "10m", 4);
  await world.clock.advance(5_000);
  await stop();
  const [ten] = await ask(world);
  expect(ten?.destinations.get(CRM)?.count).toBe(4);
});

test("it stops at the records that are allowed, and reports how many it did not read", async () => {
  const world = new CountingWorld();
  world.scheduleRetry(CRM, "10m", 30);
  world.scheduleRetry(CRM, "60m", 30);
  const delays = await ask(world, { recordsMax: 25 });
  const counted = delays.map(({ destinations }) => destinations.get(CRM)?.count ?? 0);
  expect(counted.reduce((sum, count) => sum + count, 0)).toBe(25);
  expect(delays.reduce((sum, { unread }) => sum + unread, 0)).toBe(35);
});

test("it stops when the signal aborts", async () => {
  const world = new CountingWorld();
  world.scheduleRetry(CRM, "10m", 30);
  const [ten] = await ask(world, { signal: AbortSignal.abort() });
  expect(ten).toMatchObject({ unread: 30, errors: [] });
});

test("a partition that cannot be read is reported, and the others are counted", async () => {
  const world = new CountingWorld();
  world.scheduleRetry(CRM, "10m", 40);
  const kafka = world.cluster.connect();
  const [ten] = await ask(world, {
    kafka: {
      read: (range) => {
        if (range.partition === 0) throw new Error("the batch is corrupt");
        return kafka.read(range);
      },
    },
  });
  const read = ten?.destinations.get(CRM)?.count ?? 0;
  expect(read).toBe(world.cluster.endOf(topicOf("10m"), 1));
  expect(ten).toMatchObject({ unread: 40 - read, errors: ["the batch is corrupt"] });
});

/** Creates one partition, so that offsets are known, and the commit of its group. */
async function committed(scheduled: () => CountingWorld, metadata: (id: string) => string) {
  const world = scheduled();
  const { admin } = world.cluster.connect();
  const { during } = clockDriver(world.clock);
  const topic = topicOf("10m");
  const id = (await during(admin.topicIds([topic]))).get(topic) ?? "";
  const commit = { partition: 0, offset: 2, metadata: metadata(id) };
  await during(admin.commit(groups.delay("10m"), topic, [commit]));
  return world;
}

const tenOfBoth = () => {
  const world = new CountingWorld(1);
  for (let pair = 0; pair < 5; pair += 1) {
    world.scheduleRetry(CRM, "10m");
    world.scheduleRetry(BILLING, "10m");
  }
  return world;
};
const countsOf = async (world: CountingWorld, given: Given = {}) => {
  const [ten] = await ask(world, given);
  return [ten?.destinations.get(CRM)?.count ?? 0, ten?.destinations.get(BILLING)?.count ?? 0];
};

test("records that are finished above the committed offset do not count", async () => {
  // Offsets 3, 4 and 5 are finished: two of billing, one of crm.
  const world = await committed(tenOfBoth, (id) => encodeRanges(2, id, [1, 3]));
  expect(await countsOf(world)).toEqual([3, 2]);
});

test("a commit that was counted in an earlier topic of that name counts for nothing", async () => {
  const world = await committed(tenOfBoth, () => encodeRanges(2, "A".repeat(22), [1, 3]));
  expect(await countsOf(world)).toEqual([5, 5]);
});

test("metadata of others says nothing about what is finished", async () => {
  const world = await committed(tenOfBoth, () => "moved by hand");
  expect(await countsOf(world)).toEqual([4, 4]);
});

test("what a retry took out early does not count, unless that was in a topic of another id", async () => {
  const world = tenOfBoth();
  const kafka = world.cluster.connect();
  const topic = topicOf("10m");
  const id = (await clockDriver(world.clock).during(kafka.admin.topicIds([topic]))).get(topic);
  const atMs = world.clock.nowMs() + 1;
  const earlyRelease = {
    kind: "retry",
    destination: CRM,
    id: "p",
    by: "x",
    receivedBeforeMs: null,
  } as const;
  const through = (known: string): OperatorActions => ({
    ...NO_OPERATOR_ACTIONS,
    earlyReleasesOf: (destination) => (destination === CRM ? [{ ...earlyRelease, atMs }] : []),
    releasedThrough: (_id, _delay, _partition, topicId) => (topicId === known ? 6 : 0),
  });
  expect(await countsOf(world, { operatorActions: through(id ?? "") })).toEqual([2, 5]);
  expect(await countsOf(world, { operatorActions: through("another") })).toEqual([5, 5]);
});

test("a retry delay whose topic may not be asked for says so, and the others are counted", async () => {
  const world = new CountingWorld();
  world.scheduleRetry(CRM, "10m", 3);
  world.scheduleRetry(CRM, "60m", 4);
  const { admin } = world.cluster.connect();
  const offsetsOf: Kafka["admin"]["offsetsOf"] = async (names, onUnknown) => {
    onUnknown?.(topicOf("60m"), new Error("the permission Describe is missing"));
    return await admin.offsetsOf(names.filter((name) => name !== topicOf("60m")));
  };
  const some = { committedOf: admin.committedOf.bind(admin), topicIds: admin.topicIds.bind(admin) };
  const asked = { ...admin, ...some, offsetsOf } as unknown as Kafka["admin"];
  const [ten, sixty] = await ask(world, { kafka: { admin: asked } });
  expect(ten).toMatchObject({ unread: 0, errors: [] });
  expect(ten?.destinations.get(CRM)?.count).toBe(3);
  expect(sixty?.errors).toEqual(["the permission Describe is missing"]);
  expect(isWhole(sixty === undefined ? [] : [sixty])).toBe(false);
});

const HOUR_MS = 3_600_000;

test("the stage says the earliest first attempt of each destination that was tried", async () => {
  const world = new CountingWorld();
  const firstMs = world.clock.nowMs() - 2 * HOUR_MS;
  world.scheduleRetry(CRM, "60m", 20);
  world.scheduleRetry(CRM, "60m", 1, { firstAttemptAtMs: firstMs });
  world.scheduleRetry(BILLING, "10m", 5, { firstAttemptAtMs: null, attempt: 0 });
  const { stage, stop } = await world.start();
  await world.clock.advance(COUNTED_MS);
  expect(stage.firstAttempts?.()).toEqual(new Map([[CRM, firstMs]]));
  await stop();
});

test("those that expire by then are counted in all retry delays, of the destinations that are asked for", async () => {
  const world = new CountingWorld();
  const nowMs = world.clock.nowMs();
  const nearMs = nowMs - 3.5 * HOUR_MS;
  world.scheduleRetry(CRM, "60m", 4, { firstAttemptAtMs: nearMs });
  world.scheduleRetry(CRM, "10m", 3, { firstAttemptAtMs: nearMs });
  world.scheduleRetry(CRM, "10m", 9);
  world.scheduleRetry(CRM, "10m", 2, { firstAttemptAtMs: null, attempt: 0 });
  world.scheduleRetry(BILLING, "60m", 5, { firstAttemptAtMs: nearMs });
  const earlyRelease = {
    kind: "retry",
    destination: CRM,
    id: "p",
    by: "x",
    receivedBeforeMs: null,
  };
  const gone = { ...earlyRelease, kind: "retry" as const, atMs: nowMs + 1 };
  const operatorActions = {
    ...NO_OPERATOR_ACTIONS,
    earlyReleasesOf: () => [gone],
    releasedThrough: (_id: string, delay: string) => (delay === "10m" ? 99 : 0),
  };
  const count = (of: typeof NO_OPERATOR_ACTIONS) => {
    const windows = {
      delays: DELAYS,
      topics,
      groups,
      retryWindowMs: WINDOW_MS,
      operatorActions: of,
    };
    const deps = { kafka: world.cluster.connect(), clock: world.clock };
    const { signal } = new AbortController();
    return clockDriver(world.clock).during(
      countExpiring(deps, windows, new Set([CRM]), nowMs + HOUR_MS, signal),
    );
  };
  expect(await count(NO_OPERATOR_ACTIONS)).toEqual(
    new Map([[CRM, { deliveries: 7, isLowerBound: false }]]),
  );
  expect(await count(operatorActions)).toEqual(
    new Map([[CRM, { deliveries: 4, isLowerBound: false }]]),
  );
});
