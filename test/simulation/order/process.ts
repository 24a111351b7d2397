/**
 * A process of the model: it reads the queue, the retry topic and the delay topics with real consumers of the Kafka in
 * memory, and follows the facts. It can be stopped, killed and frozen.
 *
 * While it is frozen, it neither receives nor sends anything, but its requests in flight arrive. What it would have done
 * happens when it thaws, in order: its writes then arrive after other processes own its partitions.
 */

import assert from "node:assert/strict";
import type { OutgoingRecord } from "../../../src/domain/record.ts";
import type {
  ConsumeOptions,
  Consumer,
  PartitionHandler,
  WatchedProducer,
} from "../../../src/kafka/port.ts";
import type { Facts } from "../../../src/router/order/facts.ts";
import { CopyOwner } from "./copy-owner.ts";
import { DelayOwner } from "./delay-owner.ts";
import type { Host, HostDeps, Owner } from "./host.ts";
import { QueueOwner } from "./queue-owner.ts";
import {
  DELAYS_MS,
  delayTopic,
  FACTS,
  factOf,
  noFacts,
  PARTITIONS,
  QUEUE,
  RETRIES,
} from "./setup.ts";

const COMMON = { partitionRecordsMax: 8, maxBytes: 1_000_000, whenFull: "hold" } as const;

interface ProcessDeps extends HostDeps {
  /** Called around each write. May kill or freeze the process. */
  readonly onStep: (process: Process) => void;
}

export class Process implements Host {
  readonly deps: ProcessDeps;
  readonly facts: readonly Facts[];
  readonly #ends: number[] = Array.from({ length: PARTITIONS }, () => 0);
  readonly #producer: WatchedProducer;
  readonly #consumers: readonly Consumer[];
  readonly #ended = new AbortController();
  readonly #owners = new Set<Owner>();
  readonly #onRead = new Set<() => void>();
  #isFrozen = false;
  #isStopping = false;
  #thawing: (() => void)[] = [];
  #tenures = 0;

  constructor(deps: ProcessDeps) {
    this.deps = deps;
    const { kafka, settings } = deps;
    this.facts = Array.from({ length: PARTITIONS }, () => noFacts(settings.design));
    this.#producer = kafka.producer();
    for (let partition = 0; partition < PARTITIONS; partition += 1) void this.#follow(partition);
    const copies = new CopyOwner(this);
    this.#owners.add(copies);
    const { drainLimitMs } = settings;
    const consume = (
      options: Pick<ConsumeOptions, "groupId" | "topics" | "onAssigned" | "passingTopics">,
    ) =>
      kafka.consume({
        ...COMMON,
        ...options,
        drainLimitMs,
        onCrash: (error) => assert.fail(error),
      });
    this.#consumers = [
      consume({
        groupId: "deliver.d",
        topics: [QUEUE, RETRIES],
        passingTopics: [RETRIES],
        onAssigned: (at) =>
          this.#own(at.topic === QUEUE ? new QueueOwner(this, at, copies) : copies.open(at)),
      }),
      ...DELAYS_MS.map((delayMs) =>
        consume({
          groupId: `delay.${delayMs}`,
          topics: [delayTopic(delayMs)],
          onAssigned: (at) => this.#own(new DelayOwner(this, at, delayMs)),
        }),
      ),
    ];
  }

  get isRunning(): boolean {
    return this.deps.kafka.alive && !this.#isStopping;
  }

  get isFrozen(): boolean {
    return this.#isFrozen;
  }

  tenure(): number {
    this.#tenures += 1;
    return this.#tenures;
  }

  /** Runs it now, or when the process thaws. */
  run(then: () => void): void {
    if (!this.deps.kafka.alive) return;
    if (this.#isFrozen) this.#thawing.push(then);
    else then();
  }

  see<Value>(promise: Promise<Value>): Promise<Value> {
    return new Promise((resolve, reject) => {
      promise.then(
        (value) => this.run(() => resolve(value)),
        (error: unknown) => this.run(() => reject(error as Error)),
      );
    });
  }

  after(ms: number, then: () => void): void {
    this.deps.clock.schedule(ms, () => this.run(then));
  }

  write(...records: readonly OutgoingRecord[]): Promise<void> {
    return new Promise((resolve) => {
      this.deps.onStep(this);
      this.run(() => {
        this.see(this.#producer.send(records)).then(
          () => {
            this.deps.onStep(this);
            this.run(resolve);
          },
          // The process has stopped; the records may still be written.
          () => undefined,
        );
      });
    });
  }

  async readFacts(): Promise<void> {
    if (this.deps.settings.design.broken === "read-to-the-end") return;
    const ends = await this.see(this.deps.kafka.admin.offsets(FACTS));
    const isRead = () => ends.every(({ partition, end }) => (this.#ends[partition] ?? 0) >= end);
    if (isRead()) return;
    await this.see(
      new Promise<void>((resolve) => {
        const look = () => {
          if (!isRead()) return;
          this.#onRead.delete(look);
          resolve();
        };
        this.#onRead.add(look);
      }),
    );
  }

  /** Something changed that may let deliveries start. */
  pump(): void {
    this.run(() => {
      for (const owner of this.#owners) owner.pump();
    });
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    await Promise.all(this.#consumers.map((consumer) => consumer.stop()));
    await this.#producer.close(5_000);
    this.#ended.abort();
  }

  kill(): void {
    this.#ended.abort();
    this.deps.kafka.kill();
  }

  freeze(): void {
    this.#isFrozen = true;
  }

  thaw(): void {
    this.#isFrozen = false;
    const thawing = this.#thawing;
    this.#thawing = [];
    for (const then of thawing) this.run(then);
  }

  #own(owner: PartitionHandler & Owner): PartitionHandler {
    this.#owners.add(owner);
    return {
      take: (records) => this.run(() => owner.take(records)),
      drain: () =>
        new Promise((resolve) => {
          this.run(() => {
            void owner.drain().then(() => {
              this.#owners.delete(owner);
              resolve();
            });
          });
        }),
    };
  }

  async #follow(partition: number): Promise<void> {
    const range = {
      topic: FACTS,
      partition,
      from: 0,
      maxBytes: 1_000_000,
      signal: this.#ended.signal,
    };
    for await (const records of this.deps.kafka.follow(range)) {
      this.run(() => {
        for (const { key, value, offset } of records) {
          const fact = factOf(`${key}`);
          this.facts[partition]?.apply(fact, value !== null);
          this.#ends[partition] = offset + 1;
          if (value === null) continue;
          for (const owner of this.#owners) owner.known?.(partition, fact);
        }
        for (const look of this.#onRead) look();
      });
    }
  }
}
