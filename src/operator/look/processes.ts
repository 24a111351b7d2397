/** Reads the status and the metrics of processes from their admin ports, with earlier counters to compute rates. */

import { setTimeout as sleep } from "node:timers/promises";
import { everyAddress, type ProcessReading, readProcess, reasonOf } from "../connect/admin-port.ts";

export type Polled =
  | {
      readonly kind: "process";
      readonly address: string;
      readonly before: ProcessReading;
      readonly after: ProcessReading;
    }
  | { readonly kind: "unreachable"; readonly address: string; readonly why: string };
export type PolledProcess = Extract<Polled, { kind: "process" }>;

/**
 * Never rejects.
 *
 * @param addresses `host:port` of admin ports. If a name resolves to several addresses, all of these are read.
 * @param rateWindowMs the time after which each process is read a second time; null if the earlier counters are those
 *   of up to a minute ago, which the process remembers itself.
 */
export async function pollProcesses(
  addresses: readonly string[],
  rateWindowMs: number | null,
  signal: AbortSignal,
): Promise<readonly Polled[]> {
  return await Promise.all(
    (await everyAddress(addresses)).map(async (address): Promise<Polled> => {
      try {
        const first = rateWindowMs === null ? null : await readProcess(address, signal);
        if (rateWindowMs !== null) await sleep(rateWindowMs, undefined, { signal });
        const after = await readProcess(address, signal);
        return { kind: "process", address, before: first ?? remembered(after), after };
      } catch (error) {
        return { kind: "unreachable", address, why: reasonOf(error as Error) };
      }
    }),
  );
}

function remembered(reading: ProcessReading): ProcessReading {
  const { atMs, status } = reading;
  const { earlier } = status;
  if (earlier === null) return reading;
  return { atMs: atMs - earlier.agoMs, status: { ...status, metrics: earlier.metrics } };
}

export function reached(polled: readonly Polled[]): readonly PolledProcess[] {
  return polled.filter((each) => each.kind === "process");
}
