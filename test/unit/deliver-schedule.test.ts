// Who may start, and how fast: schedule.ts and pace.ts.

import fc from "fast-check";
import { expect, test } from "vitest";

import { createSchedule } from "../../src/deliver/schedule.ts";
import { costlyInputs } from "../support/generated-inputs.ts";

const one = { partition: 1 };
const two = { partition: 2 };
const item = (owner: object, key: string | null, name = key) => ({ owner, key, name });

function startable(schedule: ReturnType<typeof createSchedule<ReturnType<typeof item>>>) {
  const names: (string | null)[] = [];
  for (let next = schedule.next(); next !== undefined; next = schedule.next())
    names.push(next.name);
  return names;
}

test("without a key, with different keys, and on different partitions all may start", () => {
  const schedule = createSchedule<ReturnType<typeof item>>();
  for (const each of [
    item(one, null, "x"),
    item(one, null, "y"),
    item(one, "a"),
    item(one, "b"),
    item(two, "a", "a2"),
  ]) {
    schedule.add(each);
  }
  expect(startable(schedule)).toEqual(["x", "y", "a", "b", "a2"]);
  expect(schedule.hasNext()).toBe(false);
});

test("with the same key each waits for the one before it", () => {
  const schedule = createSchedule<ReturnType<typeof item>>();
  const items = ["1", "2", "3"].map((name) => item(one, "a", name));
  for (const each of items) schedule.add(each);
  for (const each of items) {
    expect(startable(schedule)).toEqual([each.name]);
    schedule.end(each);
  }
  schedule.add(item(one, "a", "4"));
  expect(startable(schedule)).toEqual(["4"]);
});

test("a partition that was taken away is forgotten, and what ends late frees nothing of its successor", () => {
  const schedule = createSchedule<ReturnType<typeof item>>();
  const old = item(one, "a", "old");
  schedule.add(old);
  schedule.add(item(one, "a", "waiting"));
  schedule.add(item(two, "b", "other"));
  schedule.next();
  schedule.drop(one);
  const again = { partition: 1 };
  schedule.add(item(again, "a", "new"));
  schedule.add(item(again, "a", "newer"));
  expect(startable(schedule)).toEqual(["other", "new"]);
  schedule.end(old);
  expect(startable(schedule)).toEqual([]);
});

test("whatever comes and ends when: each starts once, and each key in order", () => {
  const actions = fc.array(
    fc.oneof(fc.constantFrom("a", "b", "c", null), fc.constant("end" as const)),
  );
  fc.assert(
    fc.property(actions, (script) => {
      const schedule = createSchedule<ReturnType<typeof item>>();
      const started: ReturnType<typeof item>[] = [];
      const underWay: ReturnType<typeof item>[] = [];
      const added: ReturnType<typeof item>[] = [];
      const start = () => {
        for (let next = schedule.next(); next !== undefined; next = schedule.next()) {
          const { key } = next;
          expect(key !== null && underWay.some((other) => other.key === key)).toBe(false);
          underWay.push(next);
          started.push(next);
        }
      };
      const end = () => {
        const ended = underWay.shift();
        if (ended !== undefined) schedule.end(ended);
      };
      for (const action of script) {
        if (action === "end") end();
        else {
          const made = item(one, action, `${added.length}`);
          added.push(made);
          schedule.add(made);
        }
        start();
      }
      while (underWay.length > 0) {
        end();
        start();
      }
      expect(started).toHaveLength(added.length);
      for (const key of ["a", "b", "c"]) {
        expect(started.filter((each) => each.key === key)).toEqual(
          added.filter((each) => each.key === key),
        );
      }
    }),
    { numRuns: costlyInputs(4) },
  );
});
