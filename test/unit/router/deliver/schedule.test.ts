// Which deliveries may start, and at what rate: schedule.ts and pace.ts.

import fc from "fast-check";
import { beforeEach, expect, test } from "vitest";

import { Schedule, type Scheduled } from "../../../../src/router/deliver/schedule.ts";
import { costlyInputs } from "../../../support/build/generated-inputs.ts";

/** A key with the same hash code as `a`, modulo the number of lines. */
const SAME_LINE_AS_A = "\u00e1";
interface Item extends Scheduled<Item> {
  readonly name: string | null;
}
let one: Item["owner"];
let two: Item["owner"];

beforeEach(() => {
  one = { lines: null };
  two = { lines: null };
});

const item = (owner: Item["owner"], key: string | null, name = key): Item => ({
  owner,
  key,
  name,
  behind: null,
  after: null,
  unit: null,
});

function startable(schedule: Schedule<Item>) {
  const names: (string | null)[] = [];
  for (let next = schedule.next(); next !== undefined; next = schedule.next())
    names.push(next.name);
  return names;
}

test("without a key, with different keys, and on different partitions all may start", () => {
  const schedule = new Schedule<Item>();
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
  const schedule = new Schedule<Item>();
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
  const schedule = new Schedule<Item>();
  const old = item(one, "a", "old");
  schedule.add(old);
  schedule.add(item(one, "a", "waiting"));
  schedule.add(item(two, "b", "other"));
  schedule.next();
  schedule.drop(one);
  const again = { lines: null };
  schedule.add(item(again, "a", "new"));
  schedule.add(item(again, "a", "newer"));
  expect(startable(schedule)).toEqual(["other", "new"]);
  schedule.end(old);
  expect(startable(schedule)).toEqual([]);
});

test("whatever comes and ends when: each starts once, and each key in order", () => {
  const keys = ["a", SAME_LINE_AS_A, "b", null];
  const actions = fc.array(fc.oneof(fc.constantFrom(...keys), fc.nat(9)));
  fc.assert(
    fc.property(actions, (script) => {
      const schedule = new Schedule<Item>();
      const started: Item[] = [];
      const underWay: Item[] = [];
      const added: Item[] = [];
      const start = () => {
        for (let next = schedule.next(); next !== undefined; next = schedule.next()) {
          const { key } = next;
          expect(key !== null && underWay.some((other) => other.key === key)).toBe(false);
          underWay.push(next);
          started.push(next);
        }
      };
      const end = (at: number) => {
        const [ended] = underWay.splice(at % underWay.length, 1);
        if (ended !== undefined) schedule.end(ended);
      };
      for (const action of script) {
        if (typeof action === "number") end(action);
        else {
          const made = item(one, action, `${added.length}`);
          added.push(made);
          schedule.add(made);
        }
        start();
      }
      while (underWay.length > 0) {
        end(0);
        start();
      }
      expect(started).toHaveLength(added.length);
      for (const key of keys.filter((each) => each !== null)) {
        expect(started.filter((each) => each.key === key)).toEqual(
          added.filter((each) => each.key === key),
        );
      }
    }),
    { numRuns: costlyInputs(4) },
  );
});

test("one of a unit that ends before an earlier one with its key lets nothing start", () => {
  const schedule = new Schedule<Item>();
  const first = item(one, "a", "first");
  const joined = { ...item(one, "a", "joined"), unit: {} };
  for (const each of [first, joined, item(one, "a", "last")]) schedule.add(each);
  expect(startable(schedule)).toEqual(["first"]);
  expect(schedule.following(first)).toBe(joined);
  schedule.end(joined);
  expect(startable(schedule)).toEqual([]);
  schedule.end(first);
  expect(startable(schedule)).toEqual(["last"]);
});

test("one of a unit does not start when the one before it ends", () => {
  const schedule = new Schedule<Item>();
  const first = item(one, "a", "first");
  const joined = { ...item(one, "a", "joined"), unit: {} };
  for (const each of [first, joined, item(one, "a", "last")]) schedule.add(each);
  expect(startable(schedule)).toEqual(["first"]);
  schedule.end(first);
  expect(startable(schedule)).toEqual([]);
  schedule.end(joined);
  expect(startable(schedule)).toEqual(["last"]);
});
