/**
 * Decides which delivery of one key goes next. The owner of a queue's partition has one such state for each key with
 * deliveries that are attempted, retried or waiting. Pure: the shell carries out the actions, and reports what happened.
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
  readonly settledTo: number;
  readonly head: number | null;
  /** Deliveries with a fact `wait`, in order. */
  readonly waiting: readonly number[];
  /** Deliveries that were read and are not processed, in order. */
  readonly behind: readonly number[];
  readonly running: Running | null;
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

type Decided = readonly [KeyState, readonly Action[]];

/** The state that the next owner begins with. */
export function restored({ settledTo, head, waiting, last }: KnownKey): KeyState {
  return { settledTo, head, waiting, last, behind: [], running: null };
}

/** `true` if the key has no state worth keeping. */
export function isFree({ head, waiting, behind, running }: KeyState): boolean {
  return head === null && waiting.length === 0 && behind.length === 0 && running === null;
}

/** `true` if the key counts as blocked. */
export function isBlocked({ head, waiting }: KeyState): boolean {
  return head !== null || waiting.length > 0;
}

export function read(state: KeyState, offset: number): Decided {
  const { head, waiting, behind, running } = state;
  const isPast = offset <= state.settledTo || offset < state.last || offset === head;
  const has = { kind: "finish", offset, isAside: false } as const;
  const hasFact = waiting.includes(offset) || running?.offset === offset;
  if (isPast || hasFact) return [state, [has]];
  const isInMemory = running !== null && !(running.isAside && running.phase === "attempt");
  if (isInMemory || behind.length > 0) return [{ ...state, behind: [...behind, offset] }, []];
  if (head !== null || waiting.length > 0 || running !== null) {
    return [{ ...state, waiting: [...waiting, offset] }, [act("aside", offset)]];
  }
  return next({ ...state, behind: [offset] }, []);
}

export function ended(state: KeyState, result: Result): Decided {
  const { running } = state;
  if (running === null) return [state, []];
  const { offset, isAside } = running;
  if (result === "accepted" || offset <= state.settledTo) return passed(state, running, []);
  const phase = result === "failed" ? "divert" : result === "rejected" ? "bury" : "hold";
  return [{ ...state, running: { ...running, phase } }, [{ kind: phase, offset, isAside }]];
}

/** The records of the delivery that was diverted, buried or held are written, and its record is processed. */
export function written(state: KeyState): Decided {
  const { running, waiting, behind } = state;
  if (running === null) return [state, []];
  const { offset, phase } = running;
  const settledTo = phase === "bury" ? Math.max(state.settledTo, offset) : state.settledTo;
  if (offset <= settledTo) return next({ ...state, settledTo, running: null }, []);
  const asides = behind.map((each) => act("aside", each));
  const all = [...waiting, ...behind];
  return [{ ...state, running: null, head: offset, waiting: all, behind: [] }, asides];
}

export function settled(state: KeyState, offset: number): Decided {
  if (offset <= state.settledTo) return [state, []];
  const isLater = (each: number) => each > offset;
  const actions = [
    ...state.waiting.filter((each) => !isLater(each)).map((each) => act("forget", each)),
    ...state.behind.filter((each) => !isLater(each)).map((each) => act("finish", each)),
  ];
  const head = state.head !== null && isLater(state.head) ? state.head : null;
  const [waiting, behind] = [state.waiting.filter(isLater), state.behind.filter(isLater)];
  return next({ ...state, settledTo: offset, head, waiting, behind }, actions);
}

/** `true` if the delivery has a fact, so that its record is processed although it may not be settled. */
export function hasFact({ head, waiting, running }: KeyState, offset: number): boolean {
  const isRunning = running?.offset === offset && running.isAside;
  return offset === head || waiting.includes(offset) || isRunning;
}

/** What a new owner starts with, when it has the state. */
export function begun(state: KeyState): Decided {
  return next(state, []);
}

function passed(
  state: KeyState,
  { offset, isAside }: Running,
  actions: readonly Action[],
): Decided {
  const settledTo = Math.max(state.settledTo, offset);
  const done: Action = { kind: isAside ? "forget" : "finish", offset, isAside };
  return next({ ...state, settledTo, running: null }, [...actions, done]);
}

/** Those that wait in memory are always later than those that were set aside. */
function next(state: KeyState, actions: readonly Action[]): Decided {
  const { head, waiting, behind, running } = state;
  if (running !== null || head !== null) return [state, actions];
  const [aside] = waiting;
  const [offset = aside] = aside === undefined ? behind : waiting;
  if (offset === undefined) return [state, actions];
  const isAside = aside !== undefined;
  const started = { offset, isAside, phase: "attempt" } as const;
  const attempt = { kind: "attempt", offset, isAside } as const;
  if (!isAside)
    return [{ ...state, behind: behind.slice(1), running: started }, [...actions, attempt]];
  const rest = [...waiting.slice(1), ...behind];
  const asides = behind.map((each) => act("aside", each));
  return [
    { ...state, waiting: rest, behind: [], running: started },
    [...actions, ...asides, attempt],
  ];
}

function act(kind: ActionKind, offset: number): Action {
  return { kind, offset, isAside: kind === "forget" };
}
