// Two processes on a Kafka in memory: an incident is reported once by both of them together, even after restarts.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { AudienceStatus } from "../../../../src/domain/audience.ts";
import type { DestinationStatus } from "../../../../src/domain/destination-status.ts";
import type { DestinationId } from "../../../../src/domain/ids.ts";
import type { BrokerState } from "../../../../src/kafka/port.ts";
import { type Watched, watchForPeople } from "../../../../src/operator/events/watch.ts";
import { ManualClock } from "../../../support/clock/manual-clock.ts";
import { createPrng } from "../../../support/clock/prng.ts";
import { parsedLog } from "../../../support/log/parsed-log.ts";
import { MemoryCluster } from "../../../support/memory-kafka/memory-kafka.ts";
import { schemaProblems } from "../../../support/project/json-schema.ts";
import { ROOT } from "../../../support/project/tracked-texts.ts";

const TOPIC = "sw.operator-events";
const SCHEMA = JSON.parse(
  readFileSync(join(ROOT, "schemas/operator-event.schema.json"), "utf8"),
) as Record<string, unknown>;
const WINDOW_MS = 4 * 3_600_000;
const FINE = { broker: "b:9092", outage: null };

class World {
  readonly clock = new ManualClock();
  readonly cluster = new MemoryCluster({ clock: this.clock, random: createPrng(7) });
  readonly log = parsedLog();

  constructor() {
    this.cluster.createTopic(TOPIC, 1);
  }

  /** Starts a process with observations that a test can change. */
  process() {
    const kafka = this.cluster.connect();
    const sees: {
      destinations: DestinationStatus[];
      refused: { sinceMs: number; problems: string[] } | null;
      brokers: BrokerState[];
      audiences: AudienceStatus[];
      firstAttempts: Map<string, number>;
      expiring: number;
    } = {
      ...{ destinations: [], refused: null, brokers: [FINE], audiences: [] },
      ...{ firstAttempts: new Map(), expiring: 3 },
    };
    const deps = {
      kafka,
      producer: kafka.producer(),
      clock: this.clock,
      log: this.log.log,
    };
    const watched: Watched = {
      topic: TOPIC,
      source: "/switchyard/sw.",
      destinations: () => sees.destinations,
      audiences: () => sees.audiences,
      windows: {
        retryWindowMs: WINDOW_MS,
        firstAttempts: () => sees.firstAttempts,
        count: async (destinations, beforeMs) => {
          expect(beforeMs).toBeGreaterThan(this.clock.nowMs());
          const expiring = { deliveries: sees.expiring, isLowerBound: false };
          return new Map(sees.expiring === 0 ? [] : [...destinations].map((id) => [id, expiring]));
        },
      },
      refused: () => sees.refused,
      brokers: () => sees.brokers,
    };
    return { sees, watch: watchForPeople(deps, watched) };
  }

  failing(sinceMs: number): DestinationStatus {
    return this.#status({ failingSince: new Date(sinceMs).toISOString() });
  }

  accepted(): DestinationStatus {
    return this.#status({ lastAcceptedAt: new Date(this.clock.nowMs()).toISOString() });
  }

  #status(more: Partial<DestinationStatus>): DestinationStatus {
    const id = "crm" as DestinationId;
    const none = { failingSince: null, hold: null, lastAcceptedAt: null, last: null };
    const lastMinute = { attempts: 1, failures: 1 };
    return { id, state: "failing", lastMinute, ...none, partitions: 1, endpoints: [], ...more };
  }

  last(): Record<string, unknown> {
    const value = this.cluster.records(TOPIC).at(-1)?.value;
    return JSON.parse(`${value ?? "{}"}`) as Record<string, unknown>;
  }

  types(): readonly unknown[] {
    return this.cluster.records(TOPIC).map(({ value }) => {
      if (value === null) return null;
      const event = JSON.parse(value.toString()) as Record<string, unknown>;
      // The fields of `data` depend on the kind.
      expect(schemaProblems(SCHEMA, { ...event, data: {} })).toEqual([]);
      return String(event.type).replace("switchyard.", "");
    });
  }
}

test("an incident is reported once: over looks, processes and restarts", async () => {
  const world = new World();
  const one = world.process();
  const beganMs = world.clock.nowMs();
  one.sees.destinations = [world.failing(beganMs)];
  await world.clock.advance(50_000);
  expect(world.types()).toEqual([]);
  await world.clock.advance(120_000);
  expect(world.types()).toEqual(["destination.failing"]);
  one.watch[Symbol.dispose]();

  // Another process now owns partition 0, and has observed failures since then.
  const two = world.process();
  two.sees.destinations = [world.failing(world.clock.nowMs())];
  await world.clock.advance(300_000);
  expect(world.types()).toEqual(["destination.failing"]);
  two.sees.destinations = [world.accepted()];
  await world.clock.advance(20_000);
  expect(world.types()).toEqual(["destination.failing", "destination.recovered"]);

  const three = world.process();
  three.sees.destinations = [world.accepted()];
  await world.clock.advance(20_000);
  two.sees.destinations = [world.failing(world.clock.nowMs() - 70_000)];
  three.sees.destinations = [];
  await world.clock.advance(20_000);
  expect(world.types()).toEqual([
    ...["destination.failing", "destination.recovered", "destination.failing"],
  ]);
});

test("a speaker that did not report the start reports the end", async () => {
  const world = new World();
  const one = world.process();
  const two = world.process();
  // It has read the topic before anything was written.
  await world.clock.advance(20_000);
  one.sees.destinations = [world.failing(world.clock.nowMs() - 90_000)];
  await world.clock.advance(20_000);
  one.sees.destinations = [];
  two.sees.destinations = [world.accepted()];
  await world.clock.advance(20_000);
  expect(world.types()).toEqual(["destination.failing", "destination.recovered"]);
});

test("a refused configuration is one incident for all processes, and is closed without an event", async () => {
  const world = new World();
  const [one, two] = [world.process(), world.process()];
  one.sees.refused = { sinceMs: world.clock.nowMs(), problems: ["a: b"] };
  await world.clock.advance(20_000);
  two.sees.refused = { sinceMs: world.clock.nowMs(), problems: ["a: b"] };
  await world.clock.advance(20_000);
  expect(world.types()).toEqual(["configuration.invalid"]);
  one.sees.refused = null;
  two.sees.refused = null;
  await world.clock.advance(20_000);
  expect(world.types().slice(0, 2)).toEqual(["configuration.invalid", null]);
  expect(
    world
      .types()
      .slice(2)
      .every((type) => type === null),
  ).toBe(true);
});

test("an outage of Kafka is reported when it is over, and a short one is not", async () => {
  const world = new World();
  const { sees } = world.process();
  const unreachable = () => [
    { broker: "b:9092", outage: { sinceMs: world.clock.nowMs(), error: "down" } },
  ];
  sees.brokers = unreachable();
  await world.clock.advance(30_000);
  sees.brokers = [FINE];
  await world.clock.advance(20_000);
  expect(world.types()).toEqual([]);
  sees.brokers = unreachable();
  await world.clock.advance(90_000);
  expect(world.types()).toEqual([]);
  sees.brokers = [FINE];
  await world.clock.advance(20_000);
  expect(world.types()).toEqual(["kafka.unreachable"]);
});

test("while the topic is gone a line says so now and then, and later it is reported", async () => {
  const world = new World();
  const admin = world.cluster.connect().admin;
  const deleted = admin.deleteTopics([TOPIC]);
  await world.clock.advance(1_000);
  await deleted;
  const { sees } = world.process();
  sees.destinations = [world.failing(world.clock.nowMs() - 90_000)];
  await world.clock.advance(50_000);
  const said = () => world.log.lines.filter(({ msg }) => msg === "operator-events.write-failed");
  expect(said()).toHaveLength(1);
  world.cluster.createTopic(TOPIC, 1);
  await world.clock.advance(30_000);
  expect(world.types()).toEqual(["destination.failing"]);
});

test("deliveries near the end of their window are reported once, over processes, restarts and hours", async () => {
  const world = new World();
  const [one, two] = [world.process(), world.process()];
  const hour = 3_600_000;
  const beganMs = world.clock.nowMs();
  one.sees.firstAttempts.set("crm", beganMs);
  await world.clock.advance(2.9 * hour);
  expect(world.types()).toEqual([]);
  two.sees.firstAttempts.set("crm", beganMs + 1);
  await world.clock.advance(0.2 * hour);
  expect(world.types()).toEqual(["deliveries.expiring"]);
  const { data } = world.last();
  expect(data).toMatchObject({
    count: 3,
    firstExpiresAt: new Date(beganMs + WINDOW_MS).toISOString(),
  });
  one.watch[Symbol.dispose]();
  const three = world.process();
  three.sees.firstAttempts.set("crm", beganMs + hour);
  await world.clock.advance(2 * hour);
  expect(world.types()).toEqual(["deliveries.expiring"]);
});

test("where none expires when they are counted, nothing is reported", async () => {
  const world = new World();
  const { sees } = world.process();
  sees.expiring = 0;
  sees.firstAttempts.set("crm", world.clock.nowMs() - 0.9 * WINDOW_MS);
  await world.clock.advance(120_000);
  expect(world.types()).toEqual([]);
});

test("an audience sync that awaits approval is reported once, and again for another sync", async () => {
  const world = new World();
  const { sees } = world.process();
  const awaits = (syncId: string) => {
    sees.audiences = [
      { id: "vip", awaitingApproval: { syncId, removals: 5, sinceMs: world.clock.nowMs() } },
    ];
  };
  awaits("s1");
  await world.clock.advance(60_000);
  expect(world.types()).toEqual(["audience.approval_required"]);
  awaits("s2");
  await world.clock.advance(20_000);
  sees.audiences = [{ id: "vip", awaitingApproval: null }];
  await world.clock.advance(20_000);
  expect(world.types()).toEqual(["audience.approval_required", "audience.approval_required", null]);
});
