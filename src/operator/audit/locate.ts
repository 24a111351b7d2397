/**
 * Names the deliveries that make a balance differ from zero. Only then are records read that are in the ledger: those
 * that were written at the hop (the content), and those from which the writer made them (its input).
 *
 *   step
 *   1  counts how often the topic contains each delivery of the bin
 *   2  for each ledger record of the writer, takes the deliveries that were made of its input away from this
 *      (`settle.ts`). Those whose sum is still missing are found among the input that the topic does not contain
 *      (`find-missing.ts`)
 *   3  what is left in the topic are the deliveries of other writers, and those that are too many. If these cannot be
 *      told from each other, those that a crash excuses are too many; otherwise, they are only counted
 *
 *   a delivery that is too many                               is
 *   has an excuse (`excuses.ts`)                              repeated, or in progress
 *   has a message ID that the writer's input has              doubled
 *   has another message ID                                    extra: nobody wrote it, as far as the ledger shows
 */

import type { RecordPlace } from "../../domain/record.ts";
import type { Sum } from "../../router/ledger/tallies.ts";
import { changesOf, type Excuses, excusesOf, withExcuse } from "./excuses.ts";
import { findMissing } from "./find-missing.ts";
import { findDifference, findSubset, sumOf } from "./find-subset.ts";
import type { Balance, HopName } from "./hops.ts";
import { identifiedCall, identifiedDelivery } from "./identities.ts";
import { eachContent, readContent, readSpare, type Spare } from "./read-content.ts";
import { type Input, readEntries, readInput } from "./read-input.ts";
import { type AuditSource, readRanges, type Window } from "./read-window.ts";
import { groupsOf, settle } from "./settle.ts";

/** Maximum number of missing deliveries of ten minutes and a destination that are named. The others are counted. */
const NAMED_MAX = 1_000;

export interface Finding {
  readonly kind: "missing" | "doubled" | "extra" | "skipped" | "unread";
  /** Null if it cannot be known. */
  readonly messageId: string | null;
  /** Null for a call. */
  readonly destination: string | null;
  readonly place: RecordPlace;
  /** When the record was written; for what is missing, when the ledger was; null if it cannot be known. */
  readonly atMs: number | null;
  /** The last thing that is known. */
  readonly last: string;
}

/** By hop, the keys (`keyOf`) of the writer's input that is not in the ledger. */
export type OpenInput = ReadonlyMap<HopName, ReadonlySet<number>>;

export interface Located {
  /**
   * The number of deliveries that differ after a crash or a change of the owner. Because of the copies that were written
   * then, it cannot be known whether others are missing.
   */
  readonly unsure: number;
  readonly findings: readonly Finding[];
  /** Deliveries that were written again after a crash. */
  readonly repeated: number;
  /** Deliveries that wait, but whose writer is not done: their input waits, too. */
  readonly inProgress: number;
  /** The number of missing deliveries that could not be told from others. */
  readonly unnamed: number;
}

/** @param open the keys of input that is not in the ledger, by hop. */
export async function locate(
  source: AuditSource,
  window: Window,
  balance: Balance,
  open: OpenInput,
): Promise<Located> {
  const { hop, destination } = balance;
  const content = await readContent(source, window, balance);
  const { entries, others } = await readEntries(source, window, balance);
  const inputs = await readInput(source, window, balance, entries, content);
  const groups = groupsOf(entries, inputs);
  await settle(source, window, balance, groups);
  const spare = await readSpare(source, window, balance, content);
  const excuses = excusesOf(spare, source.groups, window, balance, open.get(hop.name));
  const assigned = tooManyOf(spare, others, excuses);
  const found = findMissing(groups, missingSum(balance, assigned));
  const isMixed = groups.some(({ rest }) => rest.count <= 0 && !rest.isZero);
  // If some of each are left, they may be the same deliveries, whose input was deleted.
  const isClear = assigned !== null && !isMixed && (assigned.length === 0 || found.unnamed === 0);
  const absent = groups.flatMap(({ candidates }) => candidates);
  const explained = isClear ? null : findDifference(balance, spare, absent);
  const tooMany = explained?.plus ?? (isClear ? assigned : null);
  const surplus = Math.max(0, spare.length - others.count);
  // More cannot be missing: the content was deleted.
  const isMore = assigned === null && found.missing.length > surplus - balance.count;
  const missing = explained?.minus ?? (isMore ? [] : found.missing);
  const { repeated, pending, named } = withExcuse(tooMany ?? spare, excuses);
  if (tooMany === null) {
    const atChange = repeated.slice(0, surplus);
    // Copies only add to the content: if there is less, something is missing.
    if (balance.count >= 0 && (await mayHaveCopies(source, window, balance))) {
      // The topic contains all that it should, so what is missing of a ledger record is.
      const certain = assigned === null ? [] : missing;
      const findings = await missingIn(source, balance, certain);
      const unsure = Math.max(1, balance.count, surplus + missing.length - certain.length);
      return { findings, unnamed: 0, unsure, repeated: atChange.length, inProgress: 0 };
    }
    const notYet = pending.slice(0, surplus - atChange.length);
    const excused = atChange.length + notYet.length;
    const rest = balance.count + missing.length - excused;
    // If the number is right, and the sum is not, one is missing and another one is extra.
    const unnamed = rest === 0 && excused === 0 ? 2 : Math.abs(rest);
    const findings = await missingIn(source, balance, missing);
    const inProgress = waitingOf(notYet);
    return { findings, unnamed, unsure: 0, repeated: atChange.length, inProgress };
  }
  const findings = [
    ...(await missingIn(source, balance, missing)),
    ...named.map((each) => findingOf(each, destination)),
  ];
  const more = Math.max(0, missing.length - NAMED_MAX);
  const unnamed = more + (explained === null ? found.unnamed : 0);
  const inProgress = waitingOf(pending);
  return { findings, unnamed, unsure: 0, repeated: repeated.length, inProgress };
}

/** True if an owner that crashed may have written some of the deliveries, also if it was the first one of all. */
async function mayHaveCopies(
  source: AuditSource,
  window: Window,
  balance: Balance,
): Promise<boolean> {
  const { books } = window;
  if (books.changes().some(({ isCrash }) => isCrash)) return true;
  const isAtChange = changesOf(source.groups, books, balance);
  let isAny = false;
  await eachContent(source, window, balance, ({ atMs }) => {
    isAny ||= isAtChange(atMs);
  });
  return isAny;
}

async function missingIn(
  source: AuditSource,
  { hop, destination }: Balance,
  missing: readonly Input[],
): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const { place, entries } of missing.slice(0, NAMED_MAX)) {
    const atMs = entries[0]?.atMs ?? 0;
    const at = new Date(atMs).toISOString();
    const last = `the ${hop.writer} stage wrote it to ${WHERE[hop.name]} before ${at}, but it is not there`;
    const messageId = await messageIdAt(source, place);
    findings.push({ kind: "missing", messageId, destination, place, atMs, last });
  }
  return findings;
}

function waitingOf(pending: readonly Spare[]): number {
  return pending.filter(({ isWaiting }) => isWaiting).length;
}

/** The balance, without what is too many. */
function missingSum(balance: Balance, tooMany: readonly Spare[] | null): Sum | null {
  if (tooMany === null) return null;
  const sum = sumOf(tooMany);
  sum.addAll(balance, -1);
  return sum;
}

/** Null if it cannot be told which of them other writers have written. */
function tooManyOf(
  spare: readonly Spare[],
  others: Sum,
  excuses: Excuses,
): readonly Spare[] | null {
  const all = withoutOthers(spare, others);
  if (all !== null) return all;
  const { repeated, pending, named: rest } = withExcuse(spare, excuses);
  const named = withoutOthers(rest, others);
  return named && [...repeated, ...pending, ...named];
}

const WHERE: Readonly<Record<HopName, string>> = {
  queue: "the destination's queue",
  delay: "a delay topic",
  retry: "the destination's retry topic",
};

function findingOf({ messageId, place, isKnown, atMs }: Spare, destination: string): Finding {
  const at = new Date(atMs).toISOString();
  const last = isKnown
    ? `written at ${at}, although the stages had already written it`
    : `written at ${at}, but not by Switchyard`;
  return { kind: isKnown ? "doubled" : "extra", messageId, destination, place, atMs, last };
}

function withoutOthers(spare: readonly Spare[], others: Sum): readonly Spare[] | null {
  const rest = sumOf(spare);
  rest.addAll(others, -1);
  return findSubset(spare, rest);
}

async function messageIdAt(source: AuditSource, place: RecordPlace): Promise<string | null> {
  const found: (string | null)[] = [];
  await readRanges(source, place, [[place.offset, place.offset + 1]], (record) => {
    const isCall = place.topic === source.topics.calls;
    found.push((isCall ? identifiedCall(record) : identifiedDelivery(record)).messageId);
  });
  return found[0] ?? null;
}
