/** One stage with a Kafka in memory, on a clock that tests advance. */

import type { IncomingRecord, RecordHeaders } from "../../../src/domain/record.ts";
import { groupNames, topicNames } from "../../../src/domain/topics.ts";
import type { RunningStage, StageDeps } from "../../../src/router/stage/running-stage.ts";
import { valueBytes } from "../build/calls.ts";
import { clockDriver } from "../clock/clock-driver.ts";
import { ManualClock } from "../clock/manual-clock.ts";
import { createPrng } from "../clock/prng.ts";
import { MemoryCluster, type MemoryKafka } from "../memory-kafka/memory-kafka.ts";
import { committedOffsets } from "./committed-offsets.ts";
import { closing, stageProcess } from "./stage-process.ts";

export const topics = topicNames("sw.");
export const groups = groupNames("sw.");

export interface StageWorldOptions {
  /** The topic that the stage reads, and its consumer group. */
  readonly input: string;
  readonly group: string;
  readonly partitions: number;
  readonly recordMaxBytes: (topic: string) => number;
}

export class StageWorld {
  readonly clock = new ManualClock();
  readonly #driver = clockDriver(this.clock);
  readonly until = this.#driver.until;
  readonly during = this.#driver.during;
  readonly cluster: MemoryCluster;
  readonly #options: StageWorldOptions;
  readonly #connections: MemoryKafka[] = [];

  constructor(options: StageWorldOptions) {
    const { input, partitions, recordMaxBytes } = options;
    this.#options = options;
    const random = createPrng(7);
    this.cluster = new MemoryCluster({ clock: this.clock, random, recordMaxBytes });
    this.cluster.createTopic(input, partitions);
    this.cluster.createTopic(topics.deadLetters, 1);
  }

  /** Starts the stage in a separate process, and counts its sends and batches. */
  protected async startIn(start: (deps: StageDeps) => Promise<RunningStage>) {
    const own = stageProcess(this.cluster, this.clock);
    this.#connections.push(own.kafka);
    const stage = await start(own.deps);
    const close = () => closing(stage, own.producer, this);
    return { ...own, stage, close };
  }

  /** @param value a value to write as JSON; strings and bytes stay unchanged. */
  append(value: unknown, partition = 0, headers: RecordHeaders = []): IncomingRecord {
    const record = { topic: this.#options.input, key: null, headers, partition };
    const bytes = Buffer.isBuffer(value) ? value : valueBytes(value);
    return this.cluster.append({ ...record, value: bytes });
  }

  deadLetters(): readonly IncomingRecord[] {
    return this.cluster.records(topics.deadLetters);
  }

  async committed(): Promise<number> {
    const { group, input } = this.#options;
    const offsets = await committedOffsets(this, group, input);
    return offsets.reduce((sum, offset) => sum + offset, 0);
  }

  kill(): void {
    for (const connection of this.#connections) connection.kill();
  }
}
