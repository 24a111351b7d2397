// Members that fetch through one plan from a broker that keeps sessions, with all that can go wrong:
// nothing is skipped or read twice, and the broker is asked for what members ask for and no more.

import fc from "fast-check";
import { expect, test } from "vitest";

import {
  type FetchCursor,
  FetchPlan,
  type Planned,
} from "../../../../src/kafka/kafkajs/fetch-plan.ts";
import { costlyInputs } from "../../../support/build/generated-inputs.ts";
import { SessionBroker } from "../../../support/kafkajs/session-broker.ts";

const MEMBERS = 4;
const PARTITIONS = 3;
const ROUNDS_MAX = 200;

const action = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant("wish" as const),
      of: fc.nat(MEMBERS - 1),
      mask: fc.integer({ min: 1, max: 7 }),
    }),
  },
  { weight: 6, arbitrary: fc.record({ do: fc.constant("request" as const) }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant("answer" as const) }) },
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
    arbitrary: fc.record({ do: fc.constant("expire" as const), of: fc.nat(MEMBERS - 1) }),
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

class World {
  readonly plan = new FetchPlan<FetchCursor>();
  readonly broker = new SessionBroker();
  readonly members = Array.from({ length: MEMBERS }, (_, index) => ({
    topic: `t${index}`,
    positions: new Array<number>(PARTITIONS).fill(0),
    cursor: null as FetchCursor | null,
  }));
  inFlight: { readonly planned: Planned; readonly wanted: string } | null = null;
  isDisturbed = false;

  cursor(of: number, mask: number): void {
    const member = this.members[of];
    if (member === undefined) throw new Error("no such member");
    const partitions = member.positions.flatMap((offset, partition) =>
      (mask & (1 << partition)) === 0
        ? []
        : [{ topic: member.topic, partition, offset, maxBytes: 1_000 }],
    );
    if (member.cursor !== null) this.plan.remove(member.cursor);
    member.cursor = { owner: member, partitions };
    expect(this.plan.add(member.cursor)).toEqual([]);
  }

  request(): void {
    if (this.inFlight !== null) return;
    const wanted = this.wanted();
    const planned = this.plan.request();
    expect(planned === null).toBe(wanted === "");
    if (planned !== null) this.inFlight = { planned, wanted };
  }

  answer(): void {
    if (this.inFlight === null) return;
    const { planned, wanted } = this.inFlight;
    this.inFlight = null;
    const { response, looked } = this.broker.answer(planned);
    // Without a disturbance the broker knows session and epoch.
    if (response.errorCode !== 0) expect(this.isDisturbed).toBe(true);
    else expect(asText(looked)).toBe(wanted);
    this.isDisturbed = false;
    const meaning = this.plan.applyResponse(response);
    if (meaning.kind !== "results") return;
    for (const [cursor, sets] of meaning.results) {
      const member = this.members.find((each) => each.cursor === cursor);
      if (member === undefined) throw new Error("an answer for nobody");
      this.plan.remove(cursor);
      member.cursor = null;
      for (const { partition, records, errorCode } of sets) {
        if (errorCode !== 0) continue;
        const [from, to] = JSON.parse(`${records}`) as [number, number];
        expect(from).toBe(member.positions[partition]);
        member.positions[partition] = to;
      }
    }
  }

  cut(isProcessed: boolean): void {
    if (this.inFlight === null) return;
    if (isProcessed) this.broker.answer(this.inFlight.planned);
    this.inFlight = null;
    this.plan.endSession();
    for (const member of this.members) {
      if (member.cursor !== null) this.plan.remove(member.cursor);
      member.cursor = null;
    }
  }

  isDone(): boolean {
    return this.members.every(({ topic, positions }) =>
      positions.every((position, partition) => {
        return position === (this.broker.ends.get(`${topic}/${partition}`) ?? 0);
      }),
    );
  }

  wanted(): string {
    return asText(this.members.flatMap(({ cursor }) => cursor?.partitions ?? []));
  }
}

function asText(partitions: FetchCursor["partitions"]): string {
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
        if (step.do === "wish") world.cursor(step.of, step.mask);
        if (step.do === "request") world.request();
        if (step.do === "answer") world.answer();
        if (step.do === "append") {
          const key = `t${step.of}/${step.partition}`;
          broker.ends.set(key, (broker.ends.get(key) ?? 0) + step.count);
        }
        if (step.do === "expire") {
          const member = world.members[step.of];
          if (member?.cursor != null) world.plan.remove(member.cursor);
          if (member !== undefined) member.cursor = null;
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
      // Some wish for a part of theirs.
      for (const index of world.members.keys()) world.cursor(index, 7);
      let rounds = 0;
      for (; !world.isDone() && rounds < ROUNDS_MAX; rounds += 1) {
        for (const [index, { cursor }] of world.members.entries()) {
          if (cursor === null) world.cursor(index, 7);
        }
        world.request();
        world.answer();
      }
      expect(world.isDone()).toBe(true);
    }),
    { numRuns: costlyInputs(4) },
  );
});
