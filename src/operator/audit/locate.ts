/**
 * Names the deliveries that make a balance differ from zero. Only then are records read that are in the ledger: those
 * that were written at the hop (the content), and those from which the writer made them (its input).
 *
 *   step
 *   1  counts how often the topic contains each delivery of the bin
 *   2  for each ledger record of the writer, takes the deliveries of its input away from this. Those whose sum is still
 *      missing are found among the input that the topic does not contain (`find-missing.ts`)
 *      A delivery for several endpoints may have become several
 *   3  what is left in the topic are the deliveries of other writers, and those that are too many. If these cannot be
 *      told from each other, those that a crash excuses are too many; otherwise, they are only counted
 *
 *   a delivery that is too many                               is
 *   has an excuse (`excuses.ts`)                              repeated, or in progress
 *   has a message ID that the writer's input has              doubled
 *   has another message ID                                    extra: nobody wrote it, as far as the ledger shows
 */

import {
  type IncomingRecord,
  type PartitionPlace,
  partitionKey,
  placeOf,
  type RecordPlace,
} from "../../domain/record.ts";
import type { OffsetRange } from "../../kafka/port.ts";
import type { LedgerRecord } from "../../router/ledger/ledger-record.ts";
import { Sum } from "../../router/ledger/tallies.ts";
import { eachInParallel } from "../connect/partition-ranges.ts";
import { writerOf } from "./books.ts";
import { type Excuses, excusesOf, withExcuse } from "./excuses.ts";
import { byBalance, findMissing } from "./find-missing.ts";
import { findSubset, type Hash, keyOf, sumOf } from "./find-subset.ts";
import type { Balance, HopName } from "./hops.ts";
import { identifiedCall, identifiedDelivery } from "./identities.ts";
import { type Contained, readContent, readSpare, type Spare } from "./read-content.ts";
import { type AuditSource, readLedger, readRanges, type Window } from "./read-window.ts";

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
   * The number of deliveries that differ after a crash. Because of the copies that it made, it cannot be known whether
   * others are missing.
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

interface Candidate extends Hash {
  readonly place: RecordPlace;
  /** When the writer's ledger record was written. */
  readonly atMs: number;
}

/** What a ledger record of the writer says about the bin and the destination. */
interface Entry {
  readonly atMs: number;
  readonly read: LedgerRecord["read"];
  /** What is still missing of it. */
  readonly rest: Sum;
  /** Its input that the topic does not contain, and its input that the topic contains. */
  readonly candidates: Candidate[];
  readonly contained: Candidate[];
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
  await takeInput(source, window, entries, content, balance);
  correct(entries, content);
  const spare = await readSpare(source, window, balance, content);
  const excuses = excusesOf(spare, source.groups, window, balance, open.get(hop.name));
  const assigned = tooManyOf(spare, others, excuses);
  const found = findMissing(entries, missingSum(balance, assigned));
  // If some of each are left, they may be the same deliveries, whose input was deleted.
  const isClear = assigned !== null && (assigned.length === 0 || found.unnamed === 0);
  const absent = entries.flatMap(({ candidates }) => candidates);
  const explained = isClear ? null : byBalance(balance, absent, spare);
  const tooMany = explained?.tooMany ?? (isClear ? assigned : null);
  const surplus = Math.max(0, spare.length - others.count);
  // More cannot be missing: the content was deleted.
  const isMore = tooMany === null && found.missing.length > surplus - balance.count;
  const { missing } = explained ?? (isMore ? NOTHING : found);
  const findings: Finding[] = [];
  const { repeated: copies } = withExcuse(spare, excuses);
  const hasCopies = copies.length > 0 || window.books.changes().some(({ isCrash }) => isCrash);
  const isMixed = tooMany === null || entries.some(({ rest }) => rest.count < 0);
  if (hasCopies && isMixed) {
    const repeated = Math.min(copies.length, surplus);
    return { findings, unnamed: 0, unsure: surplus + missing.length, repeated, inProgress: 0 };
  }
  for (const { place, atMs } of missing.slice(0, NAMED_MAX)) {
    const at = new Date(atMs).toISOString();
    const last = `the ${hop.writer} stage wrote it to ${WHERE[hop.name]} before ${at}, but it is not there`;
    const messageId = await messageIdAt(source, place);
    findings.push({ kind: "missing", messageId, destination, place, atMs, last });
  }
  if (tooMany === null) {
    const { repeated, pending } = withExcuse(spare, excuses);
    const atChange = repeated.slice(0, surplus);
    const notYet = pending.slice(0, surplus - atChange.length);
    const excused = atChange.length + notYet.length;
    const rest = balance.count + missing.length - excused;
    // If the number is right, and the sum is not, one is missing and another one is extra.
    const unnamed = rest === 0 && excused === 0 ? 2 : Math.abs(rest);
    const inProgress = waitingOf(notYet);
    return { findings, unnamed, unsure: 0, repeated: atChange.length, inProgress };
  }
  const { repeated, pending, named } = withExcuse(tooMany, excuses);
  for (const each of named) findings.push(findingOf(each, destination));
  const more = Math.max(0, missing.length - NAMED_MAX);
  const unnamed = more + (explained === null ? found.unnamed : 0);
  const inProgress = waitingOf(pending);
  return { findings, unnamed, unsure: 0, repeated: repeated.length, inProgress };
}

const NOTHING = { missing: [] } as const;

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

async function readEntries(
  source: AuditSource,
  { ledger }: Window,
  { hop, bin, destination, fromMs, toMs }: Balance,
): Promise<{ entries: readonly Entry[]; others: Sum }> {
  const entries: Entry[] = [];
  const others = new Sum();
  // Nothing about the deliveries is in the ledger.
  if (!Number.isFinite(fromMs)) return { entries, others };
  await readLedger(source, ledger, { fromMs, toMs: toMs + 1 }, (record, atMs) => {
    const sum = record.tallies.find(bin, destination, hop.written);
    if (sum === null) return;
    const isOfWriter = writerOf(record.group, source.groups) === hop.writer;
    if (!isOfWriter) return others.addAll(sum);
    const rest = new Sum();
    rest.addAll(sum);
    entries.push({ atMs, read: record.read, rest, candidates: [], contained: [] });
  });
  entries.sort((one, other) => one.atMs - other.atMs);
  return { entries, others };
}

/** The end of the partition; 0 if the topic was recreated since, or is not read. */
function endOf({ partitions }: Window, place: PartitionPlace, topicId: string): number {
  const found = partitions.find(
    ({ topic, partition }) => topic === place.topic && partition === place.partition,
  );
  if (found === undefined) return 0;
  // Without an ID, it cannot be told.
  return topicId === "" || found.booked?.topicId === topicId ? found.end : 0;
}

/** A range of one partition that is in the ledger record of an entry. */
interface InputRange {
  readonly entry: Entry;
  readonly range: OffsetRange;
}

/**
 * Takes the input of each entry away from the content; what the content does not have is a candidate. The ranges of all
 * entries are read together, because those of a second are small, and there are thousands of them.
 */
async function takeInput(
  source: AuditSource,
  window: Window,
  entries: readonly Entry[],
  content: ReadonlyMap<number, Contained>,
  balance: Balance,
): Promise<void> {
  const inputs = new Map<string, { place: PartitionPlace; all: InputRange[] }>();
  for (const entry of entries) {
    for (const { topic, partition, topicId, ranges } of entry.read) {
      const place = { topic, partition };
      const end = endOf(window, place, topicId);
      const input = inputs.get(partitionKey(place)) ?? { place, all: [] };
      inputs.set(partitionKey(place), input);
      // A topic that was recreated has other records at the same offsets.
      for (const range of ranges) if (range[1] <= end) input.all.push({ entry, range });
    }
  }
  await eachInParallel([...inputs.values()], async ({ place, all }) => {
    const sorted = all.toSorted((one, other) => one.range[0] - other.range[0]);
    let next = 0;
    let covering: InputRange[] = [];
    await readRanges(source, place, joined(sorted), (record) => {
      const { offset } = record;
      for (let each = sorted[next]; each !== undefined && each.range[0] <= offset; ) {
        covering = covering.filter(({ range }) => range[1] > offset);
        covering.push(each);
        next += 1;
        each = sorted[next];
      }
      const hash = hashIn(record, balance);
      if (hash === null) return;
      for (const { entry, range } of covering) {
        const candidate = { ...hash, place: placeOf(record), atMs: entry.atMs };
        if (offset < range[1]) takeCandidate(entry, candidate, content);
      }
    });
  });
}

/** @param sorted in the order of their starts. */
function joined(sorted: readonly InputRange[]): readonly OffsetRange[] {
  const joined: OffsetRange[] = [];
  for (const { range } of sorted) {
    const [from, to] = joined.at(-1) ?? [0, -1];
    if (range[0] > to) joined.push(range);
    else joined[joined.length - 1] = [from, Math.max(to, range[1])];
  }
  return joined;
}

/** Null if the input is not about the bin and the destination. */
function hashIn(record: IncomingRecord, balance: Balance): Hash | null {
  const isCall = balance.hop.name === "queue";
  const more = balance.hop.name === "delay" ? 1 : 0;
  const found = isCall ? identifiedCall(record) : identifiedDelivery(record, more);
  const { bin, high, low } = found.identity;
  if (bin !== balance.bin || !(isCall || found.destination === balance.destination)) return null;
  return { high, low };
}

function takeCandidate(
  { rest, contained, candidates }: Entry,
  candidate: Candidate,
  content: ReadonlyMap<number, Contained>,
): void {
  if (take(content, candidate)) {
    rest.remove(candidate);
    contained.push(candidate);
  } else candidates.push(candidate);
}

/** Returns false if the topic does not contain the delivery once more. */
function take(content: ReadonlyMap<number, Contained>, { high, low }: Hash): boolean {
  const contained = content.get(keyOf(high, low));
  if (contained === undefined || contained.taken === contained.count) return false;
  contained.taken += 1;
  return true;
}

/**
 * Corrects what was taken, by the sums. Input that had another outcome is given back: a delivery that was repeated may
 * have been accepted once, and retried once. Then, what is left is taken: a delivery for several endpoints may have
 * become several.
 */
function correct(entries: readonly Entry[], content: ReadonlyMap<number, Contained>): void {
  for (const { rest, candidates, contained } of entries) {
    if (rest.count >= 0) continue;
    const wanted = new Sum();
    wanted.addAll(rest, -1);
    for (const each of findSubset(contained, wanted) ?? []) {
      const known = content.get(keyOf(each.high, each.low));
      if (known !== undefined) known.taken -= 1;
      rest.add(each);
      candidates.push(each);
    }
  }
  const isSpare = ({ high, low }: Hash) => {
    const { count = 0, taken = 0 } = content.get(keyOf(high, low)) ?? {};
    return taken < count;
  };
  for (const { rest, candidates, contained } of entries) {
    if (rest.count <= 0) continue;
    for (const each of findSubset([...contained, ...candidates].filter(isSpare), rest) ?? []) {
      take(content, each);
      rest.remove(each);
    }
  }
}
