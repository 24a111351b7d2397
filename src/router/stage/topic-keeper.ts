/**
 * Recreates topics that disappear while the program runs, with their planned settings.
 *
 *   a missing topic                             result
 *   is not in the plan                          nothing is done
 *   is in the plan, with `createTopics: false`  nothing is done; callers that wait check every 2 s
 *   was requested less than 5 s ago             nothing is done
 *   is hidden by the brokers: no permission     nothing is done; its consumers retry, and report the reason
 *   is any other                                it is created, together with other missing topics
 *
 * If the clock was set back, stored times count as long ago.
 */

import { asError } from "../../base/runtime/as-error.ts";
import type { Clock } from "../../base/runtime/clock.ts";
import type { Log } from "../../base/telemetry/log.ts";
import {
  type Admin,
  MissingPermissionError,
  type OnRejected,
  type TopicSpec,
} from "../../kafka/port.ts";

const TRY_AGAIN_MS = 5_000;
const LOOK_AGAIN_MS = 2_000;
/** Callers within this time share a list of topics. */
const LIST_AGE_MAX_MS = 500;

export interface TopicKeeper {
  readonly update: (plan: readonly TopicSpec[]) => void;
  /** Returns `true` if the topic is recreated when it is missing. */
  readonly isMade: (topic: string) => boolean;
  /** Creates the topic if the table above allows it. Returns immediately. */
  readonly missing: (topic: string) => void;
  /**
   * Creates the topics that are missing, if the table above allows it, and waits until all exist. Returns `true` if any
   * was missing. Does not wait if the topics cannot be listed. Does not wait for a topic that the brokers hide, because
   * such a topic may exist.
   */
  readonly untilThere: (topics: readonly string[], signal: AbortSignal) => Promise<boolean>;
}

export interface KeeperDeps {
  readonly admin: Pick<Admin, "topics" | "assertVisible" | "create">;
  readonly clock: Clock;
  readonly log: Log;
}

/** Logs which settings of new topics the cluster does not allow. */
export function rejectedSettings(log: Log): OnRejected {
  return ({ topic, setting, planned, instead, error }) => {
    const fix = setting === "max.message.bytes" ? { fix: "kafka.maxMessageBytes" } : {};
    const set = instead === null ? {} : { instead };
    log.warn({ topic, setting, planned, ...set, error, ...fix }, "topics.setting-rejected");
  };
}

/** @param plan the topics to create; empty if `kafka.createTopics` is false. */
export function topicKeeper(
  { admin, clock, log }: KeeperDeps,
  plan: readonly TopicSpec[],
): TopicKeeper {
  const byName = (all: readonly TopicSpec[]) => new Map(all.map((spec) => [spec.name, spec]));
  let specs = byName(plan);
  const triedAtMs = new Map<string, number>();
  let wanted: TopicSpec[] = [];
  let list: { readonly atMs: number; readonly names: Promise<ReadonlySet<string>> } | null = null;

  const existing = (): Promise<ReadonlySet<string>> => {
    const nowMs = clock.nowMs();
    if (list === null || Math.abs(nowMs - list.atMs) >= LIST_AGE_MAX_MS) {
      list = { atMs: nowMs, names: admin.topics().then((names) => new Set(names)) };
    }
    return list.names;
  };
  const areVisible = (names: readonly string[]): Promise<boolean> =>
    admin.assertVisible(names).then(
      () => true,
      (error: unknown) => !(error instanceof MissingPermissionError),
    );
  const make = async () => {
    const specsNow = wanted;
    wanted = [];
    const topics = specsNow.map(({ name }) => name);
    try {
      await admin.create(specsNow, rejectedSettings(log));
      log.warn({ topics }, "topics.recreated");
    } catch (error) {
      log.error({ topics, error: asError(error).message }, "topics.create-failed");
    }
  };
  const missing = (topic: string) => {
    const spec = specs.get(topic);
    const nowMs = clock.nowMs();
    if (spec === undefined) return;
    const agoMs = Math.abs(nowMs - (triedAtMs.get(topic) ?? Number.NEGATIVE_INFINITY));
    if (agoMs < TRY_AGAIN_MS) return;
    triedAtMs.set(topic, nowMs);
    wanted.push(spec);
    // All topics that are reported in the same turn of the event loop are created in one request.
    if (wanted.length === 1) void Promise.resolve().then(make);
  };
  return {
    update: (changed) => {
      specs = byName(changed);
      for (const topic of triedAtMs.keys()) if (!specs.has(topic)) triedAtMs.delete(topic);
    },
    isMade: (topic) => specs.has(topic),
    missing,
    untilThere: async (topics, signal) => {
      for (let wasMissing = false; !signal.aborted; wasMissing = true) {
        const names = await existing().catch(() => null);
        const lacking = names === null ? [] : topics.filter((topic) => !names.has(topic));
        if (lacking.length === 0 || !(await areVisible(lacking))) return wasMissing;
        lacking.forEach(missing);
        await clock.sleep(LOOK_AGAIN_MS, signal);
      }
      return false;
    },
  };
}

/**
 * Returns the topics that do not exist.
 *
 * @throws MissingPermissionError if the brokers hide some of the topics, because hidden topics may exist, and creating
 * them would not help.
 */
export async function missingTopics(
  admin: Pick<Admin, "topics" | "assertVisible">,
  names: readonly string[],
): Promise<readonly string[]> {
  const existing = new Set(await admin.topics());
  const missing = [...new Set(names)].filter((name) => !existing.has(name));
  if (missing.length > 0) await admin.assertVisible(missing);
  return missing;
}

/**
 * Returns a command or a sentence that says how to end a wait for topics.
 *
 * @param error why the topics could not be listed or created; null if they are only missing.
 */
export function topicsFix(error: Error | null): string {
  return error instanceof MissingPermissionError ? error.message : "switchyard topics --apply";
}
