/**
 * Follows the topic `order.<destination>` (`../control/follow-topic.ts`), and keeps the facts that it contains.
 *
 *   event                                   result
 *   the whole topic has been read           its facts replace those that were known; listeners get each of them
 *   a fact is written                       it applies; listeners get it
 *   this process has written `settled`      the same, as soon as the record is acknowledged
 *   a record is not a fact                  it has no effect
 *   the topic cannot be read                what is known stays in force; log and `/readyz` report it. Deliveries of users
 *                                           who are free continue
 *   the topic was recreated, or lost        the same: facts that were known still apply in this process. Another process
 *   records                                 that becomes the owner does not know them, so deliveries may overtake others
 */

import { asError } from "../../base/runtime/as-error.ts";
import type { Log } from "../../base/telemetry/log.ts";
import type { IncomingRecord } from "../../domain/record.ts";
import { type FollowDeps, FollowedTopic, type WholeReading } from "../control/follow-topic.ts";
import { type Fact, Facts, readFact } from "./facts.ts";

/** Called with facts that are not tombstones. It may get a fact more than once. */
export type OnFact = (partition: number, fact: Fact) => void;

type ByPartition = Map<number, Facts>;

/** Starts reading immediately. */
export class FollowedFacts implements Disposable {
  readonly #topic: string;
  readonly #log: Log;
  readonly #followed: FollowedTopic;
  readonly #listeners = new Set<OnFact>();
  /** Replaced when the whole topic has been read again. */
  #partitions: ByPartition = new Map();
  #hasLost = false;

  constructor(deps: FollowDeps & { readonly log: Log }, topic: string) {
    this.#topic = topic;
    this.#log = deps.log;
    this.#followed = new FollowedTopic(deps, topic, {
      startReading: (hasLost) => this.#startReading(hasLost),
      take: (records) => {
        for (const record of records) this.#apply(record, this.#partitions, true);
      },
      onFailed: (thrown, isLogged) => {
        const error = asError(thrown).message;
        if (!isLogged) deps.log.error({ topic, error }, "order.read-failed");
        return true;
      },
    });
  }

  /** The facts about one partition of the queue. */
  of(partition: number): Facts {
    return factsOf(this.#partitions, partition);
  }

  /** Resolves when the facts that exist now have been read. */
  caughtUp(): Promise<void> {
    return this.#followed.caughtUp();
  }

  /** Returns a function that ends it. */
  onFact(listener: OnFact): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Call when a fact `settled` that this process has written is acknowledged. */
  settled(partition: number, fact: Fact, nowMs: number): void {
    this.of(partition).apply(fact, true, nowMs);
    this.#pass(partition, fact);
  }

  healthProblems(): readonly string[] {
    const topic = this.#topic;
    const { error } = this.#followed;
    const problems: string[] = [];
    if (error !== null) problems.push(`the topic ${topic} cannot be read: ${error}`);
    if (this.#hasLost) {
      problems.push(
        `the topic ${topic} was recreated or lost records, so the order of users whose deliveries waited is not kept when partitions move`,
      );
    }
    return problems;
  }

  [Symbol.dispose](): void {
    this.#followed[Symbol.dispose]();
  }

  #startReading(hasLost: boolean): WholeReading {
    if (hasLost) {
      this.#hasLost = true;
      this.#log.error({ topic: this.#topic }, "order.lost");
    }
    const partitions: ByPartition = this.#hasLost ? this.#partitions : new Map();
    return {
      take: (record) => this.#apply(record, partitions, false),
      done: () => {
        this.#partitions = partitions;
        if (this.#listeners.size === 0) return;
        for (const [partition, facts] of partitions) {
          for (const fact of facts.all()) this.#pass(partition, fact);
        }
      },
    };
  }

  #apply(record: IncomingRecord, partitions: ByPartition, isNew: boolean): void {
    const read = readFact(record);
    if (read === null) return;
    const { partition, fact, isThere } = read;
    factsOf(partitions, partition).apply(fact, isThere, record.timestampMs);
    if (isNew && isThere) this.#pass(partition, fact);
  }

  #pass(partition: number, fact: Fact): void {
    for (const listener of this.#listeners) listener(partition, fact);
  }
}

function factsOf(partitions: ByPartition, partition: number): Facts {
  const known = partitions.get(partition);
  if (known !== undefined) return known;
  const facts = new Facts();
  partitions.set(partition, facts);
  return facts;
}
