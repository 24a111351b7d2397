/**
 * Sorts test files: long ones start first, so that no worker is still running a long one at the end. Vitest has their
 * durations only if it has run them before; otherwise it starts with large files, and these long tests are in small
 * files. Files of all projects of a group then take turns, so that local tests compute while others wait for Kafka.
 */

import { basename } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/**
 * Names of test files without `.test.ts`. A test that keeps the processors busy (chaos, clusters) is followed by tests
 * that wait most of the time, because several busy tests would starve each other.
 */
const LONG_AND_SMALL: readonly string[] = [
  ...["chaos-cluster", "kafka-unreachable", "kafka-quotas", "kafka-signals"],
  ...["chaos", "audience-publish", "kafka-outage", "waiting"],
  ...["cluster", "kafka-security", "kafka-listeners", "kafka-topics", "ingest-outage"],
  ...["drill", "process-clock", "reload-crash", "tutorial"],
  ...["local-cluster", "attacks", "expiring-events", "control", "procedures", "chaos-audience"],
  ...["endpoint-news", "routes-missing", "deliver-soak", "kafka-contract", "schema-outage"],
];

/** The fields that decide the order. */
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
 * Takes files of the projects in turn. The only file of a project comes first, because it may be long.
 *
 * @param sorted files of one group; those of each project are in Vitest's order.
 */
function inTurns<File extends Ordered>(sorted: readonly File[]): readonly File[] {
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
