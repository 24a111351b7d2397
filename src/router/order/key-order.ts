/**
 * Decides which delivery of one key goes next. The owner of a queue's partition has one such state for each key with
 * deliveries that are attempted, retried or waiting. The functions have no other effects than on the state, which they change in
 * place, because a user may have 100,000 deliveries that wait: the shell carries out the actions, and reports what happened.
 *
 *   a delivery is read from the queue                    then
 *   it is settled, or a later one of its key has a       finish: it is processed
 *   fact and it has none
 *   it has a fact                                        finish
 *   an earlier one is attempted and has no fact          it waits in memory, unprocessed
 *   an earlier one is retried, waits, or is attempted    set aside: its fact `wait` is written, then it is processed
 *   and has a fact
 *   otherwise                                            attempt
 *
 *   an attempt ends                                      then
 *   accepted                                             finish, or forget its fact; the next one follows
 *   failed, but is settled meanwhile                     the same
 *   failed                                               divert: its copy, then its fact `retry`; the key waits
 *   rejected                                             bury: its dead letter, then its fact `settled`
 *   rejected, and dead letters hold their key            hold: its dead letter, then its fact `retry`; the key waits
 *
 *   these records are written                            then
 *   of a diverted or held delivery                       those that wait in memory are set aside
 *   of a buried delivery                                 the next one follows; if it has a fact, those that wait in
 *                                                        memory are set aside
 *
 *   a fact `settled` is read                             then
 *   of the delivery for which the key waits              the next one follows
 *   of an earlier one                                    nothing
 *   of a later one                                       those up to it are settled, too
 *
 *   a fact `wait` or `retry` is read                     then
 *   that this owner did not know, of a delivery that is  a former owner wrote it, late. The delivery is settled, because
 *   processed                                            this owner would know its fact otherwise: the fact is removed
 *   of a delivery that is not processed                  nothing, until it is
 *
 * An attempt therefore starts only if every earlier delivery of its key is known to be settled. Nothing that is settled
 * stops being settled, so what a former owner knows stays true, and its late attempts cannot break the order.
 */

import type { KnownKey } from "./facts.ts";

interface Running {
  readonly offset: number;
  /** It has a fact `wait`, and its record is processed. */
  readonly isAside: boolean;
  readonly phase: "attempt" | "divert" | "bury" | "hold";
}

export interface KeyState {
  settledTo: number;
  head: number | null;
  /** Deliveries with a fact `wait`, in order. */
  waiting: number[];
  /** Deliveries that were read and are not processed, in order. */
  behind: number[];
  running: Running | null;
  /** A delivery below this offset without a fact is settled. */
  readonly last: number;
}

export type ActionKind = "finish" | "forget" | "aside" | "attempt" | "divert" | "bury" | "hold";

export interface Action {
  readonly kind: ActionKind;
  readonly offset: number;
  readonly isAside: boolean;
}

export type Result = "accepted" | "failed" | "rejected" | "held";

type Actions = readonly Action[];

const NOTHING: Actions = [];

/** The state that the next owner begins with. */
export function restored({ settledTo, head, waiting, last }: KnownKey): KeyState {
  return { settledTo, head, waiting: [...waiting], last, behind: [], running: null };
}

/** `true` if nothing of the key is attempted, retried or waits. */
export function isFree({ head, waiting, behind, running }: KeyState): boolean {
  return head === null && waiting.length === 0 && behind.length === 0 && running === null;
}

/** `true` if the key counts as blocked. */
export function isBlocked({ head, waiting }: KeyState): boolean {
  return head !== null || waiting.length > 0;
}

export function read(state: KeyState, offset: number): Actions {
  const { head, waiting, behind, running } = state;
  const isPast = offset <= state.settledTo || offset < state.last || offset === head;
  const hasOwnFact = running?.offset === offset || isWaiting(state, offset);
  if (isPast || hasOwnFact) return [{ kind: "finish", offset, isAside: false }];
  const isInMemory = running !== null && !(running.isAside && running.phase === "attempt");
  if (isInMemory || behind.length > 0) {
    behind.push(offset);
    return NOTHING;
  }
  if (head !== null || waiting.length > 0 || running !== null) {
    waiting.push(offset);
    return [act("aside", offset)];
  }
  behind.push(offset);
  return next(state, []);
}

export function ended(state: KeyState, result: Result): Actions {
  const { running } = state;
  if (running === null) return NOTHING;
  const { offset, isAside } = running;
  if (result === "accepted" || offset <= state.settledTo) {
    state.settledTo = Math.max(state.settledTo, offset);
    state.running = null;
    return next(state, [{ kind: isAside ? "forget" : "finish", offset, isAside }]);
  }
  const phase = result === "failed" ? "divert" : result === "rejected" ? "bury" : "hold";
  state.running = { ...running, phase };
  return [{ kind: phase, offset, isAside }];
}

/** The records of the delivery that was diverted, buried or held are written, and its record is processed. */
export function written(state: KeyState): Actions {
  const { running } = state;
  if (running === null) return NOTHING;
  const { offset, phase } = running;
  state.running = null;
  if (phase === "bury") state.settledTo = Math.max(state.settledTo, offset);
  if (offset <= state.settledTo) return next(state, []);
  state.head = offset;
  return setAside(state);
}

export function settled(state: KeyState, offset: number): Actions {
  if (offset <= state.settledTo) return NOTHING;
  state.settledTo = offset;
  if (state.head !== null && state.head <= offset) state.head = null;
  const actions = [
    ...takeTo(state.waiting, offset).map((each) => act("forget", each)),
    ...takeTo(state.behind, offset).map((each) => act("finish", each)),
  ];
  return next(state, actions);
}

/** `true` if the delivery has a fact, so that its record is processed although it may not be settled. */
export function hasFact(state: KeyState, offset: number): boolean {
  const { head, running } = state;
  const isRunning = running?.offset === offset && running.isAside;
  return offset === head || isRunning || isWaiting(state, offset);
}

/** What a new owner starts with, when it has the state. */
export function begun(state: KeyState): Actions {
  return next(state, []);
}

/** Those that wait in memory are always later than those that were set aside. */
function next(state: KeyState, actions: Action[]): Actions {
  const { head, waiting, behind, running } = state;
  if (running !== null || head !== null) return actions;
  const aside = waiting.shift();
  const offset = aside ?? behind.shift();
  if (offset === undefined) return actions;
  const isAside = aside !== undefined;
  state.running = { offset, isAside, phase: "attempt" };
  const asides = isAside ? setAside(state) : NOTHING;
  return [...actions, ...asides, { kind: "attempt", offset, isAside }];
}

/** Those that wait in memory get facts. */
function setAside(state: KeyState): Actions {
  const { waiting, behind } = state;
  const asides = behind.map((offset) => act("aside", offset));
  waiting.push(...behind.splice(0));
  return asides;
}

function isWaiting({ waiting }: KeyState, offset: number): boolean {
  let [from, to] = [0, waiting.length];
  while (from < to) {
    const middle = (from + to) >>> 1;
    if ((waiting[middle] ?? 0) < offset) from = middle + 1;
    else to = middle;
  }
  return waiting[from] === offset;
}

/** Removes and returns those up to this offset. */
function takeTo(offsets: number[], to: number): number[] {
  const later = offsets.findIndex((each) => each > to);
  return offsets.splice(0, later === -1 ? offsets.length : later);
}

function act(kind: ActionKind, offset: number): Action {
  return { kind, offset, isAside: kind === "forget" };
}
