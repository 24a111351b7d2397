/** The contract of requests for the offsets of many topics and groups. */

import { describe, expect, test } from "vitest";

import type { Bench } from "./bench.ts";

export function testManyOffsets(bench: Bench): void {
  describe("offsets of many", () => {
    test("topics have ids, each its own", async () => {
      const kafka = bench.connect();
      const [one, other] = [await bench.topic(kafka, 1), await bench.topic(kafka, 1)];
      const gone = bench.name();
      const ids = await kafka.admin.topicIds([one, gone, other]);
      expect([...ids.keys()].sort()).toEqual([one, other].sort());
      expect(ids.get(one)).not.toBe(ids.get(other));
      expect(await kafka.admin.topicIds([one])).toEqual(new Map([[one, ids.get(one)]]));
    });

    test("of topics and groups are those of each of them", async () => {
      const kafka = bench.connect();
      const [one, other] = [await bench.topic(kafka, 3), await bench.topic(kafka, 1)];
      const gone = bench.name();
      await bench.fill(kafka, one, 5, 2);
      const offsets = await kafka.admin.offsetsOf([one, gone, other]);
      expect([...offsets.keys()].sort()).toEqual([one, other].sort());
      expect(offsets.get(one)).toEqual(await kafka.admin.offsets(one));
      expect(offsets.get(other)).toEqual([{ partition: 0, first: 0, end: 0 }]);
      const groups = [bench.name(), bench.name()] as const;
      const commits = [{ partition: 2, offset: 4, metadata: "m" }];
      await kafka.admin.commit(groups[0], one, commits);
      const wanted = new Map([
        [groups[0], [one, other]],
        [groups[1], [other, gone]],
      ]);
      const committed = await kafka.admin.committedOf(wanted);
      expect(committed.get(groups[0])?.get(one)).toEqual(commits);
      expect(committed.get(groups[0])?.get(other) ?? []).toEqual([]);
      expect(committed.get(groups[1])?.get(other) ?? []).toEqual([]);
      expect(committed.get(groups[1])?.get(gone) ?? []).toEqual([]);
    });
  });
}
