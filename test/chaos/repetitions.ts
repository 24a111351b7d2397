/**
 * Finds what was done twice for a delivery, and the fault that explains it, and limits how much one fault may repeat.
 *
 * If a fault has split a delivery in two, both continue independently, so one of them may repeat the other much later,
 * and in another form. So a fault explains a repetition if anything that was done for the delivery earlier is in the
 * fault's exposure, and later repetitions need no other fault.
 *
 *   a fault may repeat          because
 *   what started before it      it affects what is in flight in a program or is not committed yet
 *   each step 4 times           a delivery is in flight in at most two stages, the one that has
 *                               passed it on and not committed, and the one that has it now; each
 *                               of them does it again
 *   a delivery that was rerouted is another record: a topic that is not writable repeats nothing
 *   of a partition's records,   deliver has no more of a partition in flight (`deliver/stage.ts`)
 *   the attempts of 256
 */

import { isAccepted, type Recipient } from "../support/worlds/ledger.ts";
import type { ChaosEntry, ChaosRequest, Written } from "./journal.ts";
import type { Exposure, Violation } from "./violation.ts";

/** The limit for each fault. */
const TIMES_MAX = 4;
const IN_FLIGHT_MAX = 256;

/** A step of a delivery that was repeated. */
export interface Repetition {
  readonly what: string;
  readonly firstAtMs: number;
  readonly againAtMs: number;
  /** The times of the earlier steps of the delivery. */
  readonly earlierMs: readonly number[];
}

type Pair = Omit<Repetition, "earlierMs">;

/** The repetitions, in the order in which they happened. */
export function repetitions(entry: ChaosEntry, { deliver }: Recipient): Repetition[] {
  const requests = [...entry.requests].sort((a, b) => a.atMs - b.atMs);
  const written = [...entry.written].sort((a, b) => a.atMs - b.atMs);
  const steps = stepsOf({ requests, written });
  const found = [
    ...doneAgain(steps),
    ...doneOtherwise(requests, written),
    ...afterTheEnd(requests, written, deliver),
  ];
  const doneMs = steps.map(({ endAtMs }) => endAtMs);
  // If several repetitions have the same millisecond, the one with the earliest original is the cause.
  return found
    .sort((a, b) => a.againAtMs - b.againAtMs || a.firstAtMs - b.firstAtMs)
    .map((pair) => ({ ...pair, earlierMs: doneMs.filter((ms) => ms < pair.againAtMs) }));
}

function stepsOf({ requests, written }: Pick<ChaosEntry, "requests" | "written">): Step[] {
  return [
    ...requests.map(({ attempt, path, atMs, endAtMs }) => ({
      what: `attempt ${attempt} at ${path}`,
      atMs,
      endAtMs,
    })),
    ...written.map((record) => ({ what: nameOf(record), atMs: record.atMs, endAtMs: record.atMs })),
  ];
}

function nameOf({ where, retryCount, rerouted, endpoint }: Written): string {
  const times = where === "dead-letter" ? "" : `, scheduled for retry ${retryCount} times`;
  const around = where === "delay" && rerouted > 0 ? `, rerouted ${rerouted} times` : "";
  return `${where} record${times}${around}${endpoint === null ? "" : ` of ${endpoint}`}`;
}

interface Step {
  readonly what: string;
  readonly atMs: number;
  readonly endAtMs: number;
}

function doneAgain(steps: readonly Step[]): Pair[] {
  const firsts = new Map<string, number>();
  return steps.flatMap(({ what, atMs, endAtMs }) => {
    const firstAtMs = firsts.get(what);
    if (firstAtMs !== undefined) return [{ what, firstAtMs, againAtMs: atMs }];
    firsts.set(what, endAtMs);
    return [];
  });
}

/**
 * A record that was attempted or scheduled for retry before is now scheduled for retry or dead-lettered as if that had
 * not happened.
 */
function doneOtherwise(requests: readonly ChaosRequest[], written: readonly Written[]): Pair[] {
  return written.flatMap((record) => {
    const { where, endpoint, attempt, retryCount, atMs } = record;
    if (where === "delivery") return [];
    const isOfSame = (each: { readonly endpoint: string | null }) =>
      endpoint === null || each.endpoint === endpoint;
    const attempted = requests.find(
      (each) => each.attempt > attempt && each.endAtMs <= atMs && isOfSame(each),
    );
    // Only the record in a delay topic includes its own scheduling in the count.
    const waited = written.find(
      (each) =>
        where === "dead-letter" &&
        each.where === "delay" &&
        each.retryCount > retryCount &&
        each.atMs <= atMs &&
        isOfSame(each),
    );
    const firstAtMs = Math.min(attempted?.endAtMs ?? atMs + 1, waited?.atMs ?? atMs + 1);
    if (firstAtMs > atMs) return [];
    const what = `${nameOf(record)} after ${attempt} attempts and ${retryCount} scheduled retries`;
    return [{ what, firstAtMs, againAtMs: atMs }];
  });
}

function afterTheEnd(
  requests: readonly ChaosRequest[],
  written: readonly Written[],
  deliver: Recipient["deliver"],
): Pair[] {
  return requests.flatMap((request) => {
    const { attempt, path, endpoint, atMs } = request;
    const accepted = requests.find(
      (each) =>
        isAccepted(each) && attempt > each.attempt && (deliver === "any" || each.path === path),
    );
    const deadLetter = written.find(
      (record) =>
        record.where === "dead-letter" &&
        record.atMs < atMs &&
        (record.endpoint === null || record.endpoint === endpoint),
    );
    const what = `attempt ${attempt} at ${path}, after `;
    return [
      ...(accepted === undefined
        ? []
        : [{ what: `${what}an acceptance`, firstAtMs: accepted.endAtMs, againAtMs: atMs }]),
      ...(deadLetter === undefined
        ? []
        : [{ what: `${what}it was dead-lettered`, firstAtMs: deadLetter.atMs, againAtMs: atMs }]),
    ];
  });
}

/** The faults that explain a repetition; any one of them is sufficient. */
export function explanations(
  { firstAtMs, againAtMs, earlierMs }: Repetition,
  exposures: readonly Exposure[],
): Exposure[] {
  return exposures.filter(
    ({ fromMs, toMs }) =>
      againAtMs >= fromMs && [firstAtMs, ...earlierMs].some((ms) => ms >= fromMs && ms <= toMs),
  );
}

/** The violation if no fault explains the first repetition; the others follow from it. */
export function unexplained(all: readonly Repetition[], exposures: readonly Exposure[]): string[] {
  const [first] = all;
  if (first === undefined || explanations(first, exposures).length > 0) return [];
  const { what, firstAtMs, againAtMs } = first;
  return [`${what} ${againAtMs - firstAtMs} ms after the first time, and no fault explains it`];
}

/** The violation if a step was done more often than the earlier faults explain. */
export function tooOften(entry: ChaosEntry, exposures: readonly Exposure[]): string[] {
  const steps = stepsOf(entry);
  const byName = Map.groupBy(steps, ({ what }) => what);
  return [...byName].flatMap(([what, times]) => {
    // One fault explains these.
    if (times.length <= TIMES_MAX) return [];
    const lastMs = Math.max(...times.map(({ atMs }) => atMs));
    const before = steps.filter(({ endAtMs }) => endAtMs < lastMs);
    const isTouched = ({ fromMs, toMs }: Exposure) =>
      lastMs >= fromMs && before.some(({ endAtMs }) => endAtMs >= fromMs && endAtMs <= toMs);
    const faults = exposures.filter(isTouched).length;
    if (faults === 0 || times.length <= TIMES_MAX ** faults) return [];
    return [
      `${what} came ${times.length} times, and ${faults} faults explain ${TIMES_MAX ** faults}`,
    ];
  });
}

/** The violation if a fault has repeated attempts of more records than a program can have in flight. */
export function tooMany(
  deliveries: Iterable<readonly [entry: ChaosEntry, recipient: Recipient]>,
  exposures: readonly Exposure[],
): Violation[] {
  const counts = new Map<Exposure, Map<string, number>>();
  for (const [entry, recipient] of deliveries) {
    const [first] = repetitions(entry, recipient);
    const records = entry.written.filter(({ where }) => where === "delivery");
    // Records that the route and delay stages have written twice are attempted twice, and these stages have more
    // records in flight.
    const isWrittenAgain = doneAgain(stepsOf({ requests: [], written: records })).length > 0;
    if (first === undefined || isWrittenAgain) continue;
    const [cause, other] = explanations(first, exposures);
    const [record] = records;
    // If two faults are possible, it is unknown which one was the cause.
    if (cause === undefined || other !== undefined || record === undefined) continue;
    const ofFault = counts.get(cause) ?? new Map<string, number>();
    counts.set(cause, ofFault);
    const partition = record.place.slice(0, record.place.lastIndexOf("/"));
    ofFault.set(partition, (ofFault.get(partition) ?? 0) + 1);
  }
  return [...counts].flatMap(([{ kind }, ofFault]) =>
    [...ofFault].flatMap(([partition, count]) => {
      if (count <= IN_FLIGHT_MAX) return [];
      const says = `a ${kind} has repeated attempts of ${count} records of ${partition}; at most ${IN_FLIGHT_MAX} are in flight`;
      return [{ law: "repeated" as const, says }];
    }),
  );
}
