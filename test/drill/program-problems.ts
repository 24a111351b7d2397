/**
 * The problems of the program itself.
 *
 *   problem          what is true then
 *   bad-config       the file on disk is invalid, and the previous configuration stays in use
 *   stopped          nothing is delivered, and records that are written wait
 */

import { METRICS } from "../../src/base/telemetry/metrics.ts";
import type { DestinationId } from "../../src/domain/ids.ts";
import { type Comparison, counted, dated, worded } from "./comparison.ts";
import { trueLag } from "./destination-signals.ts";
import { DrilledWorld, fineOf, type Said } from "./drilled-world.ts";
import type { Row } from "./judge.ts";
import { type Look, metric, statusRow } from "./look.ts";
import type { DrillOptions, LoneHealthProblem } from "./problem.ts";
import { IDLE, type Product, type ProductOptions, WELL } from "./product.ts";

const LIMIT_MS = 30_000;
const NOTICED_MS = 10_000;
/** One change can be detected twice: by an event of the file system, and by reading the file. */
const READS_MAX = 3;

export const BAD_CONFIG = lone(
  "bad-config",
  "the configuration file becomes one that cannot be used",
  {
    make: (product) => Promise.resolve(product.writeConfig("kafka: { brokers: 17 }\n")),
    said: (look, madeAtMs) => [
      ...fineOf(look, { problem: "bad-config", isAlways: true }),
      own("bad-config", [...configSignals(look, madeAtMs)]),
    ],
    mend: (product) => Promise.resolve(product.writeConfig(null)),
    mended: (look) => [
      own("bad-config", [
        counted("metrics: invalid since", metric(look, METRICS.configInvalidSince), exactly(0)),
        worded("readyz: the configuration", configHealthProblem(look), ["silent"]),
      ]),
    ],
  },
);

export const STOPPED = lone("stopped", "the only process is stopped", {
  make: async (product) => void (await product.stopProgram()),
  said: (look) => [
    own("stopped", [...[WELL, IDLE].map((id) => statusLag(look, id)), ...unreached(look)]),
  ],
  mend: (product) => product.startProgram(),
  mended: () => [],
});

export interface Lone {
  readonly product?: Partial<ProductOptions>;
  /** Time limit for all signals to be correct, during the problem and after it; by default half a minute. */
  readonly limitMs?: number;
  readonly make: (product: Product) => Promise<void>;
  readonly said: (look: Look, madeAtMs: number) => readonly Said[];
  readonly mend: (product: Product) => Promise<void>;
  /** Signals in addition to those of destinations. */
  readonly mended: (look: Look) => readonly Said[];
}

export function lone(
  name: string,
  summary: string,
  { product: more = {}, limitMs = LIMIT_MS, make, said, mend, mended }: Lone,
): LoneHealthProblem {
  const run = async (options: DrillOptions): Promise<readonly Row[]> => {
    await using world = await DrilledWorld.start(more.destinations ?? [], options, more);
    const { product } = world;
    const fine = (look: Look) => fineOf(look, { problem: name, isAlways: false });
    const before = await world.settle("before", LIMIT_MS, fine);
    await options.hooks?.onFine?.(product);
    options.say("made");
    const madeAtMs = Date.now();
    await make(product);
    const during = await world.settle("during", limitMs, (look) => said(look, madeAtMs));
    await options.hooks?.onHealthProblem?.(product, [name]);
    options.say("mended");
    await mend(product);
    const after = await world.settle("mended", limitMs, (look) => [...fine(look), ...mended(look)]);
    await options.hooks?.onMended?.(product, [name]);
    return [...before, ...during, ...after];
  };
  return { kind: "alone", name, summary, run };
}

export function own(name: string, comparisons: readonly Comparison[]): Said {
  return { problem: name, about: name, comparisons, isAlways: false };
}

function configSignals(look: Look, madeAtMs: number): readonly Comparison[] {
  const since = metric(look, METRICS.configInvalidSince) ?? 0;
  const report = look.status.report?.processes[0]?.configInvalidSince ?? null;
  const noticed = { from: madeAtMs - 1_000, to: madeAtMs + NOTICED_MS };
  const line = look.lines.findLast(({ msg }) => msg === "config.invalid");
  return [
    dated("metrics: invalid since", since === 0 ? null : since * 1_000, noticed),
    dated("status: refuses the file since", report === null ? null : Date.parse(report), noticed),
    counted(
      "metrics: files that could not be used",
      metric(look, METRICS.configReloads, { outcome: "invalid" }),
      { from: 1, to: READS_MAX },
    ),
    worded("readyz: the configuration", configHealthProblem(look), ["names it"]),
    worded("readyz: its status", `${look.ready?.status}`, ["200"]),
    worded("log: config.invalid", line === undefined ? "absent" : "there", ["there"]),
  ];
}

function configHealthProblem({ ready }: Look): string {
  return (ready?.parts.configuration ?? []).length > 0 ? "names it" : "silent";
}

function statusLag(look: Look, id: DestinationId): Comparison {
  return counted(
    `status: what waits for ${id}`,
    statusRow(look, id)?.waiting ?? null,
    trueLag(look, id),
  );
}

function unreached({ status }: Look): readonly Comparison[] {
  const error = status.report?.processes[0]?.error ?? null;
  const said = error === null ? "is reached" : "cannot be reached";
  return [
    worded("status: the process", said, ["cannot be reached"]),
    worded("status: exit status", `${status.status}`, ["1"]),
  ];
}

export function exactly(value: number) {
  return { from: value, to: value };
}
