/**
 * `switchyard dead-letters replay`: counts, then replays. A process that resumes a replay takes it
 * over before it counts, unless it only counts (--dry-run).
 *
 *   outcome                                                    exit
 *   counted (--dry-run), or all replayed                       0
 *   nothing matches                                            0
 *   some were refused                                          1
 *   interrupted, or Kafka failed: says how to resume           1
 *   no replay of that name, or more filters than a replay can keep   2
 */

import { randomBytes } from "node:crypto";
import type { ReadLetterValue } from "../../dead-letter/filter.ts";
import { readMarks } from "../../dead-letter/read-letters.ts";
import { lettersOfReplay, planReplay, replay } from "../../dead-letter/replay.ts";
import type { ReplayMarks } from "../../dead-letter/replay-marks.ts";
import { letterReplay } from "../../dead-letter/replay-store.ts";
import {
  fits,
  type ReplayPlan,
  replayTotals,
  type StoredReplay,
} from "../../dead-letter/stored-replay.ts";
import { Tally } from "../../dead-letter/tally.ts";
import type { Destination } from "../../domain/destination.ts";
import type { TopicNames } from "../../domain/topics.ts";
import type { Kafka } from "../../kafka/port.ts";
import type { RegistryConnection } from "../../registry/connection.ts";
import { systemClock } from "../../runtime/clock.ts";
import { confirmed } from "../confirm.ts";
import { counted } from "../count.ts";
import { startProgress } from "../progress.ts";
import { newReplayName } from "../replay-name.ts";
import type { ExitStatus, Shell } from "../shell.ts";
import { assertTopics } from "../topics-ready.ts";
import { openLetterSchemas } from "./letter-schemas.ts";
import { tallyTable } from "./rows.ts";

export interface ReplayOptions {
  /** Begin a replay, or go on with one. */
  readonly chosen:
    | { readonly kind: "new"; readonly plan: ReplayPlan }
    | { readonly kind: "resume"; readonly name: string; readonly perSecond: number | null };
  readonly dryRun: boolean;
  /** Whether a person says yes or no first, on the terminal. */
  readonly asks?: boolean;
  readonly topics: TopicNames;
  readonly destinations: readonly Destination[];
  /** Null: none is configured. */
  readonly registry: RegistryConnection | null;
  readonly signal: AbortSignal;
  /** The rest of the command line that a resumed replay needs, such as ` --config switchyard.yaml`. */
  readonly resumeArguments: string;
}

export async function replayLetters(
  kafka: Kafka,
  options: ReplayOptions,
  shell: Shell,
): Promise<ExitStatus> {
  const { topics, dryRun } = options;
  const marked = dryRun ? [] : [topics.replayedLetters];
  await assertTopics(kafka.admin, [topics.deadLetters, ...marked]);
  const by = randomBytes(4).toString("hex");
  const stored = await openReplay(kafka, options, by, shell);
  if (stored === null) return 2;
  await using schemas = await openLetterSchemas(options.registry, options.signal);
  const { read } = schemas;
  const marks = await readMarks({ kafka, topics, signal: options.signal });
  const tally = await count(kafka, options, { stored, read, marks }, shell);
  if (tally === null) return 1;
  schemas.tell(shell, stored.plan.filter);
  if (tally.total === 0 && options.chosen.kind === "new") {
    shell.out(tally.replayed === 0 ? "No dead letters match.\n" : `${countText(tally)}\n`);
    return 0;
  }
  if (tally.total > 0) shell.out(`${tallyTable(tally, shell.colors)}\n`);
  shell.out(`${countText(tally)}\n`);
  const targets = tally.rows().flatMap(({ to }) => to ?? []);
  if (targets.includes(options.topics.calls)) {
    shell.out("What goes to the topic of calls is routed again, to every destination it is for.\n");
  }
  await assertTopics(kafka.admin, targets);
  if (options.dryRun) {
    shell.out("Nothing was sent (--dry-run).\n");
    return 0;
  }
  if (
    options.asks &&
    !(await confirmed(`Send ${counted(tally.total, "dead letter")} again?`, shell, options.signal))
  ) {
    shell.err("Nothing was sent.\n");
    return 1;
  }
  const gone = marks.tombstones(
    topics.replayedLetters,
    await kafka.admin.offsets(topics.deadLetters),
  );
  if (gone.length > 0) await kafka.producer().send(gone);
  return await send(
    kafka,
    options,
    { stored, by, total: tally.total + tally.own, read, marks },
    shell,
  );
}

interface Chosen {
  readonly stored: StoredReplay;
  /** The process that works on it. */
  readonly by: string;
  /** Letters to look at. */
  readonly total: number;
  readonly read: ReadLetterValue;
  readonly marks: ReplayMarks;
}

/** Null: there is no such replay, or it cannot be kept; why has been printed. */
async function openReplay(
  kafka: Kafka,
  { chosen, dryRun, topics }: ReplayOptions,
  by: string,
  shell: Shell,
): Promise<StoredReplay | null> {
  const { red } = shell.errColors;
  if (chosen.kind === "new") {
    if (fits(chosen.plan)) return planReplay(kafka, topics, chosen.plan);
    shell.err(
      `${red("error:")} These are more filters than a replay can keep. Give fewer --message-id, or replay in several replays.\n`,
    );
    return null;
  }
  const store = letterReplay(kafka.admin, topics, chosen.name);
  const stored = dryRun ? await store.read() : await store.takeOver(by);
  if (stored === null) {
    shell.err(
      `${red("error:")} There is no replay ${chosen.name} to resume: it is done, never began, or is under another topic prefix than ${topics.prefix}\n`,
    );
    return null;
  }
  const perSecond = chosen.perSecond ?? stored.plan.perSecond;
  return { ...stored, plan: { ...stored.plan, perSecond } };
}

/** Null: interrupted. */
async function count(
  kafka: Kafka,
  options: ReplayOptions,
  { stored, read, marks }: Pick<Chosen, "stored" | "read" | "marks">,
  shell: Shell,
): Promise<Tally | null> {
  const { topics, signal } = options;
  const tally = new Tally(options);
  using _progress = startProgress(shell, () => `${tally.total.toLocaleString("en")} counted`);
  const name = options.chosen.kind === "resume" ? options.chosen.name : null;
  const onMarked = (isOwn: boolean) => {
    if (isOwn) tally.own += 1;
    else tally.replayed += 1;
  };
  const source = { kafka, topics, signal, read };
  for await (const letter of lettersOfReplay(source, stored, marks, name, onMarked)) {
    tally.add(letter);
  }
  if (!signal.aborted) return tally;
  shell.err("Interrupted while counting: nothing was sent.\n");
  return null;
}

function countText({ total, refused, replayed }: Tally): string {
  const of = (number: number) => number.toLocaleString("en");
  const cannot = refused === 0 ? "" : `; ${of(refused)} cannot be replayed`;
  const left =
    replayed === 0 ? "" : ` ${of(replayed)} were replayed before, and are left out (--again).`;
  return `${of(total)} dead letter${total === 1 ? "" : "s"} to replay${cannot}.${left}`;
}

async function send(
  kafka: Kafka,
  options: ReplayOptions,
  { stored, by, total, read, marks }: Chosen,
  shell: Shell,
): Promise<ExitStatus> {
  const { topics, signal } = options;
  const isNew = options.chosen.kind === "new";
  const name = options.chosen.kind === "resume" ? options.chosen.name : newReplayName();
  const before = replayTotals(stored.partitions);
  let now = before;
  const text = () => {
    const replayed = (now.replayed - before.replayed).toLocaleString("en");
    const refused = now.refused - before.refused;
    const skipped = refused === 0 ? "" : `, ${refused.toLocaleString("en")} refused`;
    return `${replayed} of ${total.toLocaleString("en")} replayed${skipped}`;
  };
  const resume = `switchyard dead-letters replay --resume ${name}${options.resumeArguments}`;
  using progress = startProgress(shell, text);
  const verb = isNew ? "begins" : "goes on";
  progress.say(`Replay ${name} ${verb}. Should it be cut short, it can be resumed by this name.`);
  const why = new Map<string, number>();
  const deps = {
    kafka,
    topics,
    signal,
    read,
    marks,
    producer: kafka.producer(),
    clock: systemClock,
    targets: options,
    by,
    onProgress: (totals: typeof now) => {
      now = totals;
    },
    onRefused: (_letter: unknown, reason: string) => {
      why.set(reason, (why.get(reason) ?? 0) + 1);
    },
  };
  const work = async () => {
    if (isNew) await letterReplay(kafka.admin, topics, name).begin(stored, by);
    return replay(deps, name, stored);
  };
  const end = await work().catch((error: unknown) => {
    progress.say(`${shell.errColors.red("failed:")} ${(error as Error).message}`);
    return "failed" as const;
  });
  progress.end();
  for (const [reason, refused] of why) {
    shell.err(`${refused.toLocaleString("en")} not replayed: ${reason}\n`);
  }
  shell.out(`${text()}.\n`);
  if (end === "done") return why.size === 0 ? 0 : 1;
  if (end === "interrupted") shell.err("Interrupted. ");
  shell.err(`Go on with: ${resume}\n`);
  return 1;
}
