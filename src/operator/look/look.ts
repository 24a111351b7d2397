/** Reads the current state once: from Kafka, including the operator actions stored there, and from each process. */

import { asError } from "../../base/runtime/as-error.ts";
import type { Config } from "../../config/config.ts";
import type { Kafka } from "../../kafka/port.ts";
import { type Polled, pollProcesses } from "./processes.ts";
import { statusReport } from "./report.ts";
import { kafkaStatus } from "./status.ts";
import { isFailing, type StatusReport } from "./status-report.ts";

export interface LookOptions {
  readonly config: Config;
  /** The hash of the configuration file. */
  readonly hash: string;
  readonly admins: readonly string[];
  /** Each process is read twice, with this interval; null if rates are those of the last minute. */
  readonly rateWindowMs: number | null;
  /** If `true`, only destinations with problems are included. */
  readonly failing?: boolean;
  /** Only this destination. */
  readonly destination?: string | null;
}

/** Runs a function with a connection to Kafka. @throws Error if Kafka is unreachable. */
export type UseKafka = <Result>(
  work: (kafka: Kafka, signal: AbortSignal) => Promise<Result>,
) => Promise<Result>;

export interface Picture {
  readonly report: StatusReport;
  /** Null if Kafka could be read. */
  readonly kafkaError: Error | null;
  readonly polled: readonly Polled[];
}

/** Never rejects. */
export async function look(
  useKafka: UseKafka,
  { config, hash, admins, rateWindowMs, failing = false, destination = null }: LookOptions,
  signal: AbortSignal,
): Promise<Picture> {
  const read = useKafka((kafka, limit) =>
    kafkaStatus({ kafka, config, destination, nowMs: Date.now(), signal: limit }),
  );
  const [polled, kafka] = await Promise.all([
    pollProcesses(admins, rateWindowMs, signal),
    read.then(
      (status) => ({ status, error: null }),
      (thrown: unknown) => ({ status: null, error: asError(thrown) }),
    ),
  ]);
  const wanted = config.destinations.filter(({ id }) => destination === null || id === destination);
  const report = statusReport({
    config: { destinations: wanted },
    hash,
    kafka: kafka.status,
    kafkaError: kafka.error?.message ?? null,
    polled,
    nowMs: Date.now(),
  });
  const destinations = failing ? report.destinations.filter(isFailing) : report.destinations;
  return { report: { ...report, destinations }, kafkaError: kafka.error, polled };
}
