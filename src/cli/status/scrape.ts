/** Looks twice at the metrics of each process. */

import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";
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
  // Not fetch: it refuses some ports, and an admin port may be any.
  const request = get(`http://${address}/metrics`, { signal: limit, agent: false });
  const [response] = (await once(request, "response", { signal: limit })) as [IncomingMessage];
  const body = await text(response);
  if (response.statusCode !== 200) throw new Error(`it answered ${response.statusCode}`);
  const samples = parseMetrics(body).filter(({ name }) => METRICS_USED.has(name));
  return { atMs: performance.now(), samples };
}

function reason(error: Error): string {
  const { cause, code } = error as { readonly cause?: unknown; readonly code?: unknown };
  const isLate = [error, cause].some((e) => e instanceof Error && e.name === "TimeoutError");
  if (isLate) return `no answer within ${ANSWER_LIMIT_MS / 1_000} s`;
  return typeof code === "string" ? code : error.message;
}
