/** Looks twice at the metrics of each process. */

import { setTimeout as sleep } from "node:timers/promises";

import { reasonOf, scrape } from "../scrape.ts";
import { type Look, METRICS_USED, type Process } from "./rates.ts";

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
        return { kind: "unreachable", address, why: reasonOf(error as Error) };
      }
    }),
  );
}

async function look(address: string, signal: AbortSignal): Promise<Look> {
  const all = await scrape(address, signal);
  const samples = all.filter(({ name }) => METRICS_USED.has(name));
  return { atMs: performance.now(), samples };
}
