/**
 * Builds an index of the sources once, instead of for every request. When the sources change, the whole index is
 * replaced.
 *
 *   the source                      its calls per second
 *   keeps its limit                 continue to be counted
 *   has another limit               continue to be counted, at the new rate
 *   is new, or had no limit         start with one second's allowance
 */

import type { Source } from "../../domain/destination.ts";
import type { SourceId } from "../../domain/ids.ts";
import type { RecordHeaders } from "../../domain/record.ts";
import { SOURCE_HEADER } from "../../domain/source-of.ts";
import { type WriteKeys, writeKeys } from "./auth.ts";
import { type CallRate, callRate } from "./limits.ts";

export interface KnownSource {
  readonly headers: RecordHeaders;
  /** Null if the source may send any number of calls. */
  readonly rate: CallRate | null;
}

export interface KnownSources {
  readonly keys: WriteKeys;
  readonly byId: ReadonlyMap<SourceId, KnownSource>;
}

/** @param before the index that this one replaces; null if there is none. */
export function knownSources(
  sources: readonly Source[],
  before: KnownSources | null,
): KnownSources {
  const known = sources.map(({ id, callsPerSecond }) => {
    const rate = rateOf(callsPerSecond, before?.byId.get(id)?.rate ?? null);
    return [id, { headers: [[SOURCE_HEADER, Buffer.from(id)]] as const, rate }] as const;
  });
  return { keys: writeKeys(sources), byId: new Map(known) };
}

function rateOf(perSecond: number | null, before: CallRate | null): CallRate | null {
  if (perSecond === null) return null;
  if (before === null) return callRate(perSecond);
  before.changeTo(perSecond);
  return before;
}
