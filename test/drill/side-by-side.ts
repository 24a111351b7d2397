/**
 * Drills the problems of all destinations at the same time in one program, which has to report each problem for the
 * correct destination.
 */

import type { DestinationId } from "../../src/domain/ids.ts";
import { destinationSignals } from "./destination-signals.ts";
import { DrilledWorld, fineOf, type Said } from "./drilled-world.ts";
import type { Row } from "./judge.ts";
import type { Look } from "./look.ts";
import type { DestinationHealthProblem, DrillOptions } from "./problem.ts";

const FINE_LIMIT_MS = 30_000;
const PROBLEM_LIMIT_MS = 45_000;
/** The open time of a circuit doubles, and the last retry delay is 30 s. */
const MENDED_LIMIT_MS = 90_000;

export async function drillSideBySide(
  healthProblems: readonly DestinationHealthProblem[],
  options: DrillOptions,
): Promise<readonly Row[]> {
  const names = healthProblems.map(({ name }) => name);
  const ids = names as readonly string[] as readonly DestinationId[];
  const needs = healthProblems.map(({ need, name }) => ({ ...need, id: name as DestinationId }));
  await using world = await DrilledWorld.start(needs, options);
  const { product } = world;
  const well = (look: Look, isAlways: boolean) =>
    fineOf(look, { problem: names.join("+"), isAlways });
  const own = (look: Look) =>
    ids.flatMap((id) => fineOf(look, { problem: id, isAlways: false }, [id]));

  const before = await world.settle("before", FINE_LIMIT_MS, (look) => [
    ...well(look, false),
    ...own(look),
  ]);
  await options.hooks?.onFine?.(product);

  const madeAtMs = new Map<string, number>();
  for (const { make, name } of healthProblems) {
    options.say(`${name}: made`);
    await make(product, name as DestinationId);
    madeAtMs.set(name, Date.now());
  }
  const during = await world.settle("during", PROBLEM_LIMIT_MS, (look) => [
    ...well(look, true),
    ...healthProblems.map((problem) =>
      inHealthProblem(look, problem, madeAtMs.get(problem.name) ?? 0),
    ),
  ]);
  await options.hooks?.onHealthProblem?.(product, names);

  for (const { mend, name } of healthProblems) {
    options.say(`${name}: mended`);
    await mend(product, name as DestinationId);
  }
  const after = await world.settle("mended", MENDED_LIMIT_MS, (look) => [
    ...well(look, true),
    ...own(look),
  ]);
  await options.hooks?.onMended?.(product, names);
  return [...before, ...during, ...after];
}

function inHealthProblem(
  look: Look,
  { name, expected, also }: DestinationHealthProblem,
  madeAtMs: number,
): Said {
  const id = name as DestinationId;
  const comparisons = [
    ...destinationSignals(look, id, expected, madeAtMs),
    ...(also?.(look, id, madeAtMs) ?? []),
  ];
  return { problem: name, about: id, comparisons, isAlways: false };
}
