/**
 * Carries out the actions of the console with the functions that the commands use.
 *
 *   action             writes                             if the serving process crashes
 *   pause, resume      one record to operator-actions     the record is written, or it is not
 *   retry, cancel      one record to operator-actions,    before the record: nothing has changed; after it:
 *                      after counting                     the stages carry out the action
 *   wait               nothing                            nothing
 *   approve            one record to audience-syncs       the record is written, or it is not
 *   replay of calls    batches, with a commit after       at most a batch is written again when an operator
 *   or dead letters    each                               resumes it; its name is in the log
 *
 * The list of actions is lost when the process ends. A replay is not resumed automatically: an operator started it,
 * and may even have stopped the process because of it.
 */

import { systemClock } from "../../../base/runtime/clock.ts";
import { counted } from "../../../base/words/count.ts";
import type { Config } from "../../../config/config.ts";
import type { CallType } from "../../../domain/call.ts";
import { isDestinationId } from "../../../domain/ids.ts";
import type { Kafka, Producer } from "../../../kafka/port.ts";
import {
  approveSync,
  attemptedOf,
  cancelWaiting,
  operatingOn,
  pauseNow,
  resumedSentence,
  resumeNow,
  retryNow,
  stillOnHold,
  waitUntilNoneIsLeft,
} from "../../act/control-actions.ts";
import { pausedText, waitingOfPaused } from "../../act/paused-text.ts";
import { pausedSentence } from "../../act/pausing.ts";
import type { Looking } from "../../act/remaining.ts";
import { remainingText, stillText, sumOf } from "../../act/wait.ts";
import { assertTopics } from "../../connect/assert-topics.ts";
import { commandProducer } from "../../connect/command-producer.ts";
import { configuredTopics } from "../../connect/connection.ts";
import type { ProgressOutput } from "../../connect/progress.ts";
import { readClaims } from "../../look/audiences.ts";
import { routedTo } from "../../replay/call-replay.ts";
import { type CallReplayPlan, fits } from "../../replay/replay-store.ts";
import type { Action } from "../action-view.ts";
import type { ActionProgress, ActionRunner, JobWork, WorkOutcome } from "../ports.ts";
import { type Doing, workOnCalls, workOnDeadLetters } from "./replays.ts";

/** The author that is stored in records. */
const BY = "console";

export interface ActionRunnerOptions {
  readonly current: () => { readonly config: Config };
  /** Runs the work with a connection to Kafka. @throws Error if there is no connection. */
  readonly useKafka: <Result>(work: (kafka: Kafka) => Promise<Result>) => Promise<Result>;
}

interface Acting extends Doing {
  /** Closed at the end of the action. */
  readonly producer: Producer;
}

type Act = (doing: Acting) => Promise<WorkOutcome>;

const DONE: WorkOutcome = { isDone: true, count: null, unfinished: null };

export function createActionRunner({ current, useKafka }: ActionRunnerOptions): ActionRunner {
  return {
    begin: (action): JobWork => {
      const { config } = current();
      const act = actOf(action, config);
      return async (progress, signal) => {
        const progressOutput = progressOutputOf(progress);
        const report = (sentence: string) => progress.report(sentence);
        return await useKafka(async (kafka) => {
          const own = kafka.producer();
          await using _ended = { [Symbol.asyncDispose]: () => own.close(0) };
          const producer = commandProducer({ producer: () => own }, progressOutput, signal);
          return await act({ kafka, producer, config, progressOutput, report, signal });
        });
      };
    },
  };
}

/**
 * Log lines are dropped, because each problem that they report either ends the action with a sentence or is over before
 * the action ends.
 */
function progressOutputOf(progress: ActionProgress): ProgressOutput {
  return {
    follow: (text) => {
      progress.follow(text);
      const end = () => progress.follow(() => "");
      return { say: (line) => progress.report(line), end, [Symbol.dispose]: end };
    },
    err: () => undefined,
  };
}

/** @throws WrongUsage if the configuration does not allow the action. */
function actOf(action: Action, config: Config): Act {
  switch (action.action) {
    case "pause":
      return pause(attemptedOf(action.destination, config).id, action.pauseForMs);
    case "resume":
      return resume(action.destination);
    case "retry":
      return retry(attemptedOf(action.destination, config).id);
    case "wait":
      return waitUntilDrained(attemptedOf(action.destination, config).id);
    case "cancel":
      return cancel(attemptedOf(action.destination, config).id, action);
    case "replay": {
      routedTo(config, action.destination);
      const plan = planOf(action);
      if (!fits("calls", plan)) throw new Error("There are more events than a replay can store.");
      return (doing) => workOnCalls(doing, { kind: "new", plan }, action.dryRun);
    }
    case "send-again": {
      const { partition, offset } = action;
      const { id: destination } = routedTo(config, action.destination);
      const asked = { sinceMs: 0, untilMs: null, types: [], events: [] };
      const plan = { destination, asked, only: { partition, offset }, perSecond: null };
      return (doing) => workOnCalls(doing, { kind: "new", plan }, action.dryRun);
    }
    case "replay-dead-letters":
      return (doing) => workOnDeadLetters(doing, action);
    case "resume-replay": {
      const chosen = { kind: "resume", name: action.replay, perSecond: null } as const;
      if (action.kind === "calls") return (doing) => workOnCalls(doing, chosen, false);
      return (doing) => workOnDeadLetters(doing, chosen);
    }
    case "approve":
      return approve(action);
  }
}

type AttemptedId = ReturnType<typeof attemptedOf>["id"];

function pause(destination: AttemptedId, pauseForMs: number | null): Act {
  return async (doing) => {
    const looking = lookingOf(doing, destination);
    const asked = { forMs: pauseForMs, untilResumed: false };
    const paused = await pauseNow(
      { looking, by: BY },
      await operatingOn(doing, doing.producer),
      asked,
    );
    doing.report(pausedSentence(paused));
    doing.report(
      pausedText(await waitingOfPaused(looking, paused.pause.untilMs))
        .trim()
        .replaceAll("\n", " "),
    );
    return DONE;
  };
}

/** A destination that is no longer configured can also be resumed. */
function resume(id: string): Act {
  if (!isDestinationId(id)) throw new Error("This is not the ID of a destination.");
  return async (doing) => {
    const { kafka, config, signal } = doing;
    const resumed = await resumeNow(
      { kafka, config, signal },
      await operatingOn(doing, doing.producer),
      id,
    );
    doing.report(resumedSentence(id, resumed));
    const why = stillOnHold(id, doing.config);
    if (why !== null) doing.report(why);
    return DONE;
  };
}

function retry(destination: AttemptedId): Act {
  return async (doing) => {
    const looking = lookingOf(doing, destination);
    const acting = { looking, progressOutput: doing.progressOutput, by: BY };
    const waiting = await retryNow(acting, await operatingOn(doing, doing.producer));
    doing.report(
      waiting === 0 ? "No deliveries await retry." : `Retrying now: ${deliveries(waiting)}.`,
    );
    return DONE;
  };
}

function waitUntilDrained(destination: AttemptedId): Act {
  return async (doing) => {
    const looking = lookingOf(doing, destination);
    const why = await stillText(looking, systemClock.nowMs());
    if (why !== null) doing.report(`No delivery can be processed yet: ${why}`);
    const left = await waitUntilNoneIsLeft({ looking, progressOutput: doing.progressOutput }, null);
    const isDone = sumOf(left) === 0;
    doing.report(isDone ? "Nothing is left." : `${remainingText(left)}.`);
    return { ...DONE, isDone };
  };
}

function cancel(
  destination: AttemptedId,
  { before, dryRun }: Extract<Action, { action: "cancel" }>,
): Act {
  return async (doing) => {
    const looking = lookingOf(doing, destination);
    const operating = dryRun ? null : await operatingOn(doing, doing.producer);
    const acting = { looking, progressOutput: doing.progressOutput, by: BY };
    const waiting = await cancelWaiting(acting, operating, Date.parse(before));
    if (dryRun) {
      doing.report(`${deliveries(waiting)} would be cancelled.`);
      return { ...DONE, count: waiting };
    }
    doing.report(
      waiting === 0
        ? "Nothing was queued or awaiting retry."
        : `Cancelled: ${deliveries(waiting)}. They become dead letters.`,
    );
    return DONE;
  };
}

function approve({ audience: id, syncId }: Extract<Action, { action: "approve" }>): Act {
  return async ({ kafka, producer, config, report, signal }) => {
    const topics = configuredTopics(config);
    const audience = (await readClaims(kafka, topics, signal)).of(id);
    if (audience?.awaitingApproval?.syncId !== syncId) {
      throw new Error("This sync no longer awaits approval.");
    }
    await assertTopics(kafka.admin, [topics.audienceSyncs]);
    await approveSync(producer, topics, audience, syncId);
    report(`Approved: ${counted(audience.awaitingApproval.removals, "user")} will be removed.`);
    return DONE;
  };
}

function lookingOf({ kafka, config, signal }: Doing, destination: AttemptedId): Looking {
  return { kafka, config, destination, signal };
}

function deliveries(count: number): string {
  return counted(count, "delivery", "deliveries");
}

function planOf({
  destination,
  since,
  until,
  types,
  events,
  perSecond,
}: Extract<Action, { action: "replay" }>): CallReplayPlan {
  const [sinceMs, untilMs] = [Date.parse(since), Date.parse(until)];
  // `readAction` accepts no other types.
  const asked = { sinceMs, untilMs, types: types as readonly CallType[], events };
  return { destination, asked, perSecond };
}
