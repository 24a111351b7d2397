/**
 * Reads the whole topic `audiences`, and writes the audiences of the partitions that this process owns.
 *
 *   step of a claim                                  if the process crashes after it
 *   1  read the topic to its end                     nothing is claimed
 *   2  if ID and key are free, write the claim       the same partition claims them again
 *   3  read the topic up to the claim                the same
 *   4  if another claim was first, write its         every reader accepts the claim with the lower offset
 *      record again, so that compaction keeps it
 */

import { inTurn } from "../../base/runtime/in-turn.ts";
import type { IncomingRecord, OutgoingRecord } from "../../domain/record.ts";
import { type Audience, approvalOf, type Counts } from "./audience.ts";
import { type ClaimedAudience, Claims, conflictOf } from "./claims.ts";
import type { ClaimRequest, ClaimResult, Registry, Writer } from "./ports.ts";

export interface RegistryDeps {
  readonly topic: string;
  readonly writer: Writer;
  /** The partition of `audience-syncs` to which the default partitioner assigns this ID now. */
  readonly partitionOf: (id: string) => Promise<number>;
  readonly end: () => Promise<number>;
  readonly read: (from: number, to: number) => AsyncIterable<readonly IncomingRecord[]>;
}

/** Reads the topic into claims. Each read continues at the end of the previous one. */
class ClaimsReader {
  readonly claims = new Claims();
  readonly #deps: Pick<RegistryDeps, "end" | "read">;
  #next = 0;

  constructor(deps: Pick<RegistryDeps, "end" | "read">) {
    this.#deps = deps;
  }

  async readToEnd(): Promise<Claims> {
    const end = await this.#deps.end();
    if (end > this.#next) {
      for await (const records of this.#deps.read(this.#next, end)) {
        for (const record of records) this.claims.take(record);
      }
      this.#next = end;
    }
    return this.claims;
  }
}

export function createRegistry(deps: RegistryDeps): Registry {
  const reader = new ClaimsReader(deps);
  // Requests run one at a time, so that each one reads what the previous one has written.
  const serially = inTurn();
  const send = async (values: ReadonlyMap<string, ClaimedAudience | null>): Promise<void> => {
    const records = [...values].map(([id, value]) => claimRecord(deps.topic, id, value));
    const [refused] = await deps.writer.send(records);
    if (refused !== undefined) throw new Error(`Cannot write to ${deps.topic}: ${refused.error}`);
  };
  const movedFrom: Registry["movedFrom"] = async (id, partition) => {
    const owner = (await reader.readToEnd()).of(id)?.partition ?? partition;
    if (owner === partition) return null;
    return (await deps.partitionOf(id)) === partition ? owner : null;
  };
  const claim = async (request: ClaimRequest): Promise<ClaimResult> => {
    const { id } = request;
    const before = conflictOf(await reader.readToEnd(), request);
    if (before !== null) return { kind: "refused", error: before };
    const nothing = { members: 0, openSyncId: null, last: null, awaitingApproval: null };
    await send(new Map([[id, { ...request, claim: null, ...nothing }]]));
    const after = conflictOf(await reader.readToEnd(), request);
    if (after === null) return { kind: "claimed" };
    await send(new Map([[id, reader.claims.of(id)]]));
    return { kind: "refused", error: after };
  };
  const report: Registry["report"] = async (audiences, partition) => {
    // The reader may not know audiences that were claimed before this process owned the partition, so the topic is read
    // first.
    const isKnown = [...audiences.keys()].every((id) => reader.claims.of(id) !== null);
    if (!isKnown) await reader.readToEnd();
    const values = new Map<string, ClaimedAudience | null>();
    for (const [id, each] of audiences) {
      const claimed = reader.claims.of(id);
      // If another partition's claim was first, the owner of that partition reports the audience.
      if (claimed !== null && claimed.partition !== partition) continue;
      const { claim: offset = null } = claimed ?? {};
      values.set(
        id,
        each === null ? null : claimValue(each.audience, each.counts, partition, offset),
      );
    }
    await send(values);
  };
  return {
    movedFrom: (id, partition) => serially(() => movedFrom(id, partition)),
    claim: (request) => serially(() => claim(request)),
    report: (audiences, partition) => serially(() => report(audiences, partition)),
  };
}

function claimValue(
  audience: Audience,
  counts: Counts,
  partition: number,
  claim: number | null,
): ClaimedAudience {
  const { id, name, key, first, open, last } = audience;
  return {
    id,
    name,
    key,
    partition,
    first,
    claim,
    members: counts.members,
    openSyncId: open?.syncId ?? null,
    last,
    awaitingApproval: approvalOf(audience),
  };
}

function claimRecord(topic: string, id: string, value: ClaimedAudience | null): OutgoingRecord {
  return {
    topic,
    partition: 0,
    key: Buffer.from(id),
    value: value === null ? null : Buffer.from(JSON.stringify(value)),
    headers: [],
  };
}
