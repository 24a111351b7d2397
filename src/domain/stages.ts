/**
 * The table of stages. The `run` command, `switchyard status`, the reference page of topics and the tests read it.
 * To add a stage, add a row here, create a folder with the stage's name, and start the stage in
 * `src/program/run/start-stages.ts`.
 *
 *   input            who reads it                                shown by `status` as
 *   null             the stage serves HTTP                       nothing: there is no lag
 *   per stage        one consumer for all                        a row
 *   per destination  a consumer and a group for each             a row for each destination
 *   per delay        a consumer and a group for each             a row, and a table of retry delays
 *
 * The rows are in the order in which data passes through the stages. The last stage is started first, so that no
 * backlog builds up.
 */

import type { GroupNames, TopicNames } from "./topics.ts";

export type TopicKind = Exclude<keyof TopicNames, "prefix">;
type NamedAlone<Names> = {
  [Key in keyof Names]: Names[Key] extends string ? Key : never;
}[keyof Names];

/** The topics and groups of a stage, by their field names in `topics.ts`. */
export type StageInput =
  | {
      readonly per: "stage";
      readonly topic: Exclude<NamedAlone<TopicNames>, "prefix">;
      readonly group: NamedAlone<GroupNames>;
    }
  | {
      readonly per: "destination";
      readonly topic: "deliveries";
      /** A second topic that the same consumer reads. Its records may overtake those of the first topic. */
      readonly passing: "retries";
      readonly group: "deliver";
    }
  | { readonly per: "delay"; readonly topic: "delays"; readonly group: "delay" };

export interface StageRow {
  readonly input: StageInput | null;
  /** If `true`, `switchyard run` starts the stage when the command names no stages. */
  readonly isDefault: boolean;
}

export const STAGES = {
  ingest: { input: null, isDefault: true },
  route: { input: { per: "stage", topic: "calls", group: "route" }, isDefault: true },
  audience: { input: { per: "stage", topic: "audienceSyncs", group: "audience" }, isDefault: true },
  deletion: {
    input: { per: "stage", topic: "deletionRequests", group: "deletion" },
    isDefault: true,
  },
  deliver: {
    input: { per: "destination", topic: "deliveries", passing: "retries", group: "deliver" },
    isDefault: true,
  },
  delay: { input: { per: "delay", topic: "delays", group: "delay" }, isDefault: true },
  console: { input: null, isDefault: false },
} as const satisfies Readonly<Record<string, StageRow>>;

export type StageName = keyof typeof STAGES;
/** Topics that a stage reads with a consumer group. */
export type ConsumedKind = Exclude<(typeof STAGES)[StageName]["input"], null>["topic"] | "retries";

export const STAGE_NAMES = Object.keys(STAGES) as readonly StageName[];

/** Finds the stage that reads topics of this kind with a consumer group, and the stage's input. */
export function readerOf(
  kind: TopicKind,
): { readonly stage: StageName; readonly input: StageInput } | null {
  for (const stage of STAGE_NAMES) {
    const { input }: StageRow = STAGES[stage];
    if (input === null) continue;
    const isPassing = input.per === "destination" && input.passing === kind;
    if (input.topic === kind || isPassing) return { stage, input };
  }
  return null;
}
