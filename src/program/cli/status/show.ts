/**
 * Reads the complete status once, and prints it.
 *
 *   result                                             exit
 *   Kafka and each given process responded             0
 *   part of Kafka is unreachable or not permitted      1; the reason is shown instead of that part
 *   a given process is unreachable                     1; the reports of the others are shown
 *   Kafka is unreachable, but a process was given      1; the reports of the processes are shown
 *   Kafka is unreachable, and no process was given     1; the reason is shown
 */

import { ageText } from "../../../base/words/count.ts";
import { startProgress } from "../../../operator/connect/progress.ts";
import type { ExitStatus, Shell } from "../../../operator/connect/shell.ts";
import { type LookOptions, look, type UseKafka } from "../../../operator/look/look.ts";
import { statusText } from "../../../operator/look/text.ts";

export interface ShowOptions extends LookOptions {
  readonly json: boolean;
}

export async function showStatus(
  useKafka: UseKafka,
  { json, ...options }: ShowOptions,
  shell: Shell,
  signal: AbortSignal,
): Promise<ExitStatus> {
  using progress = startProgress(shell, () =>
    options.admins.length === 0 || options.rateWindowMs === null
      ? "Reading"
      : `Measuring over ${ageText(options.rateWindowMs)} (--rate-window)`,
  );
  const { report, kafkaError, polled } = await look(useKafka, options, signal);
  progress.end();
  if (signal.aborted) return 1;
  if (kafkaError !== null && polled.every(({ kind }) => kind !== "process")) throw kafkaError;
  shell.out(json ? `${JSON.stringify(report, undefined, 2)}\n` : statusText(report, shell.colors));
  const isRead = kafkaError === null && report.unknown.length === 0;
  return isRead && polled.every(({ kind }) => kind === "process") ? 0 : 1;
}
