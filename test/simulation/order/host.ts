/** What the owners of partitions need of their process. */

import type { OutgoingRecord } from "../../../src/domain/record.ts";
import type { Fact, Facts } from "../../../src/router/order/facts.ts";
import type { ManualClock } from "../../support/clock/manual-clock.ts";
import type { MemoryKafka } from "../../support/memory-kafka/memory-kafka.ts";
import type { Endpoint } from "./endpoint.ts";
import type { Settings } from "./setup.ts";

export interface HostDeps {
  readonly id: number;
  readonly clock: ManualClock;
  readonly kafka: MemoryKafka;
  readonly endpoint: Endpoint;
  readonly settings: Settings;
}

export interface Host {
  readonly deps: HostDeps;
  /** What the process knows of each partition of facts. */
  readonly facts: readonly Facts[];
  /** The number of a partition's tenure in this process. */
  tenure(): number;
  /** The promise, as a process sees it that can be frozen or killed. */
  see<Value>(promise: Promise<Value>): Promise<Value>;
  after(ms: number, then: () => void): void;
  /** Resolves when the records are acknowledged. */
  write(...records: readonly OutgoingRecord[]): Promise<void>;
  /** Resolves when the facts that exist now are read. */
  readFacts(): Promise<void>;
}

export interface Owner {
  /** Starts what may start. */
  pump(): void;
  /** A fact was read. */
  known?(partition: number, fact: Fact): void;
}
