/** The deliveries that wait for a destination that was paused, and those of them that would expire. */

import { asError } from "../../runtime/as-error.ts";
import { Expiring } from "./expiring.ts";
import {
  eachInTiers,
  eachOf,
  type Looking,
  lineParts,
  readOperations,
  returnsParts,
} from "./left.ts";
import { recordsIn } from "./unfinished.ts";

/** People wait in front of it: what is not read by then is not counted. */
const LIMIT_MS = 5_000;
const RECORDS_MAX = 500_000;

/** Lines for people. Never throws: the destination is paused already. */
export async function pausedText(looking: Looking, untilMs: number | null): Promise<string> {
  const signal = AbortSignal.any([looking.signal, AbortSignal.timeout(LIMIT_MS)]);
  const limited = { ...looking, signal };
  const expiring = new Expiring(looking.config.delivery.windowMs, untilMs);
  const add = (delivery: { readonly firstAttemptAtMs: number | null }) =>
    expiring.add(delivery.firstAttemptAtMs);
  try {
    const inLine = recordsIn(await lineParts(limited));
    const operations = await readOperations(limited, signal);
    const isWhole = await eachInTiers(limited, operations, add, RECORDS_MAX);
    await eachOf(limited, await returnsParts(limited), add);
    const waits = `In its line: ${inLine}. They wait without a window.`;
    return `${waits}\n${expiring.text(isWhole && !signal.aborted)}\n`;
  } catch (error) {
    return `The deliveries that wait for it cannot be counted: ${asError(error).message}\n`;
  }
}
