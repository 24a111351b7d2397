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
import { findDifference, keyOf } from "./find-subset.ts";
import type { Balance } from "./hops.ts";
import { eachContent } from "./read-content.ts";
import type { Entry, Input } from "./read-input.ts";
import type { AuditSource, Window } from "./read-window.ts";

/** How long a write may have taken: its delivery was written before the earlier ledger record, and acknowledged later. */
const WRITES_MS: readonly number[] = [1_000, 5_000];

/** Ledger records with common input. */
export interface Group {
  readonly sum: Sum;
  readonly inputs: readonly Input[];
  /** Input that was processed more often than the topic contains it. */
  readonly candidates: readonly Input[];
  /** The sum, without what was taken from the content. Replaced by `take`. */
  rest: Sum;
}

export function groupsOf(entries: readonly Entry[], inputs: Iterable<Input>): readonly Group[] {
  const all = [...inputs];
  const groupOf = groupedBy(entries, all);
  const inputsOf = Map.groupBy(all, ({ entries: [entry] }) => entry && groupOf(entry));
  return [...Map.groupBy(entries, groupOf)].map(([group, own]) => {
    const sum = new Sum();
    for (const entry of own) sum.addAll(entry.sum);
    const inputs = inputsOf.get(group) ?? [];
    const candidates = inputs.flatMap((input) =>
      input.entries.slice(input.content.count).map(() => input),
    );
    return { sum, inputs, candidates, rest: sum };
  });
}

/** Returns a function that returns the same entry for all those of a group. */
function groupedBy(entries: readonly Entry[], inputs: readonly Input[]): (entry: Entry) => Entry {
  const parents = new Map<Entry, Entry>();
  const groupOf = (entry: Entry): Entry => {
    let group = entry;
    for (let next = parents.get(group); next !== undefined; next = parents.get(group)) group = next;
    // Later calls take one step.
    if (group !== entry) parents.set(entry, group);
    return group;
  };
  const join = (one: Entry, other: Entry): Entry => {
    const [group, otherGroup] = [groupOf(one), groupOf(other)];
    if (group !== otherGroup) parents.set(otherGroup, group);
    return one;
  };
  const common = [
    entries.filter(({ hasWaiting }) => hasWaiting),
    ...inputs.map((input) => input.entries),
  ];
  for (const some of common) if (some.length > 1) some.reduce(join);
  return groupOf;
}

/** Sets what is taken from the content, and what is still missing of each group. */
export async function settle(
  source: AuditSource,
  window: Window,
  balance: Balance,
  groups: readonly Group[],
): Promise<void> {
  const processed = ({ entries, content }: Input) => Math.min(entries.length, content.count);
  const open = groups.filter((group) => !take(group, processed));
  if (open.length === 0) return;
  const times = new Map<number, number[]>();
  for (const { inputs } of open)
    for (const { high, low } of inputs) times.set(keyOf(high, low), []);
  await eachContent(source, window, balance, ({ key, atMs }) => times.get(key)?.push(atMs));
  const writtenFrom = (writeMs: number) => (input: Input) => {
    const isWritten = (ms: number) =>
      input.entries.some(
        ({ fromMs, atMs, hasWaiting }) => fromMs - writeMs <= ms && (ms <= atMs || hasWaiting),
      );
    return times.get(keyOf(input.high, input.low))?.filter(isWritten).length ?? 0;
  };
  for (const group of open) {
    const isSettled = WRITES_MS.some((writeMs) => take(group, writtenFrom(writeMs)));
    if (!isSettled) take(group, processed);
  }
}

/**
 * Takes what is guessed, and corrects it by the sum of the group.
 *
 * @param guess how many of the deliveries that the topic contains are from the group.
 * @returns false if the sum does not show what to correct.
 */
function take(group: Group, guess: (input: Input) => number): boolean {
  const rest = new Sum();
  rest.addAll(group.sum);
  group.rest = rest;
  const taken: Input[] = [];
  const left: Input[] = [];
  for (const input of group.inputs) {
    const { content } = input;
    content.taken = guess(input);
    for (let at = 0; at < content.count; at += 1) {
      const isTaken = at < content.taken;
      (isTaken ? taken : left).push(input);
      if (isTaken) rest.remove(input);
    }
  }
  if (rest.isZero) return true;
  const found = findDifference(rest, [...left, ...group.candidates], taken);
  for (const input of found?.minus ?? []) {
    input.content.taken -= 1;
    rest.add(input);
  }
  for (const input of found?.plus ?? []) {
    // Otherwise, it is missing.
    if (input.content.taken === input.content.count) continue;
    input.content.taken += 1;
    rest.remove(input);
  }
  return found !== null;
}
