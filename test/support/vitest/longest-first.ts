/**
 * The order of test files: those that take long begin first, so that no worker is left alone with one at
 * the end. Vitest knows how long they took only where it has run before. Else it begins with large
 * files, and these are small.
 */

import { basename } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/**
 * By name without `.test.ts`. One that keeps the processors busy (chaos, clusters) is followed by some
 * that wait most of the time: several at once would starve each other.
 */
export const LONG_AND_SMALL: readonly string[] = [
  ...["chaos-cluster", "kafka-away", "waiting-outage", "kafka-signals", "kafka-outage"],
  ...["chaos", "kafka-signals-outage", "waiting", "kafka-topics", "ingest-outage"],
  ...["cluster", "kafka-connecting", "drill", "cluster-start", "cluster-trouble", "tutorial"],
];

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const byProject = Map.groupBy(sorted, ({ project }) => project.name);
    return [...byProject.values()].flatMap((own) => own.toSorted((a, b) => rank(a) - rank(b)));
  }
}

function rank({ moduleId }: TestSpecification): number {
  const at = LONG_AND_SMALL.indexOf(basename(moduleId, ".test.ts"));
  return at === -1 ? LONG_AND_SMALL.length : at;
}
