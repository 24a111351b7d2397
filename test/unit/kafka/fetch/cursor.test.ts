// The table of src/kafka/fetch/cursor.ts: a cursor is fetched while it has everything that is needed.

import { expect, test } from "vitest";
import { Cursor } from "../../../../src/kafka/fetch/cursor.ts";

/** Creates a source that records what is requested from it, and in which order the requests change. */
function source() {
  const changes: string[] = [];
  return {
    changes,
    want: (_cursor: Cursor, offset: number) => void changes.push(`from ${offset}`),
    drop: () => void changes.push("dropped"),
    detach: () => void changes.push("left"),
    respondedAtMs: () => 7,
  };
}

function cursor() {
  const owner = { fetched: () => undefined, failed: () => undefined };
  const policy = { recordMaxBytes: 1, skipsCorrupt: false };
  return new Cursor({ topic: "t", partition: 3 }, owner, { policy, maxBytes: 1 });
}

/** Creates a cursor that is fetched from offset 5 on. */
function fetched() {
  const [one, from] = [cursor(), source()];
  one.setSource(from);
  expect(from.changes).toEqual([]);
  one.moveTo(5);
  expect(from.changes.splice(0)).toEqual(["from 5"]);
  return { one, from, changes: from.changes };
}

test("a cursor without a source has no response, and is not fetched until it has one", () => {
  const [one, from] = [cursor(), source()];
  one.moveTo(5);
  expect(one.respondedAtMs()).toBe(null);
  one.setSource(from);
  expect([from.changes, one.respondedAtMs()]).toEqual([["from 5"], 7]);
});

test("one that is taken out is fetched again when it is given back, where it was moved", () => {
  const { one, changes } = fetched();
  one.take();
  one.moveTo(9);
  expect(changes).toEqual(["dropped"]);
  one.give();
  expect(changes).toEqual(["dropped", "from 9"]);
});

test("one that is paused while it is out is not fetched before it is resumed, in either order", () => {
  for (const order of [
    ["give", "resume"],
    ["resume", "give"],
  ] as const) {
    const { one, changes } = fetched();
    one.take();
    one.pause();
    one[order[0]]();
    expect(changes).toEqual(["dropped"]);
    one[order[1]]();
    expect(changes).toEqual(["dropped", "from 5"]);
  }
});

test("one that is moved while it is fetched is requested from there", () => {
  const { one, changes } = fetched();
  one.moveTo(0);
  expect(changes).toEqual(["from 0"]);
  one.pause();
  one.moveTo(1);
  expect(changes).toEqual(["from 0", "dropped"]);
});

test("one that moves to another leader is fetched there, although it was out", () => {
  const { one, changes } = fetched();
  const other = source();
  one.take();
  one.setSource(other);
  expect([changes, other.changes]).toEqual([["dropped", "left"], ["from 5"]]);
  one.setSource(other);
  expect(other.changes).toHaveLength(1);
});

test("one that is closed is fetched no more, whatever comes late", () => {
  const { one, changes } = fetched();
  one.close();
  one.give();
  one.resume();
  one.moveTo(6);
  expect(changes).toEqual(["left"]);
});

test.each([
  ["moved", (one: Cursor) => one.moveTo(6)],
  ["paused", (one: Cursor) => one.pause()],
  ["closed", (one: Cursor) => one.close()],
  ["placed elsewhere", (one: Cursor) => one.setSource(source())],
])("records that were on their way are late once it is %s", (_what, change) => {
  const { one } = fetched();
  const { turn } = one;
  change(one);
  expect(one.turn).not.toBe(turn);
});
