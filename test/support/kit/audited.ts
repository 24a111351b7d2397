/** A program whose deliveries are audited: its stages as processes on the tests' Kafka, a receiver, and `switchyard audit`. */

import { expect } from "vitest";

import type { DestinationSums } from "../../../src/operator/audit/audit.ts";
import { useKafka } from "./kafka.ts";
import { type Sections, useProgram } from "./program.ts";
import { type Manner, useReceiver } from "./receiver.ts";
import { until } from "./until.ts";

/** The end of the audited time is in the future, because the sums of the current ten minutes count too. */
const AHEAD_MS = 1_200_000;
const WITHIN = { limitMs: 40_000, everyMs: 500 };

type Row = Omit<DestinationSums, "deadLettered" | "skipped"> & {
  readonly destination: string;
  readonly deadLettered: Readonly<Record<string, number>>;
  readonly skipped: Readonly<Record<string, number>>;
};

/** What `audit --json` prints. */
export interface Audited {
  readonly status: number;
  readonly closes: boolean;
  readonly calls: { readonly routed: number; readonly waiting: number };
  readonly destinations: readonly Row[];
  readonly findings: readonly {
    readonly kind: string;
    readonly messageId: string | null;
    readonly destination: string | null;
    readonly topic: string;
    readonly partition: number;
    readonly offset: number;
    readonly last: string;
  }[];
  readonly unnamed: readonly string[];
  readonly unknown: readonly string[];
  readonly crashes: readonly { readonly group: string }[];
}

export interface AuditedOptions {
  readonly manner?: Manner;
  /** @param url of the receiver. */
  readonly destinations: (url: string) => Sections["destinations"];
  readonly sections?: Readonly<Record<string, unknown>>;
  readonly partitions?: number;
}

export async function useAudited(name: string, options: AuditedOptions) {
  const { manner, destinations, sections = {}, partitions = 1 } = options;
  const receiver = await useReceiver(manner);
  const own = useKafka(name);
  const { brokers, prefix } = own;
  const program = useProgram({
    kafka: { brokers, topicPrefix: prefix, partitions },
    destinations: destinations(receiver.url),
    ...sections,
  });
  const command = async (...args: readonly string[]) => {
    const ended = await program.inProcess(args);
    if (ended.status !== 0) throw new Error(`${args.join(" ")}: ${ended.err}${ended.out}`);
    return ended.out;
  };
  await command("topics", "--apply");
  const audit = async (): Promise<Audited> => {
    const until = new Date(Date.now() + AHEAD_MS).toISOString();
    const args = ["audit", "--since", "1h", "--until", until, "--json"];
    const { status, out, err } = await program.inProcess(args);
    if (status !== 0 && status !== 3) throw new Error(err);
    return { ...JSON.parse(out), status };
  };
  return {
    ...{ own, program, receiver, command, audit },
    /** Writes a track call for each message ID. @param more other fields of the calls. */
    publish: async (ids: readonly string[], more: Readonly<Record<string, unknown>> = {}) => {
      const calls = ids.map((messageId) => {
        return { type: "track", event: "E", userId: `u-${messageId}`, messageId, ...more };
      });
      await own.write(
        "calls",
        calls.map((value) => ({ key: value.userId, value })),
      );
    },
    /** Audits again and again while it is not done. Each report must close, and the last one is returned. */
    closesUntil: async (isDone: (report: Audited) => boolean): Promise<Audited> => {
      const reports = await auditUntil(audit, isDone);
      for (const report of reports) expectClosed(report);
      return lastOf(reports);
    },
    /** Audits until the report is done, and returns it. */
    auditUntil: async (isDone: (report: Audited) => boolean): Promise<Audited> =>
      lastOf(await auditUntil(audit, isDone)),
  };
}

async function auditUntil(
  audit: () => Promise<Audited>,
  isDone: (report: Audited) => boolean,
): Promise<readonly Audited[]> {
  const reports: Audited[] = [];
  const look = async () => {
    const report = await audit();
    reports.push(report);
    return isDone(report);
  };
  if (await until(look, WITHIN)) return reports;
  throw new Error(`the audit is not done: ${JSON.stringify(reports.at(-1), null, 1)}`);
}

function lastOf(reports: readonly Audited[]): Audited {
  const last = reports.at(-1);
  if (last === undefined) throw new Error("there was no audit");
  return last;
}

/** True if so many calls are routed, and nothing waits. */
export function isSettled(calls: number): (report: Audited) => boolean {
  return ({ calls: { routed, waiting }, destinations }) => {
    const waits = destinations.map(
      ({ queued, awaitingRetry, waiting: behind }) => queued + awaitingRetry + behind,
    );
    return routed === calls && [waiting, ...waits].every((count) => count === 0);
  };
}

export function rowOf({ destinations }: Audited, id: string): Row {
  const row = destinations.find(({ destination }) => destination === id);
  if (row === undefined) throw new Error(`the audit has no row for ${id}`);
  return row;
}

/** A report without findings. */
export function expectClosed(report: Audited): void {
  const { status, closes, findings, unnamed } = report;
  expect({ status, closes, findings, unnamed }).toEqual({
    ...{ status: 0, closes: true, findings: [], unnamed: [] },
  });
}

/** Everything that was written for a destination for which nothing waits has ended. */
export function expectSum(row: Row): void {
  const { routed, notified, replayed, parts, delivered, suppressed, dropped, deadLettered } = row;
  const dead = Object.values(deadLettered).reduce((sum, count) => sum + count, 0);
  expect(delivered + suppressed + dropped + dead, row.destination).toBe(
    routed + notified + replayed + parts,
  );
}

/** `kind messageId destination topic`, without the prefix of the topic, sorted. */
export function found({ findings }: Audited, prefix: string): readonly string[] {
  return findings
    .map(({ kind, messageId, destination, topic }) => {
      return `${kind} ${messageId} ${destination ?? "-"} ${topic.replace(prefix, "")}`;
    })
    .toSorted();
}

export function ids(start: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, number) => `${start}-${number}`);
}
