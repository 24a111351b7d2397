/**
 * A consumer of the port: starts one run after another, until it is stopped or fails permanently.
 *
 *   a run ends because of                       then
 *   `stop()`                                    done
 *   an outage, a failed rebalance               another run after 0.25 to 5 s, without a limit
 *   a permanent problem, such as a missing      onCrash, once
 *   permission, which is named
 *   anything else, five times without a join    onCrash, once
 *   anything else                               another run
 */

import { setTimeout as sleep } from "node:timers/promises";
import type { Clock } from "../../base/runtime/clock.ts";
import type { Grant } from "../../domain/permissions.ts";
import { shellWord } from "../../domain/shell-word.ts";
import { errorKind, errorTypes } from "../cluster/kafka-error.ts";
import type { OutageLog } from "../cluster/outage-log.ts";
import { type Identity, withPermission } from "../cluster/permission.ts";
import {
  ClosedError,
  type ConsumeOptions,
  type Consumer,
  type ConsumerVitals,
  type PartitionProgress,
  TopicGoneError,
} from "../port.ts";
import { ConsumerRun, type RunWorld } from "./consumer-run.ts";
import type { OwnedPartition } from "./owned-partition.ts";
import { type Memory, newMemory } from "./ownership.ts";

const DELAY_FIRST_MS = 500;
const DELAY_MAX_MS = 5_000;
const FAILURES_MAX = 5;

export interface ConsumerWorld extends RunWorld {
  readonly outages: OutageLog;
  readonly identity: Identity;
  readonly clock: Pick<Clock, "nowMs">;
}

export class KafkaConsumer implements Consumer {
  readonly joined: Promise<void>;
  readonly #joinedOnce = Promise.withResolvers<void>();
  readonly #world: ConsumerWorld;
  readonly #options: ConsumeOptions;
  readonly #stopping = new AbortController();
  readonly #memory: Memory = newMemory();
  /** Null if there was none. */
  #foreign: ForeignMembers | null = null;
  #unreadTopics: readonly string[] = [];
  /** Resolves when the consumer is stopped or has crashed. */
  readonly over: Promise<void>;
  #run: ConsumerRun | null = null;
  #rebalances = 0;
  #offsetResets = 0;
  /** The number of runs that have ended since the last join. */
  #failures = 0;

  constructor(world: ConsumerWorld, options: ConsumeOptions) {
    this.#world = world;
    this.#options = options;
    this.joined = this.#joinedOnce.promise;
    // A caller need not await `joined`.
    this.joined.catch(() => undefined);
    this.over = this.#live();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#joinedOnce.reject(new ClosedError("the consumer was stopped before it joined"));
    await this.#run?.stop();
    await this.over;
  }

  progress(): readonly PartitionProgress[] {
    const { ends } = this.#world;
    return this.owned.map((owned) => {
      const latest = ends.withLatest(owned.progress());
      return { ...latest, endAtMs: this.#instant(latest.endAtMs) };
    });
  }

  /** The partitions that are assigned to this consumer. */
  get owned(): readonly OwnedPartition[] {
    return this.#run?.owned ?? [];
  }

  vitals(): ConsumerVitals {
    const { pulse } = this.#memory;
    return {
      ...pulse,
      fetchedAtMs: this.#instant(this.#run?.fetchedAtMs() ?? pulse.fetchedAtMs),
      heardAtMs: this.#instant(pulse.heardAtMs),
      isAssigned: this.#run?.isAssigned ?? false,
      foreignMembers: this.#foreign?.now() ?? [],
      unreadTopics: this.#unreadTopics,
      halts: [...this.#memory.halts.values()],
    };
  }

  /** Corrects a time that was taken from the system clock, which may be wrong. */
  #instant(systemMs: number | null): number | null {
    return systemMs === null ? null : this.#world.clock.nowMs() - (Date.now() - systemMs);
  }

  rebalances(): number {
    return this.#rebalances;
  }

  offsetResets(): number {
    return this.#offsetResets;
  }

  async #live(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      const run = new ConsumerRun({
        ...this.#world,
        consume: this.#options,
        memory: this.#memory,
        onJoined: () => this.#joined(),
        onForeignMembers: (clientIds) => this.#foreignJoined(clientIds),
        onUnreadTopics: (topics) => this.#unread(topics),
        onOffsetReset: () => {
          this.#offsetResets += 1;
        },
      });
      this.#run = run;
      void run.start();
      const ended = await run.ended;
      this.#run = null;
      if (ended === null || this.#stopping.signal.aborted) return;
      const error = this.#explained(ended);
      const kind = errorKind(error);
      this.#failures += 1;
      if (kind === "fatal" || (kind === "unknown" && this.#failures >= FAILURES_MAX)) {
        const isGone = errorTypes(error).has("UNKNOWN_TOPIC_OR_PARTITION");
        const crash = isGone ? new TopicGoneError(error.message, { cause: error }) : error;
        this.#joinedOnce.reject(crash);
        this.#options.onCrash(crash);
        return;
      }
      await this.#wait(error, kind === "outage");
    }
  }

  #unread(topics: readonly string[]): void {
    const isNews = topics.some((topic) => !this.#unreadTopics.includes(topic));
    this.#unreadTopics = topics;
    const fields = { group: this.#options.groupId, topics };
    if (isNews) this.#world.log.error(fields, "kafka.group.unread-topics");
  }

  #foreignJoined(clientIds: readonly string[]): void {
    if (clientIds.length > 0) {
      this.#foreign ??= new ForeignMembers(
        () => performance.now(),
        (clients) =>
          this.#world.log.warn(
            { ...membersHint(this.#world, this.#options), clients },
            "kafka.group.foreign-members",
          ),
      );
    }
    this.#foreign?.joined(clientIds);
  }

  /** Adds to the error the missing permission, or the group that another program uses. */
  #explained(ended: Error): Error {
    if (!errorTypes(ended).has("INCONSISTENT_GROUP_PROTOCOL")) {
      return withPermission(ended, this.#needed(), this.#world.identity);
    }
    const { group, fix } = membersHint(this.#world, this.#options);
    const text = `the group ${group} contains another program, which assigns partitions in a different way: ${ended.message}. To list the members: ${fix}`;
    return new Error(text, { cause: ended });
  }

  #needed(): readonly Grant[] {
    const { groupId, topics } = this.#options;
    const read = { pattern: "literal", operations: ["Read"] } as const;
    return [
      { ...read, on: "topic", names: topics },
      { ...read, on: "group", names: [groupId] },
    ];
  }

  async #wait(error: Error, isOutage: boolean): Promise<void> {
    const { groupId } = this.#options;
    const delayMs = Math.min(DELAY_MAX_MS, DELAY_FIRST_MS * 2 ** (this.#failures - 1));
    const since = new Date().toISOString();
    const fields = { group: groupId, error: error.message, since };
    // An outage affects all consumers at once, so one log line is enough.
    const text = isOutage ? "restarting" : `restarting ${groupId} ${error.message}`;
    this.#world.outages.warnUnlessOutage(text, fields, "kafka.consumer.restarting");
    const spreadMs = delayMs * (0.5 + Math.random() / 2);
    await sleep(spreadMs, undefined, { signal: this.#stopping.signal }).catch(() => undefined);
  }

  #joined(): void {
    this.#rebalances += 1;
    this.#failures = 0;
    this.#joinedOnce.resolve();
  }
}

/** The Kafka command that also shows the members' hosts. */
function membersHint({ identity }: ConsumerWorld, { groupId }: ConsumeOptions) {
  const tool = `kafka-consumer-groups.sh --bootstrap-server ${shellWord(identity.brokers.join(","))}`;
  return { group: groupId, fix: `${tool} --describe --members --group ${shellWord(groupId)}` };
}

const SHOWN_FOR_MS = 120_000;
const LOGGED_EVERY_MS = 60_000;

/**
 * Tracks other programs that are members of one of Switchyard's groups. When such a program joins or leaves, the
 * partitions of all members are revoked. If such a program leads the group, it may assign partitions to itself.
 *
 *   such a program                   is shown                     is logged
 *   is in the group                  while it is in the group      when it is first seen, and at a
 *   has left, and may come back      for 2 more minutes           rebalance at least a minute later
 */
export class ForeignMembers {
  readonly #monotonicMs: () => number;
  readonly #log: (clientIds: readonly string[]) => void;
  /** For each client ID, when it was last in the group. */
  readonly #seenAtMs = new Map<string, number>();
  #present: readonly string[] = [];
  #loggedAtMs = Number.NEGATIVE_INFINITY;

  constructor(monotonicMs: () => number, log: (clientIds: readonly string[]) => void) {
    this.#monotonicMs = monotonicMs;
    this.#log = log;
  }

  /** Call after a rebalance with the client IDs of the other programs in the group. */
  joined(clientIds: readonly string[]): void {
    const nowMs = this.#monotonicMs();
    const before = this.now();
    for (const each of this.#present) this.#seenAtMs.set(each, nowMs);
    this.#present = [...new Set(clientIds)].toSorted();
    for (const each of this.#present) this.#seenAtMs.set(each, nowMs);
    const isNew = this.#present.some((each) => !before.includes(each));
    const isDue = nowMs - this.#loggedAtMs >= LOGGED_EVERY_MS;
    if (this.#present.length === 0 || !(isNew || isDue)) return;
    this.#loggedAtMs = nowMs;
    this.#log(this.#present);
  }

  /** The client IDs to show, sorted. */
  now(): readonly string[] {
    const nowMs = this.#monotonicMs();
    for (const [each, atMs] of this.#seenAtMs) {
      const isOver = nowMs - atMs >= SHOWN_FOR_MS && !this.#present.includes(each);
      if (isOver) this.#seenAtMs.delete(each);
    }
    return [...this.#seenAtMs.keys()].toSorted();
  }
}
