/** Reads the status and the metrics of processes from their admin ports: once, or twice to compute rates. */

import { setTimeout as sleep } from "node:timers/promises";
import { everyAddress, type Reading, readProcess, reasonOf } from "../connect/admin-port.ts";

export type Polled =
  | {
      readonly kind: "process";
      readonly address: string;
      readonly before: Reading;
      readonly after: Reading;
    }
  | { readonly kind: "unreachable"; readonly address: string; readonly why: string };
export type PolledProcess = Extract<Polled, { kind: "process" }>;

/** The latest readings, by address. */
export type Readings = ReadonlyMap<string, Reading>;

/**
 * Never rejects.
 *
 * @param addresses `host:port` of admin ports. If a name resolves to several addresses, all of these are read.
 * @param earlier previous readings. A process that has none is read twice.
 * @param rateWindowMs the time between these two readings; with 0, such a process is read only once.
 */
export async function pollProcesses(
  addresses: readonly string[],
  earlier: Readings,
  rateWindowMs: number,
  signal: AbortSignal,
): Promise<readonly Polled[]> {
  return await Promise.all(
    (await everyAddress(addresses)).map(async (address): Promise<Polled> => {
      try {
        let before = earlier.get(address);
        if (before === undefined && rateWindowMs > 0) {
          before = await readProcess(address, signal);
          await sleep(rateWindowMs, undefined, { signal });
        }
        const after = await readProcess(address, signal);
        return { kind: "process", address, before: before ?? after, after };
      } catch (error) {
        return { kind: "unreachable", address, why: reasonOf(error as Error) };
      }
    }),
  );
}

export function reached(polled: readonly Polled[]): readonly PolledProcess[] {
  return polled.filter((each) => each.kind === "process");
}

/** The readings to pass to the next poll. */
export function readingsOf(polled: readonly Polled[]): Readings {
  return new Map(reached(polled).map(({ address, after }) => [address, after]));
}
