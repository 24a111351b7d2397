import fc from "fast-check";
import { expect, test } from "vitest";
import { readAssignment, shareOut } from "../../../../src/kafka/group/assignment.ts";

const TOPICS = ["a", "b", "c", "d"] as const;
const id = (client: string, at: number) =>
  `${client}-0b0f2c1e-6f0d-4b43-9d0b-3a0d7c0f6a${(10 + at).toString()}`;
const subscriptions = fc.array(fc.subarray([...TOPICS]), { minLength: 1, maxLength: 8 });
const counts = fc.tuple(...TOPICS.map(() => fc.integer({ min: 0, max: 9 })));

test("each partition that a process reads goes to one that reads it, equally, and the same each time", () => {
  fc.assert(
    fc.property(subscriptions, counts, subscriptions, (read, sizes, foreign) => {
      const own = read.map((topics, at) => ({ memberId: id("switchyard", at), topics }));
      const others = foreign.map((topics, at) => ({ memberId: id("script", at), topics }));
      const partitions = new Map(TOPICS.map((topic, at) => [topic as string, sizes[at] ?? 0]));
      const dealt = (all: typeof own) => {
        const { assignments } = shareOut(all, "switchyard", partitions);
        return new Map(
          assignments.map(({ memberId, assignment }) => [
            memberId,
            Object.entries(readAssignment(assignment, TOPICS)).flatMap(([topic, of]) =>
              of.map((partition) => `${topic}/${partition}`),
            ),
          ]),
        );
      };
      const found = dealt([...own, ...others]);
      expect(dealt([...others, ...own.toReversed()])).toEqual(found);
      for (const { memberId } of others) expect(found.get(memberId)).toEqual([]);
      for (const { memberId, topics } of own) {
        for (const each of found.get(memberId) ?? []) expect(topics).toContain(each.charAt(0));
      }
      const wanted = TOPICS.flatMap((topic, at) =>
        own.some(({ topics }) => topics.includes(topic))
          ? Array.from({ length: sizes[at] ?? 0 }, (_, partition) => `${topic}/${partition}`)
          : [],
      );
      expect([...found.values()].flat().toSorted()).toEqual(wanted.toSorted());
      for (const same of Map.groupBy(own, ({ topics }) => topics.join()).values()) {
        const sizesOfSame = same.map(({ memberId }) => found.get(memberId)?.length ?? 0);
        expect(Math.max(...sizesOfSame) - Math.min(...sizesOfSame)).toBeLessThanOrEqual(1);
      }
    }),
  );
});
