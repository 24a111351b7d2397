/**
 * One run of `bench isolation`: Switchyard in one process with many destinations, and calls at an even rate. Measures
 * the time of each call from its append to `calls` until the receiver has it. A run has three parts: the program warms
 * up; all destinations are healthy; one of them is failing.
 *
 * The broker records the time of the append, and the receiver the time of arrival, by the same clock. The receiver
 * serves only healthy destinations, so its times are only for these.
 */

import { setTimeout as sleep } from "node:timers/promises";

import { concurrencyFor, PIPELINE, type Program } from "./program.ts";
import { type Arrival, type Receiver, startReceiver } from "./receiver.ts";
import { type Health, type SickServer, startSickServer } from "./sick-server.ts";
import { idOf, turnOf, webhooksAt } from "./work.ts";
import { Workbench } from "./workbench.ts";

const STEP_MS = 10;
/** For this time, a program that has just started compiles its code under load. */
const WARM_UP_MS = 15_000;
const SECOND_MS = 1_000;
/** The number of calls that are written and not delivered yet while the capacity is measured. */
const UNDER_WAY_MAX = 200;
/** The number of destinations of each call. All destinations get calls in turn. */
const COPIES = 10;
/** These delays are short, so that deliveries that failed are retried within the run. */
const DELAYS = ["2s", "5s", "10s"];

interface IsolationLoad {
  readonly callsPerSecond: number;
  /** The time with only healthy destinations, and then the same time with one that is failing. */
  readonly seconds: number;
}

/** Figures of the deliveries to healthy destinations, for one part of the run. */
export interface Part {
  /** Latencies in milliseconds, for each second in which calls were appended. */
  readonly seconds: readonly (readonly number[])[];
  /** The CPU of Switchyard's process per 1,000 of these deliveries. */
  readonly cpuMsPerThousand: number;
}

export interface IsolationFigures {
  readonly before: Part;
  readonly after: Part;
}

/** Actions on the brokers before and during the runs. */
export interface Surroundings {
  readonly replicationFactor: number;
  /** Called before a program starts, with the topic of calls and the topic of the destination that will fail. */
  prepare(health: Health, topics: { readonly calls: string; readonly sick: string }): Promise<void>;
  /** Called when the destination starts to fail, in whichever way. */
  fall(): Promise<void>;
}

export const ONE_BROKER: Surroundings = {
  replicationFactor: 1,
  prepare: async () => undefined,
  fall: async () => undefined,
};

interface Running {
  readonly program: Program;
  /** The receiver of all destinations except the last one. */
  readonly receiver: Receiver;
  readonly sick: SickServer;
  /** The destination that fails, if one does in this run. */
  readonly lastId: string;
}

/**
 * The runs on shared topics: creating them for 1,000 destinations takes longer than a run. The failing destination has
 * another ID in each run, so that its remaining records do not affect later runs.
 */
export class IsolationRuns implements AsyncDisposable {
  readonly #bench: Workbench;
  readonly #destinations: number;
  readonly #surroundings: Surroundings;
  #runs = 0;

  private constructor(brokers: string, destinations: number, surroundings: Surroundings) {
    this.#bench = new Workbench(brokers);
    this.#destinations = destinations;
    this.#surroundings = surroundings;
  }

  /** The caller disposes the result, which deletes the topics. */
  static async create(
    brokers: string,
    destinations: number,
    surroundings: Surroundings,
  ): Promise<IsolationRuns> {
    const runs = new IsolationRuns(brokers, destinations, surroundings);
    const { replicationFactor } = surroundings;
    await runs.#bench.create([runs.#bench.topics.calls], { replicationFactor, isStamped: true });
    return runs;
  }

  /**
   * Returns how many calls per second one process delivers while a limited number of calls is in flight. A backlog
   * would be read in large pieces, which does not happen with an even load over 1,000 destinations.
   */
  capacity(calls: number): Promise<number> {
    return this.#withProgram("healthy", async ({ receiver, lastId }) => {
      const share = 1 - 1 / this.#destinations;
      const make = this.#nextCalls(calls, lastId);
      const sends: Promise<unknown>[] = [];
      let from = { delivered: 0, atMs: 0 };
      for (let posted = 0, delivered = 0; delivered < calls; ) {
        delivered = Math.round((await receiver.count()) / (COPIES * share));
        // Before this, code runs for the first time.
        if (from.atMs === 0 && delivered >= calls / 4) from = { delivered, atMs: Date.now() };
        const room = Math.floor(Math.min(calls - posted, UNDER_WAY_MAX - (posted - delivered)));
        const step = Array.from({ length: Math.max(0, room) }, (_, at) => make(posted + at));
        if (step.length > 0) sends.push(this.#bench.send(step));
        posted += step.length;
        await sleep(STEP_MS);
      }
      await Promise.all(sends);
      return ((calls - from.delivered) * 1_000) / (Date.now() - from.atMs);
    });
  }

  /** @param health how the endpoint of the last destination fails. */
  run(health: Health, { callsPerSecond, seconds }: IsolationLoad): Promise<IsolationFigures> {
    return this.#withProgram(health, async ({ program, receiver, sick, lastId }) => {
      const bench = this.#bench;
      const { calls: callsTopic } = bench.topics;
      const ends = await bench.ends(callsTopic);
      const partMs = seconds * 1_000;
      const calls = Math.floor((callsPerSecond * (WARM_UP_MS + 2 * partMs)) / 1_000);
      const first = bench.calls;
      const posting = bench.post(calls, callsPerSecond, this.#nextCalls(calls, lastId));
      const now = () => ({ atMs: Date.now(), cpuMs: program.cpuMs() });
      await sleep(WARM_UP_MS);
      const from = now();
      await sleep(partMs);
      const fell = now();
      await Promise.all([sick.fall(), this.#surroundings.fall()]);
      if (health === "topic") await bench.kafka.admin.deleteTopics([bench.deliveries(lastId)]);
      await posting;
      const to = now();
      await receiver.untilCount(calls * COPIES - this.#copiesToLast(first, calls));
      const appended = await bench.appends(callsTopic, ends);
      const journal = await receiver.journal();
      return {
        before: partOf(journal, appended, from, fell),
        after: partOf(journal, appended, fell, to),
      };
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#bench[Symbol.asyncDispose]();
  }

  async #withProgram<Result>(
    health: Health,
    measure: (running: Running) => Promise<Result>,
  ): Promise<Result> {
    using receiver = await startReceiver({ journal: true });
    using sick = await startSickServer(health);
    this.#runs += 1;
    const lastId = `sick-${this.#runs}`;
    const concurrency = concurrencyFor(this.#destinations);
    const healthy = webhooksAt(receiver.url, this.#destinations - 1, concurrency);
    const destinations = [...healthy, { id: lastId, url: sick.url, concurrency }];
    const topics = { calls: this.#bench.topics.calls, sick: this.#bench.deliveries(lastId) };
    await this.#surroundings.prepare(health, topics);
    await using program = await this.#bench.start({
      replicationFactor: this.#surroundings.replicationFactor,
      destinations,
      stages: PIPELINE,
      delays: DELAYS,
    });
    return await measure({ program, receiver, sick, lastId });
  }

  /** Returns the next calls, each of which names its destinations. */
  #nextCalls(calls: number, lastId: string) {
    return this.#bench.nextCalls(calls, (number) =>
      turnOf(number, COPIES, this.#destinations).map((index) =>
        index === this.#destinations - 1 ? lastId : idOf(index),
      ),
    );
  }

  #copiesToLast(first: number, calls: number): number {
    let copies = 0;
    for (let number = first; number < first + calls; number += 1) {
      if (turnOf(number, COPIES, this.#destinations).includes(this.#destinations - 1)) copies += 1;
    }
    return copies;
  }
}

interface Instant {
  readonly atMs: number;
  readonly cpuMs: number;
}

function partOf(
  journal: readonly Arrival[],
  appended: ReadonlyMap<string, number>,
  from: Instant,
  to: Instant,
): Part {
  const count = Math.round((to.atMs - from.atMs) / SECOND_MS);
  const seconds = Array.from({ length: count }, (): number[] => []);
  let deliveries = 0;
  for (const [messageId, atMs] of journal) {
    // Some may be left from the previous run.
    const appendedAtMs = appended.get(messageId) ?? 0;
    seconds[Math.floor((appendedAtMs - from.atMs) / SECOND_MS)]?.push(atMs - appendedAtMs);
    if (atMs >= from.atMs && atMs < to.atMs) deliveries += 1;
  }
  const cpuMsPerThousand = ((to.cpuMs - from.cpuMs) * 1_000) / deliveries;
  return { seconds: seconds.filter(({ length }) => length > 0), cpuMsPerThousand };
}
