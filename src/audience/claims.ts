/**
 * The owners of audience ids and keys, as the compacted topic `audiences` has them: the first claim
 * wins. Compaction may remove the first claim and leave later records of its owner. So each later
 * record names the offset of its claim, and the lower one wins.
 *
 *   a record says that                     and                               then
 *   a partition has an id                  nobody has it, nor its key        it has them
 *                                          the same partition has it         renewed
 *                                          another one has id or key, by     the record is ignored
 *                                          an earlier claim
 *                                          the same, by a later claim        the other one has nothing
 *   nobody has the id (no value)           any                               id and key are free
 */

import { jsonObjectIn } from "../domain/json.ts";

export interface ClaimedAudience {
  readonly id: string;
  readonly name: string;
  readonly key: string;
  readonly partition: number;
  /** Offset of the audience's first sync in its partition. */
  readonly first: number;
  /** Offset of the claim; null in the claim itself, which cannot know it. */
  readonly claim: number | null;
  readonly members: number;
  readonly openSyncId: string | null;
  readonly last: { readonly syncId: string; readonly endedAtMs: number } | null;
  readonly awaitingApproval: {
    readonly syncId: string;
    readonly removals: number;
    readonly sinceMs: number;
  } | null;
}

export interface Claimed extends ClaimedAudience {
  readonly claim: number;
}

/** Null: this product does not write such a record. */
export function readClaim(value: Buffer): ClaimedAudience | null {
  const json = jsonObjectIn(value);
  if (json === null) return null;
  const { id, name, key, partition, first } = json;
  const isWhole = [partition, first].every(Number.isSafeInteger);
  const isNamed = [id, name, key].every((text) => typeof text === "string");
  // Its other fields are written together with these.
  return isWhole && isNamed ? (json as unknown as ClaimedAudience) : null;
}

export class Claims {
  readonly #byId = new Map<string, Claimed>();
  readonly #idByKey = new Map<string, string>();

  /** Those in force, in the order of their claims. */
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

  /** Takes the next record of the topic. */
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

/** Why an audience cannot have its id and key; null: it can, or has them already. */
export function conflictOf(
  claims: Claims,
  request: { readonly id: string; readonly key: string; readonly partition: number },
): string | null {
  const { id, key, partition } = request;
  const same = claims.of(id);
  if (same !== null && same.partition !== partition) {
    return `the audience's records are in partition ${same.partition} too: key all of them by the audience's id, placed as Java does (murmur2)`;
  }
  const owner = claims.ownerOf(key);
  if (owner === null || owner.id === id) return null;
  return `its key ${JSON.stringify(key)} is that of another audience: give one of the two a key of its own in the configuration`;
}
