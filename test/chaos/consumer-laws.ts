/**
 * The laws for a group of verifiable consumers, from the lines that they print, the acknowledged writes, and the commits
 * in Kafka's log of offsets. The names are those of Jepsen's Kafka workload, except for the last three.
 *
 *   law                 is broken by
 *   lost-write          an acknowledged record that nobody consumed, below one that somebody consumed
 *   unseen              an acknowledged record that nobody consumed, above all that somebody consumed
 *   duplicate           a record that was consumed again, although its first consumer did not crash
 *   poll-skip           a member that passes over records within one assignment
 *   nonmonotonic-poll   a member that goes back within one assignment
 *   stale-commit        a commit of a lower offset than the one before: a former owner was not refused
 *   uncommitted         a partition whose last commit is not the end of what was consumed, after a clean stop
 *   rebalance           a quiet fault that takes partitions from a member without a fault
 */

export interface Line {
  /** What a member printed; or one of `LOSSES`, which the scenario caused; or `fault`: all partitions have owners. */
  readonly name: string;
  readonly member: number;
  readonly atMs: number;
  readonly count?: number;
  readonly partitions?: readonly {
    readonly partition: number;
    readonly minOffset?: number;
    readonly maxOffset?: number;
  }[];
}

export type Place = readonly [partition: number, offset: number];
type Violate = (law: string, what: string) => void;
const LOSSES = ["stopping", "crashed", "exited"];

/** @param commits in the order of the log; null before the members have stopped. */
export function judge(
  lines: readonly Line[],
  acknowledged: readonly Place[],
  commits: readonly Place[] | null = null,
  isQuiet = false,
) {
  /** The first violation of each law. */
  const broken = new Map<string, string>();
  const violate: Violate = (law, what) => void broken.set(law, broken.get(law) ?? what);
  const { seen, ends, seenTwice } = readBatches(lines, violate);
  const missing = acknowledged.filter((place) => !seen.has(place.join("/")));
  const unseen = missing.filter(([partition, offset]) => offset >= (ends.get(partition) ?? 0));
  for (const place of missing)
    violate(unseen.includes(place) ? "unseen" : "lost-write", place.join("/"));
  const committed = new Map<number, number>();
  for (const [partition, offset] of commits ?? []) {
    const before = committed.get(partition) ?? 0;
    if (offset < before) violate("stale-commit", `${partition}/${before} to ${offset}`);
    committed.set(partition, offset);
  }
  for (const [partition, end] of commits === null ? [] : ends)
    if (committed.get(partition) !== end) violate("uncommitted", `${partition}/${end}`);
  const { owners, unownedMs } = readOwners(lines, isQuiet ? violate : () => undefined);
  const [seenCount, neverSeen] = [seen.size, missing.length];
  return {
    seen: seenCount,
    seenTwice,
    neverSeen,
    unseen: unseen.length,
    owners,
    unownedMs,
    broken,
  };
}

function readBatches(lines: readonly Line[], violate: Violate) {
  const crashed = new Set(lines.flatMap(({ name, member }) => (name === "crashed" ? member : [])));
  const [seen, next] = [new Map<string, number>(), new Map<string, number>()];
  const ends = new Map<number, number>();
  let seenTwice = 0;
  for (const { name, member, count = 0, partitions = [] } of lines) {
    let missing = name === "records_consumed" ? -count : 0;
    for (const { partition, minOffset = 0, maxOffset = -1 } of partitions) {
      const reader = `${partition} of member ${member}`;
      if (name === "partitions_assigned") next.delete(reader);
      if (name !== "records_consumed") continue;
      const from = next.get(reader) ?? minOffset;
      const law = minOffset > from ? "poll-skip" : "nonmonotonic-poll";
      if (minOffset !== from) violate(law, `${from} to ${minOffset} in ${reader}`);
      next.set(reader, maxOffset + 1);
      ends.set(partition, Math.max(maxOffset + 1, ends.get(partition) ?? 0));
      missing += maxOffset + 1 - minOffset;
      for (let offset = minOffset; offset <= maxOffset; offset += 1) {
        const first = seen.get(`${partition}/${offset}`);
        if (first === undefined) seen.set(`${partition}/${offset}`, member);
        else if (!crashed.has(first))
          violate("duplicate", `${offset} in ${reader}, after ${first}`);
        if (first !== undefined) seenTwice += 1;
      }
    }
    if (missing !== 0) violate("poll-skip", `${missing} records in a batch of member ${member}`);
  }
  return { seen, ends, seenTwice };
}

/** Returns the owners at the end, and the longest time after the first fault in which a partition had no owner. */
function readOwners(lines: readonly Line[], violate: Violate) {
  const isLoss = ({ name }: Line) => LOSSES.includes(name);
  const faulty = new Set(lines.filter(isLoss).map(({ member }) => member));
  const owners = new Map<number, number>();
  let [all, unownedMs, sinceMs] = [Number.POSITIVE_INFINITY, 0, 0];
  for (const line of lines) {
    const { name, member, atMs, partitions = [] } = line;
    const wasOwned = owners.size >= all;
    if (name === "fault") [all, sinceMs] = [owners.size, atMs];
    const named = partitions.map(({ partition }) => partition);
    if (name === "partitions_assigned") for (const each of named) owners.set(each, member);
    const lost = name === "partitions_revoked" ? named : isLoss(line) ? [...owners.keys()] : [];
    const isRobbed = lost.length > 0 && all < Number.POSITIVE_INFINITY && !faulty.has(member);
    if (isRobbed) violate("rebalance", `of member ${member}`);
    for (const each of lost) if (owners.get(each) === member) owners.delete(each);
    if (owners.size >= all) unownedMs = Math.max(unownedMs, wasOwned ? 0 : atMs - sinceMs);
    else if (wasOwned) sinceMs = atMs;
  }
  return { owners, unownedMs };
}
