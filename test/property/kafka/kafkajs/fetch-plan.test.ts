// Members that fetch through one plan from a broker that keeps sessions, with all that can go wrong:
// nothing is skipped or read twice, and the broker is asked for what members ask for and no more.

import fc from "fast-check";
import { expect, test } from "vitest";

import { FetchPlan, type Planned, type Wish } from "../../../../src/kafka/kafkajs/fetch-plan.ts";
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
  readonly plan = new FetchPlan<Wish>();
  readonly broker = new SessionBroker();
  readonly members = Array.from({ length: MEMBERS }, (_, index) => ({
    topic: `t${index}`,
    positions: new Array<number>(PARTITIONS).fill(0),
    wish: null as Wish | null,
  }));
  underWay: { readonly planned: Planned; readonly wished: string } | null = null;
  isDisturbed = false;

  wish(of: number, mask: number): void {
    const member = this.members[of];
    if (member === undefined) throw new Error("no such member");
    const partitions = member.positions.flatMap((offset, partition) =>
      (mask & (1 << partition)) === 0
        ? []
        : [{ topic: member.topic, partition, offset, maxBytes: 1_000 }],
    );
    if (member.wish !== null) this.plan.remove(member.wish);
    member.wish = { owner: member, partitions };
    expect(this.plan.add(member.wish)).toEqual([]);
  }

  request(): void {
    if (this.underWay !== null) return;
    const wished = this.wished();
    const planned = this.plan.request();
    expect(planned === null).toBe(wished === "");
    if (planned !== null) this.underWay = { planned, wished };
  }

  answer(): void {
    if (this.underWay === null) return;
    const { planned, wished } = this.underWay;
    this.underWay = null;
    const { response, looked } = this.broker.answer(planned);
    // Without a disturbance the broker knows session and epoch.
    if (response.errorCode !== 0) expect(this.isDisturbed).toBe(true);
    else expect(asText(looked)).toBe(wished);
    this.isDisturbed = false;
    const meaning = this.plan.answered(response);
    if (meaning.kind !== "answers") return;
    for (const [wish, sets] of meaning.answers) {
      const member = this.members.find((each) => each.wish === wish);
      if (member === undefined) throw new Error("an answer for nobody");
      this.plan.remove(wish);
      member.wish = null;
      for (const { partition, records, errorCode } of sets) {
        if (errorCode !== 0) continue;
        const [from, to] = JSON.parse(`${records}`) as [number, number];
        expect(from).toBe(member.positions[partition]);
        member.positions[partition] = to;
      }
    }
  }

  cut(isProcessed: boolean): void {
    if (this.underWay === null) return;
    if (isProcessed) this.broker.answer(this.underWay.planned);
    this.underWay = null;
    this.plan.lost();
    for (const member of this.members) {
      if (member.wish !== null) this.plan.remove(member.wish);
      member.wish = null;
    }
  }

  isDone(): boolean {
    return this.members.every(({ topic, positions }) =>
      positions.every((position, partition) => {
        return position === (this.broker.ends.get(`${topic}/${partition}`) ?? 0);
      }),
    );
  }

  wished(): string {
    return asText(this.members.flatMap(({ wish }) => wish?.partitions ?? []));
  }
}

function asText(partitions: Wish["partitions"]): string {
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
        if (step.do === "wish") world.wish(step.of, step.mask);
        if (step.do === "request") world.request();
        if (step.do === "answer") world.answer();
        if (step.do === "append") {
          const key = `t${step.of}/${step.partition}`;
          broker.ends.set(key, (broker.ends.get(key) ?? 0) + step.count);
        }
        if (step.do === "expire") {
          const member = world.members[step.of];
          if (member?.wish != null) world.plan.remove(member.wish);
          if (member !== undefined) member.wish = null;
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
      for (const index of world.members.keys()) world.wish(index, 7);
      let rounds = 0;
      for (; !world.isDone() && rounds < ROUNDS_MAX; rounds += 1) {
        for (const [index, { wish }] of world.members.entries()) {
          if (wish === null) world.wish(index, 7);
        }
        world.request();
        world.answer();
      }
      expect(world.isDone()).toBe(true);
    }),
    { numRuns: costlyInputs(4) },
  );
});
