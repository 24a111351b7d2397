/**
 * A second process has a configuration in which the source has one more destination. The commands that the log names
 * deliver the calls that the destination missed.
 */

import { METRICS } from "../../src/base/telemetry/metrics.ts";
import type { DestinationId } from "../../src/domain/ids.ts";
import { until } from "../support/kit/until.ts";
import { type Comparison, counted, worded } from "./comparison.ts";
import { fineOf } from "./drilled-world.ts";
import { type Look, metric } from "./look.ts";
import type { LoggedLine, Product } from "./product.ts";
import { exactly, lone, own } from "./program-problems.ts";

const NAME = "half-a-rollout";
const ADDED = "added" as DestinationId;
const REPLAYED = /^switchyard (replay .*)$/;

export const HALF_A_ROLLOUT = lone(NAME, "one of two processes has a destination more", {
  limitMs: 60_000,
  product: { destinations: [{ id: ADDED, isUnfed: true }] },
  make: (product) => product.startOther(),
  said: (look) => [
    ...fineOf(look, { problem: NAME, isAlways: true }),
    own(NAME, [...signals(look, "named", 1), worded("log", reported(look), ["routes.missing"])]),
  ],
  mend: async (product) => {
    product.feed();
    await product.stopOther();
    await replay(product);
  },
  mended: (look) => [
    own(NAME, [
      ...signals(look, "silent", 0),
      worded("log", reported(look), ["routes.missing-over"]),
      counted("calls of the time that did not come", missed(look), exactly(0)),
    ]),
  ],
});

function signals(look: Look, readyz: "named" | "silent", missing: number): readonly Comparison[] {
  const isNamed = (look.ready?.parts.process ?? []).some((problem) => problem.includes(ADDED));
  const inStatus = look.status.report?.processes[0]?.routesMissing ?? null;
  return [
    counted("metrics: routes missing", metric(look, METRICS.routesMissing), exactly(missing)),
    counted("status: routes missing", inStatus, exactly(missing)),
    worded("readyz: the destination", isNamed ? "named" : "silent", [readyz]),
    worded("readyz: its status", `${look.ready?.status}`, ["200"]),
  ];
}

/** The last log line about the missing route, if it names the destination. */
function reported({ lines }: Look): string {
  const line = lines.findLast(isAbout);
  if (line === undefined) return "silent";
  return (line.destinations as readonly string[]).includes(ADDED) ? line.msg : "another one";
}

function isAbout({ msg }: LoggedLine): boolean {
  return msg.startsWith("routes.");
}

/** Runs the commands from the log. */
async function replay(product: Product): Promise<void> {
  const find = () => product.lines.find(({ msg }) => msg === "routes.missing-over");
  await until(() => find() !== undefined, { limitMs: 20_000 });
  const line = find();
  for (const command of `${line?.fix ?? ""}`.split("; ")) {
    const [, words = ""] = REPLAYED.exec(command) ?? [];
    const { status, err } = await product.command(words.split(" "));
    if (status !== 0) throw new Error(`${command} of the log ends with ${status}: ${err}`);
  }
}

/** The number of calls that the destination has missed since the first process detected the other one. */
function missed({ lines, truth }: Look): number {
  const over = lines.find(({ msg }) => msg === "routes.missing-over");
  if (over === undefined) return Number.NaN;
  const written = truth.sent.between(Date.parse(`${over.since}`), over.atMs);
  const { accepted } = truth.product.receiver(ADDED);
  return written.filter(({ id }) => !accepted.has(id)).length;
}
