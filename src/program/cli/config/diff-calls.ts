/** `config diff --since`: shows what another configuration would do with past calls, as text or JSON. */

import { systemClock } from "../../../base/runtime/clock.ts";
import { counted } from "../../../base/words/count.ts";
import type { Config } from "../../../config/config.ts";
import { visibleCell } from "../../../domain/escape-control.ts";
import { type ClusterOptions, withKafka } from "../../../operator/connect/cluster.ts";
import { openCommandSchemas } from "../../../operator/connect/command-schemas.ts";
import { startProgress } from "../../../operator/connect/progress.ts";
import type { ExitStatus, Shell } from "../../../operator/connect/shell.ts";
import type {
  Counted,
  DestinationDifferences,
} from "../../../operator/timeline/compare-routing.ts";
import { type Comparison, readComparison } from "../../../operator/timeline/read-comparison.ts";

interface Configs {
  /** The configuration whose Kafka cluster is read. */
  readonly current: Config;
  readonly before: Config;
  readonly after: Config;
}

interface Options extends ClusterOptions {
  /** Milliseconds since the epoch. */
  readonly since: number;
  readonly share?: number;
}

export async function compareCalls(
  configs: Configs,
  options: Options,
  shell: Shell,
): Promise<ExitStatus> {
  const { since: sinceMs, share = 1, json } = options;
  return await withKafka(configs.current, shell, options, async (kafka, signal) => {
    await using schemas = await openCommandSchemas(configs.current.registry, signal);
    let read = 0;
    using progress = startProgress(shell, () => `${read.toLocaleString("en")} records read`);
    const onRead = (records: number) => {
      read += records;
    };
    const { nowMs } = systemClock;
    const ports = { kafka, schemas, nowMs: () => nowMs(), signal, onRead };
    const found = await readComparison(ports, { ...configs, sinceMs, share });
    progress.end();
    if (found === null) {
      shell.err("Interrupted: not all calls were read.\n");
      return 1;
    }
    if (json === true) shell.raw(`${JSON.stringify({ since: isoOf(sinceMs), share, ...found })}\n`);
    else shell.out(comparisonText(found, sinceMs, share));
    for (const problem of found.unread) shell.err(`Cannot read ${visibleCell(problem)}\n`);
    if (found.unread.length > 0 || found.withoutSchema > 0) return 1;
    return found.destinations.length > 0 ? 3 : 0;
  });
}

function isoOf(atMs: number): string {
  return new Date(atMs).toISOString();
}

function comparisonText(
  { calls, withoutSchema, destinations }: Comparison,
  sinceMs: number,
  share: number,
): string {
  const part = share < 1 ? `, a share of ${share * 100} %` : "";
  const lines = [`Compared ${counted(calls, "call")} since ${isoOf(sinceMs)}${part}.`];
  if (withoutSchema > 0) {
    lines.push(
      `${counted(withoutSchema, "call")} could not be compared, because the schema registry did not return the schema.`,
    );
  }
  if (destinations.length === 0) lines.push("No call would be routed differently.");
  return `${[...lines, ...destinations.flatMap(destinationLines)].join("\n")}\n`;
}

function destinationLines(found: DestinationDifferences): readonly string[] {
  const { destination, gained, lost, changed } = found;
  const properties = Object.entries(changed.properties)
    .toSorted(([, one], [, other]) => other - one)
    .map(([path, count]) => `${visibleCell(path)} (${count.toLocaleString("en")})`);
  return [
    "",
    destination,
    ...line("gained", gained, ""),
    ...lost.flatMap(({ reason, ...each }) => line("lost", each, `, ${reason}`)),
    ...line("changed", changed, `: ${properties.join(", ")}`),
  ];
}

function line(what: string, { count, examples }: Counted, more: string): readonly string[] {
  if (count === 0) return [];
  const ids = examples.map((id) => visibleCell(id)).join(", ");
  return [`  ${what.padEnd(8)} ${counted(count, "call")}${more}`, `           such as ${ids}`];
}
