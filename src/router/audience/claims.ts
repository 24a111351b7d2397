/**
 * Tracks which partition owns which audience ID and key, according to the compacted topic `audiences`. The first claim
 * wins. Compaction may remove that claim and keep only later records of the same owner. Each later record therefore
 * contains the offset of its owner's claim, and the lower offset wins.
 *
 *   a record                   and                                        then
 *   claims an ID and a key     both are free                              the partition owns them
 *                              the same partition owns the ID             the claim is renewed
 *                              another partition owns one of them,        the record is ignored
 *                                with an earlier claim
 *                              another partition owns one of them,        the other partition loses both
 *                                with a later claim
 *   has no value               any                                        ID and key are free
 */

import type { AudienceStatus } from "../../domain/audience.ts";
import { jsonObjectIn } from "../../domain/json.ts";
import type { IncomingRecord } from "../../domain/record.ts";
import type { Audience } from "./audience.ts";

export interface ClaimedAudience extends Pick<Audience, "id" | "name" | "key" | "first" | "last"> {
  readonly partition: number;
  /** Offset of the claim; null in the claim itself, because its offset is unknown when it is written. */
  readonly claim: number | null;
  readonly members: number;
  readonly openSyncId: string | null;
  readonly awaitingApproval: AudienceStatus["awaitingApproval"];
}

export interface Claimed extends ClaimedAudience {
  readonly claim: number;
}

/** Returns null if Switchyard did not write the record. */
export function readClaim(value: Buffer): ClaimedAudience | null {
  const json = jsonObjectIn(value);
  if (json === null) return null;
  const { id, name, key, partition, first } = json;
  const isWhole = [partition, first].every(Number.isSafeInteger);
  const isNamed = [id, name, key].every((text) => typeof text === "string");
  // The other fields are always written together with these.
  return isWhole && isNamed ? (json as unknown as ClaimedAudience) : null;
}

export class Claims {
  readonly #byId = new Map<string, Claimed>();
  readonly #idByKey = new Map<string, string>();

  /** The valid claims, in order. */
  all(): readonly Claimed[] {
    return [...this.#byId.values()].sort((one, other) => one.claim - other.claim);
  }

  of(id: string): Claimed | null {
    return this.#byId.get(id) ?? null;
  }

  ownerOf(key: string): Claimed | null {
    const id = this.#idByKey.get(key);
    return id === undefined ? null : this.of(id);
  }

  /** Applies the next record of the topic, if Switchyard wrote it. */
  take({ key, value, offset }: Pick<IncomingRecord, "key" | "value" | "offset">): void {
    const claim = value === null ? null : readClaim(value);
    if (key === null || (value !== null && claim === null)) return;
    this.apply(key.toString(), claim, offset);
  }

  apply(id: string, record: ClaimedAudience | null, offset: number): void {
    if (record === null) {
      this.#free(id);
      return;
    }
    const before = this.of(id);
    const isRenewed = before?.partition === record.partition;
    const claim = record.claim ?? (isRenewed ? before.claim : offset);
    const others = [isRenewed ? null : before, this.ownerOf(record.key)].filter(
      (other) => other !== null && other.id !== (isRenewed ? id : null),
    );
    if (others.some((other) => other !== null && other.claim < claim)) return;
    for (const other of others) if (other !== null) this.#free(other.id);
    this.#free(id);
    this.#byId.set(id, { ...record, claim });
    this.#idByKey.set(record.key, id);
  }

  #free(id: string): void {
    const before = this.of(id);
    if (before === null) return;
    this.#byId.delete(id);
    this.#idByKey.delete(before.key);
  }
}

/** Returns why an audience cannot own its ID and key; null if it can own them, or already does. */
export function conflictOf(
  claims: Claims,
  request: Pick<ClaimedAudience, "id" | "key" | "partition">,
): string | null {
  const { id, key, partition } = request;
  const same = claims.of(id);
  if (same !== null && same.partition !== partition) {
    return `the audience also has records in partition ${same.partition}: use the audience ID as the key of all records, and the default partitioner (murmur2)`;
  }
  const owner = claims.ownerOf(key);
  if (owner === null || owner.id === id) return null;
  return `another audience has the key ${JSON.stringify(key)}: set a different key for one of them in the configuration`;
}
