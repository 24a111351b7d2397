/** Requests the status of each process and, for rates, its metrics twice. */

import { setTimeout as sleep } from "node:timers/promises";

import type { ProcessStatus } from "../../domain/process-status.ts";
import { everyAddress } from "../connect/every-address.ts";
import { parseMetrics } from "../connect/metrics-text.ts";
import { ask, reasonOf } from "../connect/scrape.ts";
import { type Look, METRICS_USED, type Process } from "./rates.ts";
import { readStatus } from "./read-status.ts";

export type Scraped =
  | {
      readonly kind: "process";
      readonly address: string;
      readonly process: Process;
      /** Null: an earlier version without a status. */
      readonly status: ProcessStatus | null;
    }
  | { readonly kind: "unreachable"; readonly address: string; readonly why: string };

/**
 * @param addresses `host:port` of admin ports; a name that resolves to several addresses means all of them
 * @param rateWindowMs time between the two readings
 * @param earlier first readings that were made before, by address
 */
export async function scrapeAll(
  addresses: readonly string[],
  rateWindowMs: number,
  signal: AbortSignal,
  earlier: ReadonlyMap<string, Look> = new Map(),
): Promise<readonly Scraped[]> {
  return await Promise.all(
    (await everyAddress(addresses)).map(async (address): Promise<Scraped> => {
      try {
        let before = earlier.get(address);
        if (before === undefined) {
          before = await look(address, signal);
          await sleep(rateWindowMs, undefined, { signal });
        }
        const [after, status] = await Promise.all([
          look(address, signal),
          reported(address, signal),
        ]);
        return { kind: "process", address, process: { before, after }, status };
      } catch (error) {
        return { kind: "unreachable", address, why: reasonOf(error as Error) };
      }
    }),
  );
}

async function look(address: string, signal: AbortSignal): Promise<Look> {
  const { status, body } = await ask(address, "/metrics", signal);
  if (status !== 200) throw new Error(`it responded ${status}`);
  const samples = parseMetrics(body).filter(({ name }) => METRICS_USED.has(name));
  return { atMs: performance.now(), samples };
}

async function reported(address: string, signal: AbortSignal): Promise<ProcessStatus | null> {
  const { status, body } = await ask(address, "/status", signal);
  return status === 200 ? readStatus(body) : null;
}
