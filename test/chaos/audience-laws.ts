/**
 * The laws that must hold for the calls of the audience stage, regardless of what was killed, frozen or lost.
 * `audience-model.ts` computes the expected calls from the same records.
 *
 *   law        for each user and trait, counting repeated calls once         unless
 *   missing    there is a call for every change                              overtaken
 *   unwanted   there are no other calls: incomplete syncs remove nobody       overtaken
 *   order      true and false are in the order of the records                overtaken
 *   last       the last call, including repeated ones, is correct             overtaken
 *   identity   calls with the same message ID are equal                      -
 *
 *   law        for the run                                                  unless
 *   invalid    all invalid records, and no others, are dead letters         -
 *   state      the compacted changelog contains the members                 overtaken
 *
 * Overtaken: if a process was frozen or unreachable for longer than the session timeout, it may finish writing a step
 * after its successor has written later steps (docs/audiences.md#guarantees). So if a call was repeated after another
 * call during such a fault, violations for its user and trait are excused. A killed process does not excuse any
 * violation.
 */

import type { Exposure, Violation } from "./violation.ts";

export interface ReportedCall {
  /** User and trait. */
  readonly about: string;
  readonly value: string;
  readonly messageId: string;
  readonly atMs: number;
}

export interface Expected {
  /** By user and trait, the expected calls in order. */
  readonly reported: ReadonlyMap<string, readonly string[]>;
  /** By audience. */
  readonly members: ReadonlyMap<string, ReadonlySet<string>>;
  /** Positions of invalid records, as `partition/offset`. */
  readonly deadLetters: ReadonlySet<string>;
}

export interface Evidence {
  /** The calls; those of one user are in the order of the topic. */
  readonly calls: readonly ReportedCall[];
  readonly members: ReadonlyMap<string, ReadonlySet<string>>;
  readonly deadLetters: ReadonlySet<string>;
}

export type AudienceLaw =
  | "missing"
  | "unwanted"
  | "order"
  | "last"
  | "identity"
  | "invalid"
  | "state";
export const AUDIENCE_LAWS: readonly AudienceLaw[] = [
  "missing",
  "unwanted",
  "order",
  "last",
  "identity",
  "invalid",
  "state",
];

export interface AudienceViolation extends Omit<Violation, "law"> {
  readonly law: AudienceLaw;
}

export interface AudienceVerdict {
  readonly violations: readonly AudienceViolation[];
  readonly repeated: number;
  /** Number of users and traits whose violations are excused. */
  readonly overtaken: number;
}

/** Faults after which a process may continue although its session has expired. */
const OUTLIVED: ReadonlySet<string> = new Set(["freeze", "silence", "cut", "broker"]);

export function judgeAudiences(
  expected: Expected,
  evidence: Evidence,
  exposures: readonly Exposure[],
): AudienceVerdict {
  const violations: AudienceViolation[] = [];
  const say = (law: AudienceLaw, says: string) => violations.push({ law, says });
  const byAbout = Map.groupBy(evidence.calls, ({ about }) => about);
  const excuses = exposures.filter(({ kind }) => OUTLIVED.has(kind));
  const overtaken = new Set<string>();
  let repeated = 0;
  for (const about of new Set([...expected.reported.keys(), ...byAbout.keys()])) {
    const calls = byAbout.get(about) ?? [];
    const firsts = firstsOf(calls);
    repeated += calls.length - firsts.length;
    if (isOvertaken(calls, excuses)) {
      overtaken.add(about);
      continue;
    }
    const wanted = expected.reported.get(about) ?? [];
    const reported = firsts.map(({ value }) => value);
    const law = difference(wanted, reported);
    if (law !== null) say(law, `${about}: ${firstDifference(wanted, reported)}`);
    else if (calls.at(-1)?.value !== wanted.at(-1)) {
      say("last", `${about}: reported ${calls.at(-1)?.value} last, expected ${wanted.at(-1)}`);
    }
  }
  for (const says of ambiguous(evidence.calls)) say("identity", says);
  for (const says of differing("dead letter", expected.deadLetters, evidence.deadLetters)) {
    say("invalid", says);
  }
  for (const [id, wanted] of expected.members) {
    const kept = evidence.members.get(id) ?? new Set();
    for (const says of differing(`member of ${id}`, wanted, kept, (user) => {
      return overtaken.has(`${user} ${id}`);
    })) {
      say("state", says);
    }
  }
  return { violations, repeated, overtaken: overtaken.size };
}

/** The calls without repeated ones. */
function firstsOf(calls: readonly ReportedCall[]): readonly ReportedCall[] {
  const seen = new Set<string>();
  return calls.filter(({ messageId }) => {
    const isFirst = !seen.has(messageId);
    seen.add(messageId);
    return isFirst;
  });
}

function isOvertaken(calls: readonly ReportedCall[], exposures: readonly Exposure[]): boolean {
  const seen = new Set<string>();
  let last = "";
  for (const { messageId, atMs } of calls) {
    const isLate = seen.has(messageId) && messageId !== last;
    if (isLate && exposures.some(({ fromMs, toMs }) => atMs >= fromMs && atMs <= toMs)) return true;
    seen.add(messageId);
    last = messageId;
  }
  return false;
}

function difference(wanted: readonly string[], reported: readonly string[]): AudienceLaw | null {
  if (wanted.length > reported.length) return "missing";
  if (wanted.length < reported.length) return "unwanted";
  if (wanted.every((value, index) => value === reported[index])) return null;
  const isSame = [...wanted].sort().join() === [...reported].sort().join();
  return isSame ? "order" : "unwanted";
}

function firstDifference(wanted: readonly string[], reported: readonly string[]): string {
  const at = wanted.findIndex((value, index) => value !== reported[index]);
  const index = at === -1 ? wanted.length : at;
  const counts = `${reported.length} calls for ${wanted.length} changes`;
  return `${counts}; number ${index + 1} says ${reported[index] ?? "nothing"}, expected ${wanted[index] ?? "nothing"}`;
}

function ambiguous(calls: readonly ReportedCall[]): string[] {
  const said = new Map<string, string>();
  const found: string[] = [];
  for (const { messageId, about, value } of calls) {
    const says = `${about}=${value}`;
    const before = said.get(messageId) ?? says;
    said.set(messageId, before);
    if (before !== says) found.push(`${messageId} says ${before} and ${says}`);
  }
  return found;
}

function differing(
  what: string,
  wanted: ReadonlySet<string>,
  there: ReadonlySet<string>,
  isExcused: (each: string) => boolean = () => false,
): string[] {
  const missing = [...wanted].filter((each) => !there.has(each) && !isExcused(each));
  const more = [...there].filter((each) => !wanted.has(each) && !isExcused(each));
  return [
    ...missing.map((each) => `${each} is no ${what}`),
    ...more.map((each) => `${each} is a ${what}, and should not be`),
  ];
}
