/**
 * A consumer group's coordinator in memory, with eager rebalancing, like the classic protocol.
 *
 *   a member joins, leaves or expires     the other members detect the rebalance with the next heartbeat
 *   a member detects a rebalance          it revokes its partitions (drain, commit) and rejoins
 *   all members have rejoined             a new generation; partitions are assigned in turn
 *
 * A commit is only accepted from a member of the current generation, even while others are still
 * revoking theirs. Commits of former members are rejected.
 */

import type { MemoryNetwork, Party } from "./network.ts";
import type { MemoryTopics } from "./topics.ts";

export interface TopicPartition {
  readonly topic: string;
  readonly partition: number;
}

export interface Offset {
  readonly offset: number;
  readonly metadata: string;
}

/** The coordinator's view of a consumer, whose methods are called over the network. */
export interface Member {
  readonly party: Party;
  readonly topics: readonly string[];
  /** The generation has ended: revoke all partitions and rejoin. */
  revoke(generation: number): void;
  /** This member was removed: revoke and rejoin, regardless of the generation. */
  expired(): void;
  assign(generation: number, partitions: readonly TopicPartition[]): void;
}

export class MemoryGroup {
  generation = 0;
  readonly #network: MemoryNetwork;
  readonly #topics: MemoryTopics;
  readonly #heartbeatMs: () => number;
  readonly #committed = new Map<string, TopicPartition & Offset>();
  /** Members in the order in which they first joined, and whether they have joined the next generation. */
  readonly #members = new Map<Member, { hasJoined: boolean }>();
  #isRebalancing = false;

  constructor(network: MemoryNetwork, topics: MemoryTopics, heartbeatMs: () => number) {
    this.#network = network;
    this.#topics = topics;
    this.#heartbeatMs = heartbeatMs;
  }

  get isEmpty(): boolean {
    return this.#members.size === 0;
  }

  members(): readonly Member[] {
    return [...this.#members.keys()];
  }

  /** @param deadLettered the latest generation whose partitions the member has revoked. */
  join(member: Member, deadLettered: number): void {
    // The request is outdated: the response to an earlier join, or a call to rejoin, is already being sent.
    if (this.#members.has(member) && deadLettered < this.generation) return;
    this.#members.set(member, { hasJoined: true });
    this.#rebalance(member);
  }

  /** Removes a member that has left, or that sent no heartbeat within the session timeout. */
  remove(member: Member): void {
    if (!this.#members.delete(member)) return;
    if (this.#members.size > 0) this.#rebalance(null);
    else this.#isRebalancing = false;
  }

  /** Removes a live member, which detects that with its next heartbeat. */
  expire(member: Member): void {
    if (!this.#members.has(member)) return;
    this.#network.toClient(member.party, () => member.expired(), this.#heartbeatMs());
    this.remove(member);
  }

  /** False if the member is not in this generation; then nothing was stored. */
  commit(
    member: Member,
    generation: number,
    offsets: readonly (TopicPartition & Offset)[],
  ): boolean {
    if (!this.#members.has(member) || generation !== this.generation) return false;
    this.store(offsets);
    return true;
  }

  /** Stores a commit of a process that is not a member. Allowed only while the group has no members. */
  store(offsets: readonly (TopicPartition & Offset)[]): void {
    for (const entry of offsets) this.#committed.set(keyOf(entry), entry);
  }

  committed(at: TopicPartition): Offset | null {
    return this.#committed.get(keyOf(at)) ?? null;
  }

  committedIn(topic: string): readonly (TopicPartition & Offset)[] {
    return [...this.#committed.values()].filter((entry) => entry.topic === topic);
  }

  /** Removes the commits, as when the topic is deleted. */
  forget(topic: string): void {
    for (const [key, entry] of this.#committed) {
      if (entry.topic === topic) this.#committed.delete(key);
    }
  }

  #rebalance(joining: Member | null): void {
    if (!this.#isRebalancing) {
      this.#isRebalancing = true;
      const { generation } = this;
      for (const [member, state] of this.#members) {
        if (member === joining) continue;
        state.hasJoined = false;
        this.#network.toClient(member.party, () => member.revoke(generation), this.#heartbeatMs());
      }
    }
    if ([...this.#members.values()].every(({ hasJoined }) => hasJoined)) this.#complete();
  }

  #complete(): void {
    this.#isRebalancing = false;
    this.generation += 1;
    const { generation } = this;
    for (const [member, partitions] of this.#dealOut()) {
      this.#network.toClient(member.party, () => member.assign(generation, partitions));
    }
  }

  #dealOut(): Map<Member, TopicPartition[]> {
    const dealt = new Map(this.members().map((member) => [member, [] as TopicPartition[]]));
    const topics = new Set(this.members().flatMap((member) => member.topics));
    let turn = 0;
    for (const topic of [...topics].sort()) {
      const takers = this.members().filter((member) => member.topics.includes(topic));
      for (const partition of this.#topics.find(topic)?.partitions.keys() ?? []) {
        const taker = takers[turn % takers.length];
        if (taker !== undefined) dealt.get(taker)?.push({ topic, partition });
        turn += 1;
      }
    }
    return dealt;
  }
}

function keyOf({ topic, partition }: TopicPartition): string {
  return `${topic}/${partition}`;
}
