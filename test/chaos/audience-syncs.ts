/**
 * Generates what a careless platform sends for one audience: complete syncs, and all kinds of invalid ones.
 *
 *   share    the next records
 *   44 %     a sync in pieces, with some users added and some removed; IDs may be repeated
 *    8 %     the same in one record
 *   12 %     a sync without its end, sometimes with records that follow when it is over
 *    8 %     a sync with a wrong count
 *    8 %     an earlier sync, sent again
 *    5 %     an empty sync, which awaits approval unless it is forced
 *    7 %     an earlier sync is approved, or ended by force
 *    4 %     the audience is deleted
 *    4 %     invalid records
 */

import type { Prng } from "../support/clock/prng.ts";
import type { ModelRecord } from "../support/worlds/audience-model.ts";

export interface AudiencePlan {
  readonly id: string;
  /** IDs of users who may be in the audience. */
  readonly pool: readonly string[];
  /** Maximum number of IDs in a `members` record. */
  readonly pieceMax: number;
  /** Longest pause between two syncs. */
  readonly pauseMaxMs: number;
}

/** A record to send; a string is sent unchanged. */
export type SentRecord = ModelRecord | string;

export class SyncAuthor {
  readonly #plan: AudiencePlan;
  readonly #random: Prng;
  readonly #sent: (readonly ModelRecord[])[] = [];
  #count = 0;
  #members: readonly string[] = [];

  constructor(plan: AudiencePlan, random: Prng) {
    this.#plan = plan;
    this.#random = random;
  }

  /** The next records, in the order in which they are sent. */
  next(): readonly SentRecord[] {
    const random = this.#random;
    const share = random.fraction();
    if (share < 0.44) return this.#keep(this.#streamed(this.#changed(), random.chance(0.3)));
    if (share < 0.52) return this.#keep([this.#snapshot()]);
    if (share < 0.64) return this.#truncated();
    if (share < 0.72) return this.#miscounted();
    if (share < 0.8) return this.#earlier();
    if (share < 0.85) return this.#keep(this.#streamed([], random.chance(0.4)));
    if (share < 0.92) return this.#approve();
    if (share < 0.96) return [{ type: "delete", audienceId: this.#plan.id }];
    return this.#unusable();
  }

  /** A complete sync, even if an earlier one is still open. */
  last(): readonly SentRecord[] {
    return this.#streamed(this.#changed(), true);
  }

  #keep(records: readonly ModelRecord[]): readonly ModelRecord[] {
    this.#sent.push(records);
    return records;
  }

  /** The previous users, with the membership of a random share of the pool inverted. */
  #changed(): readonly string[] {
    const before = new Set(this.#members);
    const share = this.#random.pick([0, 0.02, 0.2, 0.7]);
    this.#members = this.#plan.pool.filter((id) => before.has(id) !== this.#random.chance(share));
    return this.#members;
  }

  #streamed(users: readonly string[], force: boolean): readonly ModelRecord[] {
    const sync = this.#newSync();
    const records: ModelRecord[] = [{ type: "begin", ...sync }];
    const all = this.#random.shuffle(users);
    for (let from = 0; from < all.length; ) {
      const size = this.#random.integer(1, this.#plan.pieceMax);
      // Sometimes the last user of the previous piece is repeated.
      const userIds = all.slice(Math.max(0, from - this.#random.integer(0, 1)), from + size);
      records.push({ type: "members", ...sync, userIds });
      from += size;
    }
    return [...records, { type: "end", ...sync, count: users.length, force }];
  }

  #snapshot(): ModelRecord {
    const force = this.#random.chance(0.3);
    return { type: "snapshot", ...this.#newSync(), userIds: this.#changed(), force };
  }

  #truncated(): readonly ModelRecord[] {
    const random = this.#random;
    const whole = this.#streamed(this.#changed(), false);
    const kept = whole.slice(0, random.integer(1, whole.length - 1));
    if (random.chance(0.5)) return kept;
    // The omitted records are sent after the next sync has started.
    const next = this.#streamed(this.#changed(), false);
    return [...kept, ...next.slice(0, 2), ...whole.slice(kept.length), ...next.slice(2)];
  }

  #miscounted(): readonly ModelRecord[] {
    const whole = this.#streamed(this.#changed(), this.#random.chance(0.5));
    return whole.map((record) =>
      record.count === undefined ? record : { ...record, count: record.count + 1 },
    );
  }

  #earlier(): readonly ModelRecord[] {
    return this.#sent.length === 0 ? [] : this.#random.pick(this.#sent.slice(-4));
  }

  #approve(): readonly ModelRecord[] {
    const [record] = this.#sent.at(-1) ?? [];
    if (record === undefined) return [];
    const { syncId = "" } = record;
    const sync = { audienceId: this.#plan.id, syncId };
    return this.#random.chance(0.5)
      ? [{ type: "approve", ...sync }]
      : [{ type: "end", ...sync, count: 0, force: true }];
  }

  #unusable(): readonly SentRecord[] {
    const sync = { audienceId: this.#plan.id, syncId: "never-begun" };
    return [
      { type: "members", ...sync, userIds: this.#plan.pool.slice(0, 3) },
      { type: "end", ...sync, count: 3, force: true },
      "no sync",
    ];
  }

  #newSync() {
    this.#count += 1;
    const { id } = this.#plan;
    return { audienceId: id, audienceName: id, syncId: `s${this.#count}` };
  }
}
