// The rows of the decision table of `key-order.ts`, and of `known` in `facts.ts`.

import assert from "node:assert/strict";
import { expect, test } from "vitest";
import { type Fact, Facts, readFact, UNKNOWN } from "../../../../src/router/order/facts.ts";
import {
  type Action,
  begun,
  ended,
  hasFact,
  isFree,
  type KeyState,
  type Result,
  read,
  restored,
  settled,
  written,
} from "../../../../src/router/order/key-order.ts";

type Event = (state: KeyState) => readonly Action[];

const reads =
  (offset: number): Event =>
  (state) =>
    read(state, offset);
const ends =
  (result: Result): Event =>
  (state) =>
    ended(state, result);
const isSettledNow =
  (offset: number): Event =>
  (state) =>
    settled(state, offset);

function fact(name: string): Fact {
  const found = readFact({ key: Buffer.from(`line/${name}`), value: null });
  assert(found !== null);
  return found.fact;
}

/** The actions that follow the last event, and what is left of the state. */
function after(start: KeyState, ...events: readonly Event[]): { actions: string; state: KeyState } {
  const state = structuredClone(start);
  let actions: readonly Action[] = [];
  for (const event of events) actions = event(state);
  return { actions: actions.map(({ kind, offset }) => `${kind} ${offset}`).join(", "), state };
}

/** What a new owner knows from these facts. */
function from(...names: readonly string[]): KeyState {
  const facts = new Facts();
  for (const name of names) facts.apply(fact(`${name}/k`), true);
  return restored(facts.known("k"));
}

const NEW = restored(UNKNOWN);
const diverted = [reads(5), ends("failed"), written] as const;

test.each<[string, KeyState, readonly Event[], string]>([
  ["a delivery of a free key is attempted", NEW, [reads(5)], "attempt 5"],
  [
    "a delivery that is known to be settled is processed",
    from("settled/5"),
    [reads(5)],
    "finish 5",
  ],
  ["also if only a later one has a fact", from("wait/7"), [begun, reads(5)], "finish 5"],
  ["a delivery that is retried is processed", from("retry/5"), [reads(5)], "finish 5"],
  ["a delivery that waits is processed", from("retry/5", "wait/6"), [reads(6)], "finish 6"],
  ["also while it is attempted", from("wait/6"), [begun, reads(6)], "finish 6"],
  ["behind one without a fact, it waits in memory", NEW, [reads(5), reads(6)], ""],
  ["behind a retry, it is set aside", from("retry/5"), [reads(6)], "aside 6"],
  ["behind one that waits, it is set aside", from("retry/5", "wait/6"), [reads(7)], "aside 7"],
  ["behind one with a fact that is attempted, too", from("wait/6"), [begun, reads(7)], "aside 7"],
  [
    "while its retry is being written, it waits in memory",
    NEW,
    [reads(5), ends("failed"), reads(6)],
    "",
  ],
  ["an accepted delivery is processed", NEW, [reads(5), ends("accepted")], "finish 5"],
  ["the next one follows", NEW, [reads(5), reads(6), ends("accepted")], "finish 5, attempt 6"],
  [
    "the fact of an accepted one is forgotten",
    from("wait/6"),
    [begun, ends("accepted")],
    "forget 6",
  ],
  ["a failed delivery is diverted", NEW, [reads(5), ends("failed")], "divert 5"],
  ["unless it is settled meanwhile", NEW, [reads(5), isSettledNow(5), ends("failed")], "finish 5"],
  ["a rejected delivery is buried", NEW, [reads(5), ends("rejected")], "bury 5"],
  ["or it holds its key", NEW, [reads(5), ends("held")], "hold 5"],
  [
    "those in memory are set aside behind a diverted one",
    NEW,
    [reads(5), reads(6), reads(7), ends("failed"), written],
    "aside 6, aside 7",
  ],
  [
    "the next one follows a buried one",
    NEW,
    [reads(5), reads(6), ends("rejected"), written],
    "attempt 6",
  ],
  [
    "those in memory are set aside if others have facts",
    from("wait/6", "wait/7"),
    [begun, ends("rejected"), reads(8), written],
    "aside 8, attempt 7",
  ],
  [
    "a settled delivery lets the next one follow",
    NEW,
    [...diverted, reads(6), isSettledNow(5)],
    "attempt 6",
  ],
  [
    "a fact about an earlier one changes nothing",
    NEW,
    [...diverted, reads(6), isSettledNow(4)],
    "",
  ],
  [
    "a fact about a later one settles those before it",
    NEW,
    [...diverted, reads(6), reads(7), isSettledNow(6)],
    "forget 6, attempt 7",
  ],
  [
    "a held one waits for its fact",
    NEW,
    [reads(5), ends("held"), written, reads(6), isSettledNow(5)],
    "attempt 6",
  ],
  [
    "a new owner begins with the first that waits",
    from("settled/5", "wait/6", "wait/7"),
    [begun],
    "attempt 6",
  ],
  ["or waits for the retry", from("retry/5", "wait/6"), [begun], ""],
])("%s", (_, start, events, actions) => {
  expect(after(start, ...events).actions).toBe(actions);
});

test("a key is free when nothing of it is left", () => {
  expect(isFree(after(NEW, reads(5)).state)).toBe(false);
  expect(isFree(after(NEW, ...diverted).state)).toBe(false);
  expect(isFree(after(NEW, ...diverted, isSettledNow(5)).state)).toBe(true);
});

test("a delivery has a fact while it is retried or waits, also while it is attempted", () => {
  const { state } = after(NEW, ...diverted, reads(6), reads(7));
  expect([4, 5, 6, 7].map((offset) => hasFact(state, offset))).toEqual([false, true, true, true]);
  const next = after(state, isSettledNow(5)).state;
  expect([5, 6, 7].map((offset) => hasFact(next, offset))).toEqual([false, true, true]);
  expect(hasFact(after(NEW, reads(5)).state, 5)).toBe(false);
});

test.each([
  [[], { settledTo: -1, head: null, waiting: [], last: -1 }],
  [["retry/5"], { settledTo: -1, head: 5, waiting: [], last: 5 }],
  [["retry/5", "settled/5"], { settledTo: 5, head: null, waiting: [], last: 5 }],
  [
    ["retry/5", "settled/4", "wait/7", "wait/6"],
    { settledTo: 4, head: 5, waiting: [6, 7], last: 7 },
  ],
  [["wait/6", "wait/9", "retry/8", "settled/5"], { settledTo: 5, head: 8, waiting: [9], last: 9 }],
])("the facts %j", (names, expected) => {
  const facts = new Facts();
  for (const name of names) facts.apply(fact(`${name}/k`), true);
  expect(facts.known("k")).toEqual(expected);
});

test("a copy is settled if a fact says so, or if a later delivery of its key is retried", () => {
  const facts = new Facts();
  for (const name of ["retry/8/k", "settled/5/k"]) facts.apply(fact(name), true);
  expect([5, 7, 8].map((offset) => facts.isSettled("k", offset))).toEqual([true, true, false]);
  facts.apply(fact("retry/8/k"), false);
  expect(facts.isSettled("k", 7)).toBe(false);
});
