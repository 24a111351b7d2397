/** The brokers' side of a cluster in memory, which all processes share. */

import type { ManualClock } from "../clock/manual-clock.ts";
import type { Prng } from "../clock/prng.ts";
import { MemoryGroup } from "./group.ts";
import { type Latency, MemoryNetwork } from "./network.ts";
import { MemoryTopics } from "./topics.ts";

export interface MemoryBrokerOptions {
  readonly clock: ManualClock;
  readonly random: Prng;
  /** One-way latency; by default 1 to 5 ms. */
  readonly latency?: Latency;
  /** By default 10 s. */
  readonly sessionTimeoutMs?: number;
  /** By default 3 s. */
  readonly heartbeatMs?: number;
  /** Time from the end of a record to its commit. By default 1 s. */
  readonly commitIntervalMs?: number;
  /** By default 1 MiB. */
  readonly recordMaxBytes?: (topic: string) => number;
  readonly settings?: Readonly<Record<string, string>>;
}

export class MemoryBroker {
  readonly clock: ManualClock;
  readonly random: Prng;
  readonly network: MemoryNetwork;
  readonly topics = new MemoryTopics();
  readonly sessionTimeoutMs: number;
  readonly commitIntervalMs: number;
  readonly recordMaxBytes: (topic: string) => number;
  readonly settings: ReadonlyMap<string, string>;
  /** The probability that an acknowledgment is lost, so that the records are written again. */
  lostAcknowledgements = 0;
  /** Additional time of a write, as if partitions temporarily had no leader. */
  writeDelayMs = 0;
  readonly #groups = new Map<string, MemoryGroup>();
  readonly #heartbeatMs: number;

  constructor(options: MemoryBrokerOptions) {
    this.clock = options.clock;
    this.random = options.random;
    this.network = new MemoryNetwork(
      options.clock,
      options.random,
      options.latency ?? { minMs: 1, maxMs: 5 },
    );
    this.sessionTimeoutMs = options.sessionTimeoutMs ?? 10_000;
    this.#heartbeatMs = options.heartbeatMs ?? 3_000;
    this.commitIntervalMs = options.commitIntervalMs ?? 1_000;
    this.recordMaxBytes = options.recordMaxBytes ?? (() => 1_048_576);
    this.settings = new Map(Object.entries(options.settings ?? {}));
  }

  /** The group with this ID, which is created when it is first used. */
  group(id: string): MemoryGroup {
    let group = this.#groups.get(id);
    if (group === undefined) {
      const heartbeatMs = () => this.random.integer(0, this.#heartbeatMs);
      group = new MemoryGroup(this.network, this.topics, heartbeatMs);
      this.#groups.set(id, group);
    }
    return group;
  }

  groups(): readonly MemoryGroup[] {
    return [...this.#groups.values()];
  }

  deleteGroup(id: string): void {
    if (this.#groups.get(id)?.isEmpty === false) throw new Error(`the group ${id} has members`);
    this.#groups.delete(id);
  }
}
