/**
 * Names the deliveries that make a balance differ from zero. Only then are records read that are in the ledger: those
 * that were written at the hop (the content), and those from which the writer made them (its input).
 *
 *   step
 *   1  counts how often the topic contains each delivery of the bin
 *   2  for each ledger record of the writer, takes the deliveries that were made of its input away from this
 *      (`settle.ts`). What it lacks is missing, or was deleted after its reader had processed it
 *   3  what is left in the topic are the deliveries of other writers, and those that are too many
 *   4  explains the balance by what is lacking and by what is left (`explain.ts`)
 *
 *   if there is no explanation, and the topic                 then
 *   contains all that its reader has processed                what is certainly lacking is missing
 *   does not contain less than it should, but deliveries      whether others are missing cannot be known
 *     that were written during a crash
 *   otherwise                                                 the number of those that differ is known
 *
 *   a delivery that is too many                               is
 *   has an excuse (`excuses.ts`)                              repeated, or in progress
 *   has a message ID that the writer's input has              doubled
 *   has another message ID                                    extra: nobody wrote it, as far as the ledger shows
 */

import type { RecordPlace } from "../../domain/record.ts";
import { Sum } from "../../router/ledger/tallies.ts";
import { changesOf, excuseOf, readSpare, type Spare } from "./excuses.ts";
import { explain } from "./explain.ts";
import type { Balance, HopName } from "./hops.ts";
import { identified } from "./identities.ts";
import { type Content, readContent } from "./read-content.ts";
import { type Input, readEntries, readInput } from "./read-input.ts";
import { type AuditSource, readRanges, type Window } from "./read-window.ts";
import { settle } from "./settle.ts";

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
  const groups = settle(entries, await readInput(source, window, balance, entries, content));
  const isAtChange = changesOf(source.groups, window.books, balance);
  const spare = await readSpare(source, window, balance, content, (copy) =>
    excuseOf(copy, isAtChange, window, open.get(hop.name)),
  );
  const lacking = groups.flatMap((group) => group.lacking);
  const explained = explain(balance, spare, lacking, others);
  const certain = groups.flatMap((group) => (group.isCertain ? group.lacking : []));
  const isWhole = isAllOf(content, balance, [...entries.map(({ sum }) => sum), others]);
  const missing = explained?.missing ?? (isWhole ? certain : []);
  const surplus = balance.count + missing.length;
  const excused = spare.filter(({ excuse }) => excuse !== null).slice(0, Math.max(0, surplus));
  const tooMany = explained?.tooMany ?? excused;
  const findings = [
    ...(await missingIn(source, balance, missing)),
    ...tooMany.flatMap((each) => (each.excuse === null ? findingOf(each, destination) : [])),
  ];
  const repeated = tooMany.filter(({ excuse }) => excuse === "repeated").length;
  const inProgress = tooMany.filter(({ excuse, isWaiting }) => {
    return excuse === "pending" && isWaiting;
  }).length;
  const unlisted = Math.max(0, missing.length - NAMED_MAX);
  const located = { findings, repeated, inProgress, unsure: 0, unnamed: unlisted };
  if (explained !== null) return located;
  // Copies only add to the content: if there is less, something is missing.
  const mayBeCopies = [...content.byKey.values()].some(({ times }) => times.some(isAtChange));
  if (surplus >= 0 && mayBeCopies) return { ...located, unsure: Math.max(1, surplus) };
  const rest = Math.abs(surplus - excused.length);
  // If the number is right, and the sum is not, one is missing and another one is extra.
  const isOther = rest === 0 && excused.length === 0;
  return { ...located, unnamed: unlisted + (isOther ? 2 : rest) };
}

/** True if no record was deleted from the topic after it had been processed. */
function isAllOf({ sum }: Content, balance: Sum, written: readonly Sum[]): boolean {
  const rest = new Sum();
  rest.addAll(sum);
  for (const each of [balance, ...written]) rest.addAll(each, -1);
  return rest.isZero;
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
    const last = `the ${hop.writer} stage wrote it to ${hop.where} before ${at}, but it is not there`;
    const messageId = await messageIdAt(source, place);
    findings.push({ kind: "missing", messageId, destination, place, atMs, last });
  }
  return findings;
}

function findingOf({ messageId, place, isKnown, atMs }: Spare, destination: string): Finding {
  const at = new Date(atMs).toISOString();
  const last = isKnown
    ? `written at ${at}, although the stages had already written it`
    : `written at ${at}, but not by Switchyard`;
  return { kind: isKnown ? "doubled" : "extra", messageId, destination, place, atMs, last };
}

async function messageIdAt(source: AuditSource, place: RecordPlace): Promise<string | null> {
  const found: (string | null)[] = [];
  await readRanges(source, place, [[place.offset, place.offset + 1]], (record) => {
    const isCall = place.topic === source.topics.calls;
    found.push(identified(record, isCall).messageId);
  });
  return found[0] ?? null;
}
