/**
 * Writes metrics, log lines and sentences about reloads of the configuration. They contain IDs and paths, but never
 * values.
 */

import type { Metrics } from "../../base/telemetry/instruments.ts";
import type { Log } from "../../base/telemetry/log.ts";
import type { LineName } from "../../base/telemetry/log-lines/log-lines.ts";
import { joinEqual } from "../../base/words/count.ts";
import type { Changes, ListChanges } from "../../config/changes.ts";
import { topicsFix } from "../../router/stage/topic-keeper.ts";

export type ReloadOutcome = "applied" | "unchanged" | "invalid" | "failed";

/**
 * `start`: a check after the start, because the file may have changed since it was read. `topics`: a check for the
 * missing topics of pending destinations.
 */
export type Cause = "start" | "file" | "SIGHUP" | "request" | "topics";

const OUTCOMES: readonly ReloadOutcome[] = ["applied", "unchanged", "invalid", "failed"];

/** How the file on disk differs from the current configuration. */
export interface Standing {
  /** Null if the file is valid. */
  invalid: { readonly sinceMs: number; readonly problems: readonly string[] } | null;
  needsRestart: readonly string[];
  waiting: ReadonlyMap<string, readonly string[]>;
  /** Why creating the topics failed, if that was attempted. */
  lackingFor: Error | null;
}

export interface ReportDeps {
  readonly metrics: Metrics;
  readonly log: Log;
}

export type ReloadReport = ReturnType<typeof createReloadReport>;

export function createReloadReport({ metrics, log }: ReportDeps) {
  const reloads = new Map(
    OUTCOMES.map((outcome) => [outcome, metrics.configReloads.bind({ outcome })]),
  );
  const invalidSince = metrics.configInvalidSince.bind({});
  const restarts = metrics.configNeedsRestart.bind({});
  const heldBack = metrics.configHeldBack.bind({});
  /** The last log lines. A line is logged again when it has changed, and `config.valid` when its problem is over. */
  const said = new Map<LineName, string>();
  let shown: string | null = null;

  const isNews = (of: LineName, text: string): boolean => {
    if ((said.get(of) ?? "") === text) return false;
    said.set(of, text);
    if (text === "") log.info({ resolved: of }, "config.valid");
    return text !== "";
  };
  /** Sets the metrics for the configuration with this hash, which is now current. */
  const runs = (hash: string) => {
    if (shown === hash) return;
    if (shown !== null) metrics.configInfo.remove({ hash: shown });
    metrics.configInfo.bind({ hash }).set(1);
    shown = hash;
  };
  return {
    count: (outcome: ReloadOutcome, cause: Cause) => {
      if (outcome === "applied" || outcome === "unchanged") isNews("config.apply-failed", "");
      // No operator requested this reload, and it changed nothing, so it is not logged.
      if ((cause === "start" || cause === "topics") && outcome === "unchanged") return;
      reloads.get(outcome)?.inc();
    },
    runs,
    applied: (changes: Changes, cause: Cause, hash: string) => {
      runs(hash);
      const { destinations, sources, audiences, atOnce } = changes;
      const lists = Object.entries({ destinations, sources, audiences });
      const changed = lists.filter(([, list]) => countOf(list) > 0);
      const shownLists = Object.fromEntries(changed.map(([name, list]) => [name, shownOf(list)]));
      log.info({ cause, hash, ...shownLists, settings: atOnce }, "config.applied");
    },
    invalid: ({ invalid }: Standing, cause: Cause) => {
      if (invalid === null) return;
      invalidSince.set(invalid.sinceMs / 1_000);
      const since = new Date(invalid.sinceMs).toISOString();
      said.set("config.invalid", since);
      log.error({ cause, problems: invalid.problems, since }, "config.invalid");
    },
    readable: ({ needsRestart }: Standing, all: readonly string[]) => {
      const warnings = joinEqual(all);
      invalidSince.set(0);
      isNews("config.invalid", "");
      if (isNews("config.warnings", warnings.join("\n"))) log.warn({ warnings }, "config.warnings");
      restarts.set(needsRestart.length);
      if (!isNews("config.needs-restart", needsRestart.join())) return;
      log.warn({ settings: needsRestart }, "config.needs-restart");
    },
    waiting: ({ waiting, lackingFor }: Standing) => {
      heldBack.set(waiting.size);
      const topics = [...waiting.values()].flat();
      if (!isNews("config.waiting-for-topics", `${topics.join()}${lackingFor?.message ?? ""}`))
        return;
      const fields = { destinations: [...waiting.keys()], topics, fix: topicsFix(lackingFor) };
      const cause = lackingFor === null ? {} : { error: lackingFor.message };
      log.warn({ ...fields, ...cause }, "config.waiting-for-topics");
    },
    failed: (error: string, cause: Cause) => {
      said.set("config.apply-failed", error);
      log.error({ cause, error }, "config.apply-failed");
    },
    healthProblems: ({ invalid, needsRestart, waiting, lackingFor }: Standing) => [
      ...(invalid === null ? [] : [invalidText(invalid)]),
      ...(needsRestart.length === 0
        ? []
        : [`these settings of the file apply after a restart: ${needsRestart.join(", ")}`]),
      ...[...waiting].map(
        ([id, topics]) =>
          `destination ${id} waits for ${topics.join(" and ")} (${topicsFix(lackingFor)})`,
      ),
    ],
  };
}

function invalidText({ sinceMs, problems }: NonNullable<Standing["invalid"]>): string {
  const since = new Date(sinceMs).toISOString();
  const [first = ""] = problems;
  const more = problems.length > 1 ? ` (and ${problems.length - 1} more)` : "";
  return `the configuration file has been invalid since ${since}, and the process still uses the previous one: ${first}${more}`;
}

function countOf({ added, removed, changed }: ListChanges): number {
  return added.length + removed.length + changed.length;
}

function shownOf({ added, removed, changed }: ListChanges) {
  return {
    ...(added.length === 0 ? {} : { added }),
    ...(removed.length === 0 ? {} : { removed }),
    ...(changed.length === 0 ? {} : { changed }),
  };
}
