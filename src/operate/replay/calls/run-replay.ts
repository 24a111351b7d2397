/**
 * `switchyard replay` with a cluster: plans, or takes over, and works until all is written.
 *
 *   outcome                                              exit
 *   counted (--dry-run), or all written                  0
 *   some refused by the brokers                          1
 *   interrupted, or failed: says how to resume           1
 *   the destination's topic does not exist               1, and says how to create it
 *   no replay of that name                               2
 */

import { randomBytes } from "node:crypto";

import type { Config } from "../../../config/config.ts";
import type { Destination } from "../../../domain/destination.ts";
import { visibleLines } from "../../../domain/escape-control.ts";
import type { TopicNames } from "../../../domain/topics.ts";
import type { Kafka } from "../../../kafka/port.ts";
import { createRouting } from "../../../route/routing.ts";
import { asError } from "../../../runtime/as-error.ts";
import { type Clock, systemClock } from "../../../runtime/clock.ts";
import { createMetrics } from "../../../telemetry/instruments.ts";
import { createLog } from "../../../telemetry/log.ts";
import { assertTopics } from "../../connect/assert-topics.ts";
import { configuredSchemas } from "../../connect/configured-schemas.ts";
import { onTerminal, type ProgressOutput } from "../../connect/progress.ts";
import type { ExitStatus, Shell } from "../../connect/shell.ts";
import { newReplayName } from "../replay-name.ts";
import { ReplayStore } from "../replay-store.ts";
import { type Outcome, outcomeJson, outcomeText, progressText } from "./outcome.ts";
import { type CallReplayDeps, countCalls, replayCalls } from "./replay-calls.ts";
import {
  type CallReplayPlan,
  type Counts,
  OF_CALLS,
  type StoredCallReplay,
} from "./stored-replay.ts";

/** Begin a replay, or go on with one. */
export type ChosenReplay =
  | { readonly kind: "new"; readonly plan: CallReplayPlan }
  | { readonly kind: "resume"; readonly name: string; readonly perSecond: number | null };

export interface WorkOptions {
  readonly chosen: ChosenReplay;
  readonly config: Pick<Config, "sources" | "defaultSource" | "registry">;
  readonly topics: TopicNames;
  /** @throws WrongUsage for one that routing sends nothing to. */
  readonly destinationOf: (id: string) => Destination;
  readonly dryRun: boolean;
  readonly signal: AbortSignal;
  /** The rest of the command line that a resumed replay needs, such as ` --config switchyard.yaml`. */
  readonly resumeArguments: string;
  /** Left out: the system's. */
  readonly clock?: Clock;
}

export interface RunReplayOptions extends WorkOptions {
  readonly json: boolean;
}

export async function runReplay(
  kafka: Kafka,
  options: RunReplayOptions,
  shell: Shell,
): Promise<ExitStatus> {
  const { topics, chosen } = options;
  const outcome = await workOnReplay(kafka, options, onTerminal(shell));
  if (outcome === null) {
    shell.err(
      `${shell.errColors.red("error:")} There is no replay of calls ${chosen.kind === "resume" ? chosen.name : ""} to resume: it is done, never began, or is under another topic prefix than ${topics.prefix}\n`,
    );
    return 2;
  }
  if (options.json) shell.out(`${outcomeJson(outcome)}\n`);
  else shell.out(outcomeText(outcome, shell.colors));
  return said(outcome, shell);
}

/**
 * Begins it, or goes on with it, until it ends. Null: there is none of that name.
 *
 * @throws Error when a topic is missing, or Kafka cannot be asked what there is.
 */
export async function workOnReplay(
  kafka: Kafka,
  options: WorkOptions,
  progressOutput: ProgressOutput,
): Promise<Outcome | null> {
  const { topics } = options;
  await assertTopics(kafka.admin, [topics.calls]);
  const by = randomBytes(4).toString("hex");
  const stored = await openReplay(kafka, options, by);
  if (stored === null) return null;
  const destination = options.destinationOf(stored.plan.destination);
  const topic = topics.deliveries(destination.id);
  await assertTopics(kafka.admin, [topic]);
  return await work(kafka, { ...options, destination, topic, stored, by }, progressOutput);
}

/** The last words on standard error. */
function said({ end, error, counts, resume }: Outcome, shell: Shell): ExitStatus {
  if (error !== null) shell.err(`${shell.errColors.red("failed:")} ${visibleLines(error)}\n`);
  if (end === "interrupted") shell.err("Interrupted. ");
  if (resume !== null) shell.err(`Go on with: ${resume}\n`);
  if (end === "counted") shell.err("Nothing was written (--dry-run).\n");
  const isWhole = end === "done" || end === "counted";
  return isWhole && (counts.refused ?? 0) === 0 ? 0 : 1;
}

/** Null: there is no such replay. */
async function openReplay(
  kafka: Kafka,
  { chosen, dryRun, topics }: WorkOptions,
  by: string,
): Promise<StoredCallReplay | null> {
  if (chosen.kind === "new") return planReplay(kafka, topics, chosen.plan);
  const store = new ReplayStore(kafka.admin, topics, chosen.name, OF_CALLS);
  const stored = dryRun ? await store.read() : await store.takeOver(by);
  if (stored === null) return null;
  const perSecond = chosen.perSecond ?? stored.plan.perSecond;
  return { ...stored, plan: { ...stored.plan, perSecond } };
}

/** Its range: from the first record of that time to the ends of now. */
export async function planReplay(
  { admin }: Kafka,
  { calls }: TopicNames,
  plan: CallReplayPlan,
): Promise<StoredCallReplay> {
  const ends = await admin.offsets(calls);
  const begins = await admin.offsetsAt(calls, Math.max(0, plan.asked.sinceMs));
  const from = new Map(begins.map(({ partition, offset }) => [partition, offset]));
  const partitions = ends.map(({ partition, first, end }) => ({
    partition,
    position: Math.min(end, from.get(partition) ?? first),
    to: end,
    counts: {},
  }));
  return { plan, partitions };
}

interface Work extends WorkOptions {
  readonly destination: Destination;
  readonly topic: string;
  readonly stored: StoredCallReplay;
  /** The process that works on it. */
  readonly by: string;
}

async function work(kafka: Kafka, options: Work, progressOutput: ProgressOutput): Promise<Outcome> {
  const { chosen, config, topics, destination, topic, stored, dryRun, signal, by } = options;
  const { clock = systemClock } = options;
  const total = stored.partitions.reduce((sum, { position, to }) => sum + to - position, 0);
  const name = chosen.kind === "resume" ? chosen.name : newReplayName();
  let [read, counts, waitsFor]: [number, Counts, string | null] = [0, {}, null];
  const waiting = () => (waitsFor === null ? "" : `; waits for ${visibleLines(waitsFor)}`);
  using progress = progressOutput.follow(() => `${progressText(read, total, counts)}${waiting()}`);
  const log = createLog("error", { write: progressOutput.err });
  await using schemas = await configuredSchemas(config, { log, metrics: createMetrics() });
  const producer = kafka.producer();
  await using _ended = { [Symbol.asyncDispose]: () => producer.close(0) };
  const deps: CallReplayDeps = {
    kafka,
    topics,
    clock,
    schemas,
    destination,
    signal,
    by,
    producer,
    routing: createRouting(config.sources, config.defaultSource, [destination], topics),
    onProgress: (now) => {
      [read, counts] = [now.read, now.counts];
    },
    onWaiting: (why) => {
      waitsFor = why === null ? null : [why, ...(schemas?.healthProblems() ?? [])].join("; ");
    },
  };
  const outcome = { topic, stored, error: null };
  if (dryRun) {
    const end = (await countCalls(deps, stored)) ? ("counted" as const) : ("interrupted" as const);
    progress.end();
    return { ...outcome, replay: null, end, counts, resume: null };
  }
  const verb = chosen.kind === "new" ? "begins" : "goes on";
  progress.say(`Replay ${name} ${verb}. Should it be cut short, it can be resumed by this name.`);
  const moved = async () => {
    const store = new ReplayStore(kafka.admin, topics, name, OF_CALLS);
    if (chosen.kind === "new") await store.begin(stored, by);
    return { end: await replayCalls(deps, name, stored), error: null };
  };
  const { end, error } = await moved().catch((thrown: unknown) => {
    return { end: "failed" as const, error: asError(thrown).message };
  });
  progress.end();
  const command = `switchyard replay --resume ${name}${options.resumeArguments}`;
  return { ...outcome, replay: name, end, error, counts, resume: end === "done" ? null : command };
}
