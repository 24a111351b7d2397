/** One check: reads everything that an operator sees, and the truth at the same time. */

import type { DestinationId } from "../../src/domain/ids.ts";
import type { CommandEnd } from "../support/kit/command.ts";
import type { Ledger } from "../support/kit/ledger.ts";
import type { KafkaSample, KafkaTruth, SeenRecord } from "./kafka-truth.ts";
import type { LoggedLine, Product } from "./product.ts";

export interface Look {
  readonly fromMs: number;
  readonly toMs: number;
  readonly metrics: readonly Sample[];
  readonly ready: Readiness | null;
  /** The response to `GET /status`; null if there was none. */
  readonly process: ProcessJson | null;
  readonly status: SaidStatus;
  /** The lines of the log since the program started. */
  readonly lines: readonly LoggedLine[];
  readonly truth: Truth;
}

export interface Readiness {
  readonly status: number;
  readonly healthProblems: readonly string[];
  /** The sentences of each stage or other part. */
  readonly parts: Readonly<Record<string, readonly string[]>>;
}

export interface SaidStatus extends CommandEnd {
  /** Null if the command printed no report. */
  readonly report: StatusJson | null;
}

/** The part of `status --json` that is compared, read in the same way as by a user's script. */
interface StatusJson {
  readonly destinations: readonly StatusRow[];
  readonly unwritableTopics: readonly { readonly topic: string; readonly since: string }[];
  readonly processes: readonly {
    readonly error: string | null;
    readonly configInvalidSince: string | null;
    readonly stateStoresUnavailable: number;
    readonly clockOffsetSeconds: number | null;
    readonly routesMissing: number;
  }[];
}

/** The part of `GET /status` that is compared. */
interface ProcessJson {
  readonly destinations: readonly {
    readonly id: string;
    readonly state: string;
    readonly partitions: number;
  }[];
}

interface StatusRow {
  readonly destination: string;
  readonly waiting: number | null;
  readonly awaitingRetry: number | null;
  readonly state: string | null;
  readonly deadLettersLastDay: number | null;
}

export interface Truth {
  readonly product: Product;
  /** The calls that Kafka has acknowledged. */
  readonly sent: Ledger;
  /** The samples of Kafka, the oldest first. The last one was taken after all other values were read. */
  readonly samples: readonly KafkaSample[];
  readonly records: readonly SeenRecord[];
}

const STATUS = ["status", "--json", "--kafka-timeout", "3s", "--rate-window", "1s", "--admin"];

/** @param kafka read before and after; if Kafka does not respond, the truth ends there. */
export async function takeLook(product: Product, sent: Ledger, kafka: KafkaTruth): Promise<Look> {
  const fromMs = Date.now();
  await kafka.sample().catch(() => null);
  const [metrics, ready, process] = await Promise.all([
    readMetrics(product),
    readReady(product),
    readProcess(product),
  ]);
  const status = await readStatus(product);
  await kafka.sample().catch(() => null);
  return {
    fromMs,
    toMs: Date.now(),
    metrics,
    ready,
    process,
    status,
    lines: product.lines,
    truth: { product, sent, samples: kafka.history, records: kafka.records },
  };
}

async function readMetrics({ admin }: Product): Promise<readonly Sample[]> {
  const response = await fetch(`http://${admin}/metrics`).catch(() => null);
  return response === null ? [] : parseMetrics(await response.text());
}

async function readReady({ admin }: Product): Promise<Readiness | null> {
  const response = await fetch(`http://${admin}/readyz`).catch(() => null);
  if (response === null) return null;
  const { stages } = (await response.json()) as {
    readonly stages: Readonly<Record<string, { readonly healthProblems: readonly string[] }>>;
  };
  const parts = Object.fromEntries(
    Object.entries(stages).map(([name, { healthProblems }]) => [name, healthProblems]),
  );
  return { status: response.status, parts, healthProblems: Object.values(parts).flat() };
}

async function readProcess({ admin }: Product): Promise<ProcessJson | null> {
  const response = await fetch(`http://${admin}/status`).catch(() => null);
  return response === null ? null : ((await response.json()) as ProcessJson);
}

async function readStatus(product: Product): Promise<SaidStatus> {
  const end = await product.command([...STATUS, product.admin]);
  const isReport = end.out.trimStart().startsWith("{");
  return { ...end, report: isReport ? (JSON.parse(end.out) as StatusJson) : null };
}

/** The row of a destination in `switchyard status`, which has one for each destination. */
export function statusRow({ status }: Look, id: DestinationId) {
  return status.report?.destinations.find(({ destination }) => destination === id) ?? null;
}

/** The sum of a metric's values with these labels; null if there are no such values. */
export function metric(
  { metrics }: Pick<Look, "metrics">,
  { name }: { readonly name: string },
  having: Readonly<Record<string, string>> = {},
): number | null {
  const wanted = Object.entries(having);
  const found = metrics.filter(
    (sample) =>
      sample.name === name && wanted.every(([label, value]) => sample.labels[label] === value),
  );
  return found.length === 0 ? null : found.reduce((sum, { value }) => sum + value, 0);
}

interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const LINE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)(?: \d+)?$/;
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g;
const ESCAPES: Readonly<Record<string, string>> = { "\\n": "\n", '\\"': '"', "\\\\": "\\" };

/** Comments and invalid lines are ignored. */
function parseMetrics(text: string): readonly Sample[] {
  return text.split("\n").flatMap((line) => {
    const [, name, labels = "", value] = LINE.exec(line) ?? [];
    if (name === undefined || value === undefined || Number.isNaN(Number(value))) return [];
    const pairs = [...labels.matchAll(LABEL)].map(([, label = "", escaped = ""]) => [
      label,
      escaped.replace(/\\./g, (pair) => ESCAPES[pair] ?? pair),
    ]);
    return [{ name, labels: Object.fromEntries(pairs) as Record<string, string>, value: +value }];
  });
}
