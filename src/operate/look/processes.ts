/** Reads status and metrics from the admin ports of processes, once or, for rates, twice. */

import { setTimeout as sleep } from "node:timers/promises";

import { type Reading, readProcess, reasonOf } from "../connect/admin-port.ts";
import { everyAddress } from "../connect/every-address.ts";

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
 * @param addresses `host:port` of admin ports; a name that resolves to several addresses means all of them
 * @param earlier a process without a reading in this map is read twice
 * @param rateWindowMs time between these two readings; 0 to read the process only once
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

/** The first readings for the next poll. */
export function readingsOf(polled: readonly Polled[]): Readings {
  return new Map(reached(polled).map(({ address, after }) => [address, after]));
}
