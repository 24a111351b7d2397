/** Looks twice at the metrics of each process. */

import { setTimeout as sleep } from "node:timers/promises";

import { parseMetrics } from "./metrics-text.ts";
import { type Look, METRICS_USED, type Process } from "./rates.ts";

const ANSWER_LIMIT_MS = 3_000;

export type Scraped =
  | { readonly kind: "process"; readonly address: string; readonly process: Process }
  | { readonly kind: "unreachable"; readonly address: string; readonly why: string };

/**
 * @param addresses `host:port` of admin ports
 * @param overMs the time from the first look to the second
 */
export function scrapeTwice(
  addresses: readonly string[],
  overMs: number,
  signal: AbortSignal,
): Promise<readonly Scraped[]> {
  return Promise.all(
    addresses.map(async (address): Promise<Scraped> => {
      try {
        const before = await look(address, signal);
        await sleep(overMs, undefined, { signal });
        const after = await look(address, signal);
        return { kind: "process", address, process: { before, after } };
      } catch (error) {
        return { kind: "unreachable", address, why: reason(error as Error) };
      }
    }),
  );
}

async function look(address: string, signal: AbortSignal): Promise<Look> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(ANSWER_LIMIT_MS)]);
  const response = await fetch(`http://${address}/metrics`, { signal: limit, redirect: "error" });
  const text = await response.text();
  if (!response.ok) throw new Error(`it answered ${response.status}`);
  const samples = parseMetrics(text).filter(({ name }) => METRICS_USED.has(name));
  return { atMs: performance.now(), samples };
}

function reason(error: Error): string {
  if (error.name === "TimeoutError") return `no answer within ${ANSWER_LIMIT_MS / 1_000} s`;
  const { cause } = error as { readonly cause?: unknown };
  const { code } = (cause ?? {}) as { readonly code?: unknown };
  if (typeof code === "string") return code;
  return cause instanceof Error ? cause.message : error.message;
}
