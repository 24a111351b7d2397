/**
 * Computes the expected results of audience syncs only from the rules in docs/audiences.md#rules, with complete sets in
 * memory, without crashes and without pieces. The stage must have the same results.
 */

export interface ModelOptions {
  readonly approvalShare: number | null;
  readonly approvalMinimum: number;
}

/** One call: user, value, and the sync (or the delete's offset) that caused it. */
export interface ModelCall {
  readonly audienceId: string;
  readonly userId: string;
  readonly value: unknown;
  /** The offset of the first sync, and the sync or delete. Calls with equal values have the same message ID. */
  readonly by: string;
}

interface ModelAudience {
  readonly first: number;
  readonly members: Set<string>;
  readonly over: Set<string>;
  open: {
    readonly syncId: string;
    readonly before: number;
    readonly arrived: Set<string>;
    seen: number;
  } | null;
  awaitingApproval: { readonly syncId: string; readonly judged: Set<string> } | null;
}

export interface ModelRecord {
  readonly audienceName?: string;
  readonly type: string;
  readonly audienceId?: string;
  readonly syncId?: string;
  readonly userIds?: readonly string[];
  readonly count?: number;
  readonly force?: boolean;
  readonly userId?: string;
  readonly traitName?: string;
  readonly value?: unknown;
}

export class AudienceModel {
  readonly calls: ModelCall[] = [];
  /** Offsets of records of syncs and audiences that were never started. */
  readonly refused: number[] = [];
  readonly #options: ModelOptions;
  readonly #audiences = new Map<string, ModelAudience>();
  readonly #traits = new Map<string, unknown>();

  constructor(options: ModelOptions) {
    this.#options = options;
  }

  members(audienceId: string): ReadonlySet<string> {
    return this.#audiences.get(audienceId)?.members ?? new Set();
  }

  apply(record: ModelRecord, offset: number): void {
    const { type, audienceId = "", syncId = "", userId = "" } = record;
    if (type === "forget") {
      this.#forget(userId);
      return;
    }
    if (type === "trait") {
      this.#trait(userId, record.traitName ?? "", record.value, offset);
      return;
    }
    const audience = this.#audiences.get(audienceId);
    if (type === "delete") {
      for (const member of audience?.members ?? [])
        this.#report(audienceId, member, false, `${offset}`);
      this.#audiences.delete(audienceId);
      return;
    }
    if (type === "begin") this.#begin(audienceId, syncId, offset);
    if (type === "snapshot" && this.#begin(audienceId, syncId, offset)) {
      this.#arrive(audienceId, record.userIds ?? []);
      this.#end(audienceId, null, record.force === true);
      return;
    }
    if (type === "begin") return;
    if (audience === undefined || !isKnown(audience, syncId)) {
      this.refused.push(offset);
      return;
    }
    if (type === "members" && audience.open?.syncId === syncId) {
      this.#arrive(audienceId, record.userIds ?? []);
    }
    if (type === "end" && audience.open?.syncId === syncId) {
      this.#end(audienceId, record.count ?? 0, record.force === true);
      return;
    }
    const approves =
      type === "approve" || ((type === "end" || type === "snapshot") && record.force);
    if (approves === true && audience.awaitingApproval?.syncId === syncId)
      this.#approve(audienceId, audience);
  }

  #begin(id: string, syncId: string, offset: number): boolean {
    const audience: ModelAudience = this.#audiences.get(id) ?? {
      first: offset,
      members: new Set(),
      over: new Set(),
      open: null,
      awaitingApproval: null,
    };
    this.#audiences.set(id, audience);
    if (isKnown(audience, syncId)) return false;
    if (audience.open !== null) audience.over.add(audience.open.syncId);
    audience.open = { syncId, before: audience.members.size, arrived: new Set(), seen: 0 };
    return true;
  }

  #arrive(id: string, userIds: readonly string[]): void {
    const { open, members } = this.#get(id);
    if (open === null) return;
    for (const userId of userIds) {
      if (!open.arrived.has(userId)) open.seen += 1;
      open.arrived.add(userId);
      if (members.has(userId)) continue;
      members.add(userId);
      this.#report(id, userId, true, open.syncId);
    }
  }

  #end(id: string, count: number | null, force: boolean): void {
    const audience = this.#get(id);
    const { open, members } = audience;
    if (open === null) return;
    audience.open = null;
    if (count !== null && count !== open.seen) {
      audience.over.add(open.syncId);
      return;
    }
    const leaving = [...members].filter((member) => !open.arrived.has(member));
    if (audience.awaitingApproval !== null) audience.over.add(audience.awaitingApproval.syncId);
    audience.awaitingApproval = null;
    const { approvalShare, approvalMinimum } = this.#options;
    const isMany =
      leaving.length > approvalMinimum && leaving.length / open.before > (approvalShare ?? 2);
    if (approvalShare !== null && !force && (open.seen === 0 || isMany)) {
      audience.awaitingApproval = { syncId: open.syncId, judged: new Set(leaving) };
      return;
    }
    audience.over.add(open.syncId);
    for (const userId of leaving) {
      members.delete(userId);
      this.#report(id, userId, false, open.syncId);
    }
  }

  #approve(id: string, audience: ModelAudience): void {
    const { awaitingApproval, open, members, over } = audience;
    if (awaitingApproval === null) return;
    audience.awaitingApproval = null;
    over.add(awaitingApproval.syncId);
    for (const userId of awaitingApproval.judged) {
      if (!members.has(userId) || open?.arrived.has(userId)) continue;
      members.delete(userId);
      this.#report(id, userId, false, awaitingApproval.syncId);
    }
  }

  #forget(userId: string): void {
    for (const { members, awaitingApproval } of this.#audiences.values()) {
      members.delete(userId);
      awaitingApproval?.judged.delete(userId);
    }
    for (const key of this.#traits.keys()) {
      if (key.startsWith(`${userId} `)) this.#traits.delete(key);
    }
  }

  #trait(userId: string, name: string, value: unknown, offset: number): void {
    const key = `${userId} ${name}`;
    const before = this.#traits.get(key) ?? null;
    if (JSON.stringify(before) === JSON.stringify(value)) return;
    if (value === null) this.#traits.delete(key);
    else this.#traits.set(key, value);
    this.#report(name, userId, value, `${offset}`);
  }

  #report(audienceId: string, userId: string, value: unknown, sync: string): void {
    const by = `${this.#audiences.get(audienceId)?.first} ${sync}`;
    this.calls.push({ audienceId, userId, value, by });
  }

  #get(id: string): ModelAudience {
    const audience = this.#audiences.get(id);
    if (audience === undefined) throw new Error(`no audience ${id}`);
    return audience;
  }
}

function isKnown({ open, awaitingApproval, over }: ModelAudience, syncId: string): boolean {
  return open?.syncId === syncId || awaitingApproval?.syncId === syncId || over.has(syncId);
}
