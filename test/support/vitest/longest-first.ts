/**
 * The order of test files: long ones begin first, so that no worker still runs a long one alone at
 * the end. Vitest only knows how long they take if it has run them before. Otherwise it begins with large
 * files, and these are small. Then files of all projects of a group take turns: local ones compute while
 * others wait for Kafka.
 */

import { basename } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/**
 * By name without `.test.ts`. One that keeps the processors busy (chaos, clusters) is followed by some
 * that wait most of the time: several at once would starve each other.
 */
export const LONG_AND_SMALL: readonly string[] = [
  ...["chaos-cluster", "kafka-unreachable", "waiting-outage", "kafka-signals", "kafka-outage"],
  ...["chaos", "kafka-signals-outage", "waiting", "kafka-topics", "ingest-outage"],
  ...["cluster", "kafka-connecting", "drill", "cluster-start", "cluster-outages", "tutorial"],
  ...["attacks", "expiring-events", "control", "procedures", "chaos-audience"],
];

/** What the order looks at. */
export type Ordered = Pick<TestSpecification, "moduleId"> & {
  readonly project: { readonly name: string };
};

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const groups = Map.groupBy(
      await super.sort(files),
      ({ project }) => project.config.sequence.groupOrder,
    );
    return [...groups.values()].flatMap(inTurns);
  }
}

/**
 * A project's only file is the first of the turns: it may be long.
 *
 * @param sorted files of one group, each project's in the order that Vitest gives them.
 */
export function inTurns<File extends Ordered>(sorted: readonly File[]): readonly File[] {
  const first = sorted
    .filter((file) => rank(file) !== -1)
    .toSorted((one, other) => rank(one) - rank(other));
  const rest = sorted.filter((file) => rank(file) === -1);
  const turns = [...Map.groupBy(rest, ({ project }) => project.name).values()].flatMap((own) =>
    own.map((file, index) => ({ file, turn: index / own.length })),
  );
  return [
    ...first,
    ...turns.toSorted((one, other) => one.turn - other.turn).map(({ file }) => file),
  ];
}

function rank({ moduleId }: Ordered): number {
  return LONG_AND_SMALL.indexOf(basename(moduleId, ".test.ts"));
}
