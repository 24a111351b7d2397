/**
 * Several processes of the model in a world that depends on a seed.
 *
 *   weather    failures
 *   calm       processes are started and stopped gracefully; the destination is paused and put on hold; operators
 *              cancel and retry; the retry topic is missing, so that copies return to the queue; deliveries are rerouted;
 *              the endpoint fails, rejects, and accepts without a response
 *   killed     processes are also killed, at any time and around each write; acknowledgments are lost; brokers are slow
 *   overlap    processes are also frozen, at any time and around each write, and removed while they run, and brokers are
 *              down, so that two owners of a partition act at the same time, and old writes arrive late
 *
 * Failures end after two minutes. Then everything has to end: each delivery is settled, and each key is free. In the end,
 * one more delivery of each key has to be accepted.
 */

import type { Facts } from "../../../src/router/order/facts.ts";
import { ManualClock } from "../../support/clock/manual-clock.ts";
import { createPrng, type Prng } from "../../support/clock/prng.ts";
import { MemoryCluster } from "../../support/memory-kafka/memory-kafka.ts";
import { Endpoint, type FinalState, type Judged, judge, nameOf } from "./endpoint.ts";
import { Process } from "./process.ts";
import {
  type Controls,
  copyOf,
  copyRecord,
  DEAD_LETTERS,
  DELAY_TOPICS,
  FACTS,
  factOf,
  factRecord,
  noFacts,
  PARTITIONS,
  placeOfRecord,
  QUEUE,
  RETRIES,
  readDeadLetter,
  SECOND_MS,
  type Settings,
} from "./setup.ts";
import { type Design, THE_DESIGN } from "./steps.ts";

export type Weather = "calm" | "killed" | "overlap";

export interface Plan {
  readonly design?: Design;
  /** The process that gets to this step, before or after a write, is killed or frozen there. */
  readonly crash?: { readonly step: number; readonly kind: "kill" | "freeze" };
}

const FAULTS_MS = 120 * SECOND_MS;
const SETTLED_WITHIN_MS = 900 * SECOND_MS;
const SESSION_MS = 10 * SECOND_MS;

/** What a world contained, to show that it was not empty. */
export interface Seen {
  deliveries: number;
  attempts: number;
  waits: number;
  retries: number;
  deadLetters: number;
  kills: number;
  freezes: number;
  repeats: number;
  ghosts: number;
}

export class World {
  readonly clock = new ManualClock();
  readonly cluster: MemoryCluster;
  readonly settings: Settings;
  readonly endpoint: Endpoint;
  readonly seen: Seen = {
    deliveries: 0,
    attempts: 0,
    waits: 0,
    retries: 0,
    deadLetters: 0,
    kills: 0,
    freezes: 0,
    repeats: 0,
    ghosts: 0,
  };
  readonly #weather: Weather;
  readonly #random: Prng;
  readonly #startMs = this.clock.nowMs();
  readonly #keys: readonly string[];
  readonly #stepKill: number;
  readonly #stepFreeze: number;
  readonly #crash: Plan["crash"];
  /** The steps of all processes so far. */
  steps = 0;
  /** When operators canceled dead letters that held their keys. */
  readonly #released = new Map<string, number[]>();
  #handled = 0;
  #appended = 0;
  #processes: Process[] = [];

  constructor(seed: number, weather: Weather, { design = THE_DESIGN, crash }: Plan = {}) {
    this.#weather = weather;
    this.#crash = crash;
    this.#random = createPrng(seed);
    const random = this.#random;
    this.cluster = new MemoryCluster({
      clock: this.clock,
      random: random.fork(),
      sessionTimeoutMs: SESSION_MS,
    });
    for (const name of [QUEUE, FACTS]) this.cluster.createTopic(name, PARTITIONS);
    for (const name of [RETRIES, DEAD_LETTERS, ...DELAY_TOPICS]) this.cluster.createTopic(name, 1);
    this.#keys = Array.from({ length: random.integer(1, 5) }, (_, at) => `k${at}`);
    const controls: Controls = {
      isPaused: false,
      isOnHold: false,
      cancelledMs: 0,
      releasedMs: 0,
      isRetryTopicMissing: false,
    };
    this.settings = {
      design,
      controls,
      onDeadLetter: random.chance(0.3) ? "hold" : "continue",
      blockedMax: random.pick([1, 2, 100]),
      drainLimitMs: weather === "overlap" ? random.pick([100, 2_000]) : 10 * SECOND_MS,
    };
    const bad = this.#keys.map(
      (key) => [key, this.#startMs + random.integer(0, random.pick([1, FAULTS_MS]))] as const,
    );
    this.endpoint = new Endpoint(this.clock, random.fork(), {
      failure: random.pick([0, 0.1, 0.5]),
      rejection: random.pick([0, 0.1, 0.4]),
      lostResponse: random.pick([0, 0.05]),
      badUntilMs: new Map(bad),
    });
    const isRough = weather !== "calm";
    this.#stepKill = isRough ? random.pick([0, 0.01, 0.05]) : 0;
    this.#stepFreeze = weather === "overlap" ? random.pick([0, 0.01, 0.05]) : 0;
  }

  /** Returns everything that should not have happened. */
  async live(): Promise<readonly Judged[]> {
    const random = this.#random;
    for (let count = random.integer(1, 3); count > 0; count -= 1) this.#start();
    this.#planDeliveries();
    this.#planFaults();
    await this.clock.advance(FAULTS_MS);
    this.#endFaults();
    const isSettled = await this.#settle(() => this.#isEnded());
    for (const key of this.#keys) this.#append(key);
    const isOver = await this.#settle(() => this.#isEnded() && this.#blocked().length === 0);
    return this.#judge(isSettled && isOver);
  }

  /** Everything has ended, and what could be repeated was repeated. */
  async #settle(isEnded: () => boolean): Promise<boolean> {
    const limitMs = this.clock.nowMs() + SETTLED_WITHIN_MS;
    while (this.clock.nowMs() < limitMs) {
      await this.clock.advance(10 * SECOND_MS);
      this.#operate();
      if (!isEnded()) continue;
      await this.clock.advance(60 * SECOND_MS);
      if (isEnded()) return true;
    }
    return false;
  }

  #isEnded(): boolean {
    const accepted = new Set(
      this.endpoint.attempts
        .filter(({ acceptedMs }) => acceptedMs !== null)
        .map(({ place }) => place),
    );
    return this.#finalStates().every(
      ({ place, deadMs }) => accepted.has(nameOf(place)) || deadMs.length > 0,
    );
  }

  /** The keys that wait for something, as a new owner would know it. */
  #blocked(): string[] {
    return this.#facts().flatMap((facts, partition) =>
      [...facts.keys()]
        .filter((key) => facts.known(key).head !== null || facts.known(key).waiting.length > 0)
        .map((key) => `${key} of partition ${partition}`),
    );
  }

  #facts(): Facts[] {
    const all = Array.from({ length: PARTITIONS }, () => noFacts(this.settings.design));
    for (const { partition, key, value } of this.cluster.records(FACTS))
      all[partition]?.apply(factOf(`${key}`), value !== null);
    return all;
  }

  #finalStates(): FinalState[] {
    const dead = new Map<string, number[]>();
    const { onDeadLetter } = this.settings;
    for (const record of this.cluster.records(DEAD_LETTERS)) {
      const { place, reason } = readDeadLetter(record);
      if (onDeadLetter === "hold" && reason !== "cancelled") continue;
      const name = nameOf(place);
      dead.set(name, [...(dead.get(name) ?? []), record.timestampMs]);
    }
    return this.cluster.records(QUEUE).flatMap((record) => {
      if (copyOf(record) !== null) return [];
      const place = placeOfRecord(record);
      const name = nameOf(place);
      const deadMs = [...(dead.get(name) ?? []), ...(this.#released.get(name) ?? [])];
      return [{ place, deadMs }];
    });
  }

  #judge(isOver: boolean): readonly Judged[] {
    const finals = this.#finalStates();
    const { attempts } = this.endpoint;
    const isRough = this.#weather !== "calm" || this.#crash !== undefined;
    const { found, ghosts, repeats } = judge(finals, attempts, isRough);
    for (const what of this.#blocked()) found.push({ law: "stuck", what: `${what} is stuck` });
    // A delivery that was rerouted is in no queue until it returns.
    if (finals.length < this.#appended) found.push({ law: "lost", what: "a rerouted one is lost" });
    if (!isOver && found.length === 0) found.push({ law: "stuck", what: "it does not end" });
    const count = (topic: string) => this.cluster.records(topic).length;
    const facts = this.cluster
      .records(FACTS)
      .map(({ key, value }) => [factOf(`${key}`).kind, value] as const);
    const written = (kind: string) =>
      facts.filter(([each, value]) => each === kind && value !== null).length;
    Object.assign(this.seen, {
      deliveries: finals.length,
      attempts: attempts.length,
      waits: written("wait"),
      retries: written("retry"),
      deadLetters: count(DEAD_LETTERS),
      repeats,
      ghosts,
    });
    return found;
  }

  #start(): void {
    const process = new Process({
      id: this.#processes.length,
      clock: this.clock,
      kafka: this.cluster.connect(),
      endpoint: this.endpoint,
      settings: this.settings,
      onStep: (each) => this.#step(each),
    });
    this.#processes.push(process);
  }

  /** Around a write. */
  #step(process: Process): void {
    if (!this.#isFaulty) return;
    this.steps += 1;
    if (this.steps === this.#crash?.step) {
      if (this.#crash.kind === "kill") this.#kill(process);
      else this.#freeze(process);
    } else if (this.#random.chance(this.#stepKill)) {
      if (process.isRunning) this.#kill(process);
    } else if (this.#random.chance(this.#stepFreeze)) this.#freeze(process);
  }

  get #isFaulty(): boolean {
    return this.clock.nowMs() < this.#startMs + FAULTS_MS;
  }

  #kill(process: Process): void {
    this.seen.kills += 1;
    process.kill();
    this.clock.schedule(this.#random.integer(0, 15) * SECOND_MS, () => this.#start());
  }

  /** If it is frozen for longer than its session, its partitions move. */
  #freeze(process: Process): void {
    if (process.isFrozen) return;
    this.seen.freezes += 1;
    process.freeze();
    const forMs = this.#random.integer(1, 40) * SECOND_MS;
    if (forMs > SESSION_MS) this.clock.schedule(SESSION_MS, () => process.deps.kafka.expire());
    this.clock.schedule(forMs, () => process.thaw());
  }

  #planDeliveries(): void {
    const random = this.#random;
    for (let count = random.integer(5, 40); count > 0; count -= 1) {
      const atMs = random.chance(0.5)
        ? random.integer(0, FAULTS_MS)
        : random.integer(0, 10) * 10 * SECOND_MS;
      this.clock.schedule(atMs, () => this.#append(random.pick(this.#keys)));
    }
  }

  #append(key: string): void {
    this.#appended += 1;
    const isRerouted = this.#isFaulty && this.#random.chance(0.05);
    const topic = isRerouted ? this.#random.pick(DELAY_TOPICS) : QUEUE;
    this.cluster.append({ topic, key: Buffer.from(key), value: Buffer.from("{}"), headers: [] });
  }

  #planFaults(): void {
    const random = this.#random;
    for (let count = random.integer(0, 12); count > 0; count -= 1) {
      this.clock.schedule(random.integer(0, FAULTS_MS), () => this.#fault());
    }
    for (let atMs = 15 * SECOND_MS; atMs < FAULTS_MS; atMs += 15 * SECOND_MS)
      this.clock.schedule(atMs, () => this.#operate());
  }

  #fault(): void {
    const calm = ["join", "replace", "pause", "hold", "cancel", "release", "missing"] as const;
    const killed = [...calm, "kill", "kill", "lost", "slow"] as const;
    const overlap = [
      ...killed,
      "freeze",
      "freeze",
      "freeze",
      "expire",
      "expire",
      "outage",
    ] as const;
    const faults = { calm, killed, overlap } as const;
    const random = this.#random;
    const fault = random.pick<(typeof overlap)[number]>(faults[this.#weather]);
    const running = this.#processes.filter(({ isRunning }) => isRunning);
    const process = running.length === 0 ? undefined : random.pick(running);
    const { controls } = this.settings;
    if (fault === "join" || fault === "replace") this.#start();
    if (fault === "replace") void process?.stop();
    if (fault === "kill" && process !== undefined) this.#kill(process);
    if (fault === "freeze" && process !== undefined) this.#freeze(process);
    if (fault === "expire") process?.deps.kafka.expire();
    if (fault === "outage") this.#outage();
    if (fault === "pause") controls.isPaused = !controls.isPaused;
    if (fault === "hold") controls.isOnHold = !controls.isOnHold;
    if (fault === "missing") controls.isRetryTopicMissing = !controls.isRetryTopicMissing;
    if (fault === "cancel") controls.cancelledMs = this.clock.nowMs();
    if (fault === "release") controls.releasedMs = this.clock.nowMs();
    if (fault === "lost") this.cluster.loseAcknowledgements(random.pick([0, 0.3]));
    if (fault === "slow") this.cluster.setLatency({ minMs: 1, maxMs: random.pick([5, 300]) });
    this.#pump();
  }

  /** If it is longer than the sessions, all members are removed. */
  #outage(): void {
    this.cluster.goDown();
    this.clock.schedule(this.#random.integer(1, 30) * SECOND_MS, () => this.cluster.comeUp());
  }

  #pump(): void {
    for (const process of this.#processes) process.pump();
  }

  #endFaults(): void {
    const { controls } = this.settings;
    controls.isPaused = false;
    controls.isOnHold = false;
    controls.isRetryTopicMissing = false;
    this.cluster.loseAcknowledgements(0);
    this.cluster.setLatency({ minMs: 1, maxMs: 5 });
    if (!this.#processes.some(({ isRunning }) => isRunning)) this.#start();
    this.#pump();
  }

  /** Operators replay or cancel the dead letters that hold their keys. */
  #operate(): void {
    if (this.settings.onDeadLetter === "continue") return;
    const records = this.cluster.records(DEAD_LETTERS);
    const facts = this.#facts();
    const news = records.slice(this.#handled);
    for (const { place, reason } of new Map(
      news.map((record) => {
        const dead = readDeadLetter(record);
        return [nameOf(dead.place), dead];
      }),
    ).values()) {
      if (reason === "cancelled" || facts[place.partition]?.isSettled(place.key, place.offset))
        continue;
      const nowMs = this.clock.nowMs();
      if (this.#random.chance(0.5)) {
        const copy = { place, attempts: 0, firstMs: nowMs, receivedMs: nowMs };
        this.cluster.append(copyRecord(RETRIES, copy));
      } else {
        const name = nameOf(place);
        this.#released.set(name, [...(this.#released.get(name) ?? []), nowMs]);
        this.cluster.append(factRecord("settled", place));
      }
    }
    this.#handled = records.length;
  }
}
