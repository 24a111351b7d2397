/** Reads the metrics and the status of each process, once per poll. */

import { everyAddress } from "../../operate/connect/every-address.ts";
import { parseMetrics, type Sample } from "../../operate/connect/metrics-text.ts";
import { ask, reasonOf } from "../../operate/connect/scrape.ts";
import { type Look, METRICS_USED } from "../../operate/look/rates.ts";
import { readStatus } from "../../operate/look/read-status.ts";
import type { Scraped } from "../../operate/look/scrape.ts";
import type { AllCounters, Counters } from "../counters.ts";
import { DIGESTED, digest } from "./digest.ts";

/** The names of the lines that are used. */
const WANTED = new Set([...METRICS_USED, ...DIGESTED]);

export interface Asked {
  readonly scraped: readonly Scraped[];
  readonly counters: AllCounters;
  /** For the next poll. */
  readonly looks: ReadonlyMap<string, Look>;
}

/** @param earlier the previous poll, by address. */
export async function askAll(
  addresses: readonly string[],
  earlier: ReadonlyMap<string, Look>,
  signal: AbortSignal,
): Promise<Asked> {
  const counters = new Map<string, Counters>();
  const looks = new Map<string, Look>();
  const scraped = await Promise.all(
    (await everyAddress(addresses)).map(async (address): Promise<Scraped> => {
      try {
        const [samples, reported] = await Promise.all([
          metricsOf(address, signal),
          ask(address, "/status", signal),
        ]);
        counters.set(address, digest(samples));
        const used = samples.filter(({ name }) => METRICS_USED.has(name));
        const after = { atMs: performance.now(), samples: used };
        looks.set(address, after);
        const process = { before: earlier.get(address) ?? after, after };
        const status = reported.status === 200 ? readStatus(reported.body) : null;
        return { kind: "process", address, process, status };
      } catch (error) {
        return { kind: "unreachable", address, why: reasonOf(error as Error) };
      }
    }),
  );
  return { scraped, counters, looks };
}

/** The counters of the processes that respond. Never rejects. */
export async function countersOf(
  addresses: readonly string[],
  signal: AbortSignal,
): Promise<AllCounters> {
  const counters = new Map<string, Counters>();
  await Promise.all(
    (await everyAddress(addresses)).map(async (address) => {
      const samples = await metricsOf(address, signal).catch(() => null);
      if (samples !== null) counters.set(address, digest(samples));
    }),
  );
  return counters;
}

async function metricsOf(address: string, signal: AbortSignal): Promise<readonly Sample[]> {
  const { status, body } = await ask(address, "/metrics", signal);
  if (status !== 200) throw new Error(`it responded ${status}`);
  return parseMetrics(wanted(body));
}

/** Parsing a line is expensive, and most are not used. */
function wanted(body: string): string {
  return body
    .split("\n")
    .filter((line) => WANTED.has(/^\w*/.exec(line)?.[0] ?? ""))
    .join("\n");
}
