/**
 * Takes the deliveries that the writer made of its input away from the content.
 *
 * Input that was processed again may have had another outcome each time. Which ledger record the content is from cannot
 * be told then, so all ledger records with common input are one group, as are all those with deliveries that waited in
 * the queue of a destination whose order is strict. What a group has written is guessed. If the sum of the group is that
 * of the guess, or if they differ by a few deliveries, which follow from the sum, it is certain.
 *
 *   guess                                         differs if
 *   all input that the topic contains, but not    a process wrote deliveries and crashed, and the next owner delivered
 *   more often than it was processed              them; or a delivery for several endpoints became several
 *   what was written between a ledger record      writes took long, or the process that crashed wrote at the same time
 *   and the one before it
 */

import { Sum } from "../../router/ledger/tallies.ts";
import { findDifference, findSubset } from "./find-subset.ts";
import type { Entry, Input } from "./read-input.ts";

/** A group of ledger records with common input. */
export interface Settled {
  /** Input whose deliveries were written, but are not in the topic; if this is not certain, all that may be such. */
  readonly lacking: readonly Input[];
  readonly isCertain: boolean;
}

/** How many of the deliveries that the topic contains are from the input. */
type Guess = (input: Input) => number;

const processed: Guess = ({ entries, content }) => Math.min(entries.length, content.times.length);

/** @param writeMs how long a write took: it may have begun before the earlier ledger record, and ended after it. */
function writtenWithin(writeMs: number): Guess {
  return ({ entries, content }) =>
    content.times.filter((ms) =>
      entries.some(
        ({ fromMs, atMs, hasWaiting }) => fromMs - writeMs <= ms && (ms <= atMs || hasWaiting),
      ),
    ).length;
}

const GUESSES: readonly Guess[] = [processed, writtenWithin(1_000), writtenWithin(5_000)];

/** Sets what is taken from the content, and returns what each group lacks. */
export function settle(entries: readonly Entry[], inputs: Iterable<Input>): readonly Settled[] {
  const all = [...inputs];
  const groups = groupsOf(entries, all);
  const inputsOf = Map.groupBy(all, ({ entries: [entry] }) => entry && groups.get(entry));
  return [...new Set(groups.values())].map((group) => settled(group, inputsOf.get(group) ?? []));
}

/** Returns the group of each entry. */
function groupsOf(
  entries: readonly Entry[],
  inputs: readonly Input[],
): ReadonlyMap<Entry, readonly Entry[]> {
  const groups = new Map<Entry, readonly Entry[]>(entries.map((entry) => [entry, [entry]]));
  const waiting = entries.filter(({ hasWaiting }) => hasWaiting);
  for (const some of [waiting, ...inputs.map((input) => input.entries)]) {
    const joined = new Set(some.map((entry) => groups.get(entry) ?? []));
    if (joined.size < 2) continue;
    const group = [...joined].flat();
    for (const entry of group) groups.set(entry, group);
  }
  return groups;
}

function settled(entries: readonly Entry[], inputs: readonly Input[]): Settled {
  const sum = new Sum();
  for (const entry of entries) sum.addAll(entry.sum);
  // What was processed more often than the topic contains it.
  const absent = inputs.flatMap((input) =>
    input.entries.slice(input.content.times.length).map(() => input),
  );
  for (const guess of GUESSES) {
    const lacking = take(sum, inputs, absent, guess);
    if (lacking !== null) return { lacking, isCertain: true };
  }
  for (const input of inputs) input.content.taken = processed(input);
  return { lacking: absent, isCertain: false };
}

/** Takes what is guessed, and corrects it by the sum. Returns what is lacking; null if the sum does not show it. */
function take(
  sum: Sum,
  inputs: readonly Input[],
  absent: readonly Input[],
  guess: Guess,
): readonly Input[] | null {
  const rest = new Sum();
  rest.addAll(sum);
  const taken: Input[] = [];
  const left: Input[] = [];
  for (const input of inputs) {
    const { content } = input;
    content.taken = guess(input);
    for (const at of content.times.keys()) {
      const isTaken = at < content.taken;
      (isTaken ? taken : left).push(input);
      if (isTaken) rest.remove(input);
    }
  }
  const onlyAbsent = findSubset(absent, rest);
  const more = [...left, ...absent];
  const found = onlyAbsent ? { plus: onlyAbsent, minus: [] } : findDifference(rest, more, taken);
  if (found === null) return null;
  for (const { content } of found.minus) content.taken -= 1;
  const lacking: Input[] = [];
  for (const input of found.plus) {
    if (input.content.taken === input.content.times.length) lacking.push(input);
    else input.content.taken += 1;
  }
  return lacking;
}
