// Cursors that are fetched in one session from a broker, with everything that can fail: no record is skipped or read
// twice, and only what the cursors want is requested from the broker.

import fc from "fast-check";
import { expect, test } from "vitest";
import { partitionKey } from "../../../../src/domain/record.ts";

import {
  FetchSession,
  type Planned,
  type PlannedCursor,
} from "../../../../src/kafka/fetch/session.ts";
import { costlyInputs } from "../../../support/build/generated-inputs.ts";
import { SessionBroker } from "../../../support/kafka-client/session-broker.ts";

const MEMBERS = 4;
const PARTITIONS = 3;
const ROUNDS_MAX = 200;

const action = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant("want" as const),
      of: fc.nat(MEMBERS - 1),
      mask: fc.integer({ min: 1, max: 7 }),
    }),
  },
  { weight: 6, arbitrary: fc.record({ do: fc.constant("request" as const) }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant("respond" as const) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("append" as const),
      of: fc.nat(MEMBERS - 1),
      partition: fc.nat(PARTITIONS - 1),
      count: fc.integer({ min: 1, max: 5 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant("drop" as const), of: fc.nat(MEMBERS - 1) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("error" as const),
      of: fc.nat(MEMBERS - 1),
      partition: fc.nat(PARTITIONS - 1),
      isThere: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("evict" as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant("cut" as const), isProcessed: fc.boolean() }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("room" as const), isThere: fc.boolean() }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("limit" as const),
      partitions: fc.integer({ min: 1, max: 3 }),
      records: fc.integer({ min: 1, max: 3 }),
    }),
  },
);

interface Reading extends PlannedCursor {
  position: number;
  isWanted: boolean;
}

class World {
  readonly session = new FetchSession<Reading>();
  readonly broker = new SessionBroker();
  readonly members: readonly (readonly Reading[])[] = Array.from({ length: MEMBERS }, (_, index) =>
    Array.from({ length: PARTITIONS }, (__, partition) => {
      const topic = `t${index}`;
      const key = `${topic}/${partition}`;
      return { topic, partition, key, position: 0, isWanted: false };
    }),
  );
  inFlight: { readonly planned: Planned; readonly wanted: string } | null = null;
  isDisturbed = false;

  want(of: number, mask: number): void {
    for (const cursor of this.members[of] ?? []) {
      if ((mask & (1 << cursor.partition)) === 0) this.drop(cursor);
      else this.session.want(cursor, cursor.position, 1_000);
      cursor.isWanted = (mask & (1 << cursor.partition)) !== 0;
    }
  }

  drop(cursor: Reading): void {
    cursor.isWanted = false;
    this.session.drop(cursor);
  }

  request(): void {
    if (this.inFlight !== null) return;
    const wanted = this.wanted();
    const planned = this.session.request();
    expect(planned === null).toBe(wanted === "");
    if (planned !== null) this.inFlight = { planned, wanted };
  }

  respond(): void {
    if (this.inFlight === null) return;
    const { planned, wanted } = this.inFlight;
    this.inFlight = null;
    const { response, looked } = this.broker.respond(planned);
    // Without a failure, the broker has the session with the same epoch.
    if (response.errorCode !== 0) expect(this.isDisturbed).toBe(true);
    else expect(asText(looked)).toBe(wanted);
    this.isDisturbed = false;
    const meaning = this.session.applyResponse(response);
    if (meaning.kind !== "results") return;
    for (const { cursor, set, from } of meaning.given) {
      expect([cursor.isWanted, from]).toEqual([true, cursor.position]);
      this.drop(cursor);
      if (set.errorCode !== 0 || set.records.length === 0) continue;
      const [first, to] = JSON.parse(`${set.records}`) as [number, number];
      expect(first).toBe(cursor.position);
      cursor.position = to;
    }
  }

  cut(isProcessed: boolean): void {
    if (this.inFlight === null) return;
    if (isProcessed) this.broker.respond(this.inFlight.planned);
    this.inFlight = null;
    this.session.endSession();
  }

  isDone(): boolean {
    return this.members.flat().every((cursor) => {
      return cursor.position === (this.broker.ends.get(partitionKey(cursor)) ?? 0);
    });
  }

  wanted(): string {
    const wanted = this.members.flat().filter(({ isWanted }) => isWanted);
    return asText(wanted.map((each) => ({ ...each, offset: each.position })));
  }
}

function asText(
  partitions: readonly (Omit<PlannedCursor, "key"> & { readonly offset: number })[],
): string {
  return partitions
    .map(({ topic, partition, offset }) => `${topic}/${partition}@${offset}`)
    .sort()
    .join(" ");
}

test("members that share a session each read their partitions whole, once and in order", () => {
  fc.assert(
    fc.property(fc.array(action, { maxLength: 60 }), (script) => {
      const world = new World();
      const { broker } = world;
      for (const step of script) {
        if (step.do === "want") world.want(step.of, step.mask);
        if (step.do === "request") world.request();
        if (step.do === "respond") world.respond();
        if (step.do === "append") {
          const key = `t${step.of}/${step.partition}`;
          broker.ends.set(key, (broker.ends.get(key) ?? 0) + step.count);
        }
        if (step.do === "drop") {
          for (const cursor of world.members[step.of] ?? []) world.drop(cursor);
        }
        if (step.do === "error") {
          const key = `t${step.of}/${step.partition}`;
          if (step.isThere) broker.errors.set(key, 6);
          else broker.errors.delete(key);
        }
        if (step.do === "evict") {
          broker.evictAll();
          world.isDisturbed = true;
        }
        if (step.do === "cut") world.cut(step.isProcessed);
        if (step.do === "room") broker.hasRoom = step.isThere;
        if (step.do === "limit") {
          broker.partitionsMax = step.partitions;
          broker.recordsMax = step.records;
        }
      }
      broker.errors.clear();
      let rounds = 0;
      for (; !world.isDone() && rounds < ROUNDS_MAX; rounds += 1) {
        for (const index of world.members.keys()) world.want(index, 7);
        world.request();
        world.respond();
      }
      expect(world.isDone()).toBe(true);
    }),
    { numRuns: costlyInputs(4) },
  );
});
