/**
 * One run of `bench isolation`: Switchyard in one process with many destinations, calls at an even
 * rate, and how long each took from its append to `calls` until the receiver had it. It has three
 * parts: the program becomes warm; all are healthy; one of them is sick.
 *
 * The broker stamps the append, the receiver the arrival, by the same clock. Only healthy destinations
 * are at the receiver, so that what it notes is theirs alone.
 */

import { setTimeout as sleep } from "node:timers/promises";

import { concurrencyFor, PIPELINE, type Program } from "./program.ts";
import { type Arrival, type Receiver, startReceiver } from "./receiver.ts";
import { type Health, type SickServer, startSickServer } from "./sick-server.ts";
import { idOf, turnOf, webhooksAt } from "./work.ts";
import { Workbench } from "./workbench.ts";

const STEP_MS = 10;
/** A program that was just started compiles its code for so long under load. */
const WARM_UP_MS = 15_000;
const SECOND_MS = 1_000;
/** Calls that are posted and not delivered while the capacity is measured. */
const UNDER_WAY_MAX = 200;
/** Destinations of each call; the calls take turns over all destinations. */
const COPIES = 10;
/** Short ones, so that what was refused comes back within the run. */
const DELAYS = ["2s", "5s", "10s"];

export interface IsolationLoad {
  readonly callsPerSecond: number;
  /** With all healthy, and again with one sick. */
  readonly seconds: number;
}

/** Of the healthy destinations' deliveries while all are healthy, or one is not. */
export interface Part {
  /** In milliseconds, of each second in which calls were appended. */
  readonly seconds: readonly (readonly number[])[];
  /** Of Switchyard's process, for each 1,000 of these deliveries. */
  readonly cpuMsPerThousand: number;
}

export interface IsolationFigures {
  readonly before: Part;
  readonly after: Part;
}

/** The brokers around the runs. */
export interface Surroundings {
  readonly replicationFactor: number;
  /** Called before a program starts, with the topic of calls and that of the destination that becomes sick. */
  prepare(health: Health, topics: { readonly calls: string; readonly sick: string }): Promise<void>;
  /** Called when it does, whatever it becomes. */
  fall(): Promise<void>;
}

export const ONE_BROKER: Surroundings = {
  replicationFactor: 1,
  prepare: async () => undefined,
  fall: async () => undefined,
};

interface Running {
  readonly program: Program;
  /** Of all destinations but the last. */
  readonly receiver: Receiver;
  readonly sick: SickServer;
  /** The destination that becomes sick, if one does. */
  readonly lastId: string;
}

/**
 * Topics that all runs share: to create them for 1,000 destinations takes longer than a run. The
 * sick destination has another id in each run, so that what is left of it comes into no other.
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

  /** The caller disposes of it, which deletes the topics. */
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
   * Calls a second that one process delivers while so many are under way. A backlog would be read
   * in large pieces, and with 1,000 destinations nothing that runs steadily comes in such.
   */
  capacity(calls: number): Promise<number> {
    return this.#withProgram("healthy", async ({ receiver, lastId }) => {
      const share = 1 - 1 / this.#destinations;
      const make = this.#nextCalls(calls, lastId);
      const sends: Promise<unknown>[] = [];
      let from = { delivered: 0, atMs: 0 };
      for (let posted = 0, delivered = 0; delivered < calls; ) {
        delivered = Math.round((await receiver.count()) / (COPIES * share));
        // Before that, code runs for the first time.
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

  /** @param health what the last destination's endpoint becomes. */
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

  /** Each names the destinations it goes to. */
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
    // Of the run before this one there may be some left.
    const appendedAtMs = appended.get(messageId) ?? 0;
    seconds[Math.floor((appendedAtMs - from.atMs) / SECOND_MS)]?.push(atMs - appendedAtMs);
    if (atMs >= from.atMs && atMs < to.atMs) deliveries += 1;
  }
  const cpuMsPerThousand = ((to.cpuMs - from.cpuMs) * 1_000) / deliveries;
  return { seconds: seconds.filter(({ length }) => length > 0), cpuMsPerThousand };
}
