/**
 * Reads everything once, and prints it.
 *
 *   result                                             exit
 *   Kafka and each given process responded             0
 *   part of Kafka is unreachable or not permitted      1; the reason is shown in its place, with all the rest
 *   a given process is unreachable                     1; the reports of the others are shown
 *   Kafka is unreachable, a process was given          1; the reports of the processes are shown
 *   Kafka is unreachable, no process was given         1; the reason is shown
 */

import type { Config } from "../../config/config.ts";
import type { Kafka } from "../../kafka/port.ts";
import { asError } from "../../runtime/as-error.ts";
import { durationText } from "../../settings/scalars.ts";
import { startProgress } from "../connect/progress.ts";
import type { ExitStatus, Shell } from "../connect/shell.ts";
import { isFailing } from "./destinations.ts";
import type { Look } from "./rates.ts";
import { type StatusReport, statusReport } from "./report.ts";
import { type Scraped, scrapeAll } from "./scrape.ts";
import { type KafkaStatus, kafkaStatus } from "./status.ts";
import { statusText } from "./text.ts";

export interface ShowOptions {
  readonly config: Config;
  /** The hash of the configuration file. */
  readonly hash: string;
  readonly admins: readonly string[];
  readonly rateWindowMs: number;
  readonly json: boolean;
  /** Only destinations with problems. */
  readonly failing: boolean;
  /** Only this destination; null: all. */
  readonly destination: string | null;
}

/** Does work with a connection to Kafka. @throws Error if Kafka is unreachable. */
export type UseKafka = <Result>(
  work: (kafka: Kafka, signal: AbortSignal) => Promise<Result>,
) => Promise<Result>;

export async function showStatus(
  useKafka: UseKafka,
  options: ShowOptions,
  shell: Shell,
  signal: AbortSignal,
): Promise<ExitStatus> {
  const { admins, rateWindowMs, json } = options;
  using progress = startProgress(shell, () =>
    admins.length === 0
      ? "Reading"
      : `Measuring over ${durationText(rateWindowMs)} (--rate-window)`,
  );
  const asked = scrapeAll(admins, rateWindowMs, signal);
  const read = useKafka((kafka, limit) => readKafka(kafka, options, limit));
  const [scraped, kafka] = await Promise.all([asked, settled(read)]);
  progress.end();
  if (signal.aborted) return 1;
  const isAnswered = scraped.some(({ kind }) => kind === "process");
  if (kafka.error !== null && !isAnswered) throw kafka.error;
  const report = reportOf(options, scraped, kafka);
  shell.out(json ? `${JSON.stringify(report, undefined, 2)}\n` : statusText(report, shell.colors));
  const isRead = kafka.error === null && report.unknown.length === 0;
  const isWhole = isRead && scraped.every(({ kind }) => kind === "process");
  return isWhole ? 0 : 1;
}

export interface KafkaFound {
  readonly status: KafkaStatus | null;
  readonly error: Error | null;
}

export function readKafka(
  kafka: Kafka,
  { config, destination }: ShowOptions,
  signal: AbortSignal,
): Promise<KafkaStatus> {
  return kafkaStatus({ kafka, config, destination, nowMs: Date.now(), signal });
}

export function settled(read: Promise<KafkaStatus>): Promise<KafkaFound> {
  return read.then(
    (status) => ({ status, error: null }),
    (thrown: unknown) => ({ status: null, error: asError(thrown) }),
  );
}

export function reportOf(
  { config, hash, failing, destination }: ShowOptions,
  scraped: readonly Scraped[],
  { status, error }: KafkaFound,
): StatusReport {
  const wanted = config.destinations.filter(({ id }) => destination === null || id === destination);
  const report = statusReport({
    config: { destinations: wanted },
    hash,
    kafka: status,
    kafkaError: error?.message ?? null,
    scraped,
    nowMs: Date.now(),
  });
  return failing ? { ...report, destinations: report.destinations.filter(isFailing) } : report;
}

/** The first readings for the next refresh. */
export function looksOf(scraped: readonly Scraped[]): ReadonlyMap<string, Look> {
  return new Map(
    scraped.flatMap((each) =>
      each.kind === "process" ? [[each.address, each.process.after] as const] : [],
    ),
  );
}
