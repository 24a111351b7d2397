// Arrivals in a sync: bits in memory, entries in the store, and the room for them.

import { expect, test } from "vitest";

import {
  ArrivalRoom,
  Arrivals,
  readNumbers,
  writeNumbers,
} from "../../../../src/router/audience/seen-members.ts";

const PIECE = 65_536;

test.each([
  [[]],
  [[0]],
  [[0, 1, 127, 128, 129, 16_383, 16_384]],
  [[5, 2 ** 31, 2 ** 32 + 1, Number.MAX_SAFE_INTEGER]],
])("%j is read as it was written", (numbers) => {
  expect([...readNumbers(writeNumbers(numbers))]).toEqual(numbers);
});

test("numbers are written in order, in a few bytes each", () => {
  expect([...readNumbers(writeNumbers([9, 3, 7]))]).toEqual([3, 7, 9]);
  const numbers = Array.from({ length: 10_000 }, (_, index) => index * 100);
  // Each is one byte, in base64.
  expect(writeNumbers(numbers).length).toBeLessThanOrEqual(10_000 * 1.4);
});

test("what entries hold has arrived, and nothing else", () => {
  const arrivals = new Arrivals(9, new ArrivalRoom());
  const store: { at: number; text: string }[] = [];
  const writeEntry = () => {
    const entry = arrivals.takeEntry();
    if (entry !== null) store.push(entry);
  };
  for (const number of [0, 7, PIECE, 3 * PIECE - 1]) expect(arrivals.add(number)).toBe(true);
  writeEntry();
  writeEntry();
  for (const number of [8, PIECE - 1]) expect(arrivals.add(number)).toBe(true);
  writeEntry();
  expect(store.map(({ at }) => at)).toEqual([0, 1]);
  const again = new Arrivals(9, new ArrivalRoom());
  for (const entry of store) again.read(entry);
  for (const each of [arrivals, again]) {
    const known = Array.from({ length: 3 * PIECE }, (_, number) => number).filter((number) =>
      each.has(number),
    );
    expect(known).toEqual([0, 7, 8, PIECE - 1, PIECE, 3 * PIECE - 1]);
  }
  again.add(1);
  expect(again.takeEntry()?.at).toBe(2);
});

test("where there is no room a number is rejected, and has not arrived", () => {
  const room = new ArrivalRoom(2);
  const [one, other] = [new Arrivals(1, room), new Arrivals(2, room)];
  expect([one.add(3), other.add(PIECE), one.add(PIECE), one.has(PIECE)]).toEqual([
    true,
    true,
    false,
    false,
  ]);
  expect(one.add(4)).toBe(true);
  other.clear();
  expect([other.has(PIECE), other.takeEntry(), one.add(PIECE)]).toEqual([false, null, true]);
});
