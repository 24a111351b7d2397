/** Opens a replay, runs it, and shows an operator how far it is. */

import { randomBytes } from "node:crypto";
import { asError } from "../../base/runtime/as-error.ts";
import { visibleLines } from "../../domain/escape-control.ts";
import type { Admin, Kafka } from "../../kafka/port.ts";
import { commandProducer } from "../connect/command-producer.ts";
import { type PartitionRange, rangesSince } from "../connect/partition-ranges.ts";
import type { ProgressOutput } from "../connect/progress.ts";
import { deadLetterRanges } from "./read-dead-letters.ts";
import {
  type Replay,
  type ReplayCluster,
  type ReplayEnd,
  type ReplayFigures,
  type ReplayRules,
  sendReplay,
} from "./replay.ts";
import {
  type CallReplayPlan,
  type ChosenReplay,
  type ReplayKind,
  ReplayStore,
  type StoredReplay,
  topicOf,
} from "./replay-store.ts";
import { wordsFor } from "./rows.ts";

export interface OpenOptions {
  /** True if the records are only counted. The process then does not take the replay over. */
  readonly dryRun?: boolean;
  /** The name of a new replay. */
  readonly name?: string;
  /** The name of this process. */
  readonly by?: string;
}

/**
 * Plans a new replay, or takes over an existing one. Returns null if it does not exist, or is done.
 *
 * @throws Error if the only call that is to be replayed no longer exists.
 */
export async function openReplay<Kind extends ReplayKind>(
  cluster: ReplayCluster,
  of: Kind,
  chosen: ChosenReplay<Kind>,
  { dryRun = false, name = newName(), by = randomBytes(4).toString("hex") }: OpenOptions = {},
): Promise<Replay<Kind> | null> {
  const { kafka, topics } = cluster;
  const isNew = chosen.kind === "new";
  const store = new ReplayStore(kafka.admin, topics, of, isNew ? name : chosen.name, by);
  if (isNew) {
    const partitions = await planPartitions(kafka.admin, topicOf(of, topics), chosen.plan);
    return { cluster, store, stored: { of, plan: chosen.plan, partitions }, isNew };
  }
  const stored = await (dryRun ? store.read() : store.takeOver());
  if (stored === null) return null;
  const perSecond = chosen.perSecond ?? stored.plan.perSecond;
  return { cluster, store, stored: { ...stored, plan: { ...stored.plan, perSecond } }, isNew };
}

/** Creates a name that sorts by time, such as `20260301-093015-3f9c82d1`. */
function newName(): string {
  const [date = "", time = ""] = new Date().toISOString().slice(0, 19).split("T");
  const stamp = `${date.replaceAll("-", "")}-${time.replaceAll(":", "")}`;
  return `${stamp}-${randomBytes(4).toString("hex")}`;
}

/** From the first record of the plan's time range to the current ends of the partitions, or one record. */
async function planPartitions(
  admin: Pick<Admin, "offsets" | "offsetsAt">,
  topic: string,
  plan: StoredReplay["plan"],
): Promise<StoredReplay["partitions"]> {
  const ranges = await ("asked" in plan
    ? callRanges(admin, topic, plan)
    : deadLetterRanges({ admin }, topic, plan.filter.sinceMs));
  return ranges.map(({ partition, from, to }) => ({ partition, position: from, to, counts: {} }));
}

async function callRanges(
  admin: Pick<Admin, "offsets" | "offsetsAt">,
  topic: string,
  { asked, only }: CallReplayPlan,
): Promise<readonly PartitionRange[]> {
  const all = await rangesSince(admin, topic, asked.sinceMs);
  if (only === undefined) return all;
  const { partition, offset } = only;
  const isThere = all.some(
    (range) => range.partition === partition && range.from <= offset && offset < range.to,
  );
  if (!isThere) throw new Error("This call no longer exists: its retention has ended.");
  return [{ partition, from: offset, to: offset + 1 }];
}

export interface ReplayResult extends ReplayFigures {
  readonly name: string;
  readonly end: ReplayEnd | "failed";
  /** The reason, if the replay failed. */
  readonly error: string | null;
  /** The number of records that were not replayed, indexed by a sentence with the reason. */
  readonly refused: ReadonlyMap<string, number>;
}

/** Starts or resumes a replay, shows its progress, and runs it until it ends. Failures are part of the result. */
export async function runReplay(
  kafka: Pick<Kafka, "producer">,
  replay: Replay,
  rules: ReplayRules,
  progressText: (figures: ReplayFigures) => string,
  progressOutput: ProgressOutput,
): Promise<ReplayResult> {
  const { signal, clock } = replay.cluster;
  const { name } = replay.store;
  const producer = commandProducer(kafka, progressOutput, signal, clock);
  await using _ended = { [Symbol.asyncDispose]: () => producer.close(0) };
  using shown = followReplay(progressText, progressOutput);
  const { first = [] } = rules;
  if (first.length > 0) await producer.send(first);
  const { noun } = wordsFor(replay.stored.plan);
  const verb = replay.isNew ? "started" : "resumed";
  shown.progress.say(
    `${noun} ${name} ${verb}. If it is interrupted, it can be resumed with this name.`,
  );
  const ended = await sendReplay(replay, rules, producer, shown).then(
    (end) => ({ end, error: null }),
    (thrown: unknown) => ({ end: "failed" as const, error: asError(thrown).message }),
  );
  return { name, ...ended, refused: shown.refused, ...shown.figures() };
}

/** Shows the progress of a replay, or of counting its records, and what it is waiting for. */
export function followReplay(
  text: (figures: ReplayFigures) => string,
  progressOutput: ProgressOutput,
) {
  let figures: ReplayFigures = { read: 0, counts: {}, own: {} };
  let waitsFor: string | null = null;
  /** The number of records that were not replayed, indexed by a sentence with the reason. */
  const refused = new Map<string, number>();
  const waiting = () => (waitsFor === null ? "" : `; waiting for ${visibleLines(waitsFor)}`);
  const progress = progressOutput.follow(() => `${text(figures)}${waiting()}`);
  return {
    progress,
    refused,
    figures: () => figures,
    onProgress: ({ read, counts, own }: ReplayFigures) => {
      figures = { read, counts, own };
    },
    onWaiting: (why: string | null) => {
      waitsFor = why;
    },
    onRefused: (why: string) => void refused.set(why, (refused.get(why) ?? 0) + 1),
    [Symbol.dispose]: () => progress.end(),
  };
}
