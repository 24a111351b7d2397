/**
 * The whole pipeline in a world that depends on a seed: the calls, the behavior of endpoints, and the failures.
 *
 *   world      failures
 *   calm       processes are started and stopped gracefully, brokers are slow, settings change,
 *              a process lacks a destination for a while
 *   rough      processes are also killed; brokers are down, lose acknowledgments, remove members
 *
 * In both, the proxies of some destinations are down for a while, users are suppressed and lifted (`canaries.ts`), and some
 * destinations have a strict order, which operators pause, cancel and retry (`strict.ts`).
 *
 * Failures end after five hours. After that, there is time to finish everything.
 */

import { DEAD_LETTER_HEADER, type DeadLetterReason } from "../../src/domain/dead-letter.ts";
import { DELIVERY_HEADER } from "../../src/domain/delivery.ts";
import type { EndpointKey } from "../../src/domain/ids.ts";
import type { OutgoingRecord } from "../../src/domain/record.ts";
import type { WebhookDestination } from "../../src/router/destinations/webhook/settings.ts";
import { headerTexts } from "../support/build/calls.ts";
import { ManualClock } from "../support/clock/manual-clock.ts";
import { createPrng, type Prng } from "../support/clock/prng.ts";
import { MemoryCluster } from "../support/memory-kafka/memory-kafka.ts";
import {
  begunWithoutProxy,
  type Exposure,
  isSettled,
  Ledger,
  type Request,
  violations,
  windowBegan,
} from "../support/worlds/ledger.ts";
import { auditProblems } from "./audited.ts";
import { Canaries } from "./canaries.ts";
import { type Behaviour, Endpoints, someBehaviours, someOutages } from "./endpoints.ts";
import { type ProcessConfig, SimulatedProcess } from "./process.ts";
import {
  aBatch,
  configOf,
  DELAY_TOPICS,
  destinations,
  HOUR_MS,
  MINUTE_MS,
  POLICY,
  RETRY_DELAYS_MS,
  recipientOf,
  SECOND_MS,
  topics,
  WINDOW_MS,
} from "./setup.ts";
import { StrictOrders, withOrders } from "./strict.ts";

const FAULTS_FOR_MS = 5 * HOUR_MS;
/** Work that was done shortly before a failure may not be committed yet. */
const BEFORE_MS = 8 * SECOND_MS;
/** After a failure, it takes a while until all members have drained and joined again. */
const AFTER_MS = 20 * SECOND_MS;

/** In a world with a strict order, the deliveries of a user fail one after the other. */
const STRICT_LONGER = 8;

export type Weather = "calm" | "rough";

interface Sent {
  readonly messageId: string;
  readonly user: string;
}

export class World {
  readonly clock = new ManualClock();
  readonly #random: Prng;
  readonly #cluster: MemoryCluster;
  readonly #ledger = new Ledger();
  readonly #endpoints: Endpoints;
  readonly #destinations: readonly WebhookDestination[];
  readonly #behaviours: ReadonlyMap<EndpointKey, Behaviour>;
  /** When the proxy of each destination is down. */
  readonly #proxyOutages: ReadonlyMap<string, readonly Exposure[]>;
  readonly #config: ProcessConfig;
  readonly #canaries: Canaries;
  readonly #strict: StrictOrders;
  readonly #sent: Sent[] = [];
  readonly #exposures: Exposure[] = [];
  #losesAcknowledgements = false;
  #isLate = false;
  readonly #failures: string[] = [];
  #processes: SimulatedProcess[] = [];

  constructor(seed: number) {
    this.#random = createPrng(seed);
    const { clock } = this;
    this.#cluster = new MemoryCluster({ clock, random: this.#random.fork() });
    // Separate, so that worlds without a strict order stay the same.
    const orders = createPrng(seed + 1_000_000);
    this.#destinations = withOrders(destinations(this.#random.fork()), orders);
    this.#behaviours = someBehaviours(this.#destinations, clock.nowMs(), this.#random);
    const chance = this.#random.fork();
    const ids = this.#destinations.map(({ id }) => id);
    this.#proxyOutages = someOutages(ids, clock.nowMs(), FAULTS_FOR_MS, this.#random.fork());
    this.#endpoints = new Endpoints(
      clock,
      chance,
      this.#ledger,
      this.#behaviours,
      this.#proxyOutages,
    );
    this.#config = configOf(this.#destinations);
    this.#canaries = new Canaries(clock, this.#cluster, this.#random.fork());
    this.#strict = new StrictOrders(clock, this.#cluster, this.#ledger, orders, this.#destinations);
    for (const name of [topics.calls, topics.deadLetters, topics.ledger]) {
      this.#cluster.createTopic(name, 2);
    }
    for (const { id } of this.#destinations) {
      this.#cluster.createTopic(topics.deliveries(id), 2);
      this.#cluster.createTopic(topics.retries(id), 1);
    }
    for (const delayMs of RETRY_DELAYS_MS) this.#cluster.createTopic(topics.delays(delayMs), 1);
  }

  /** Runs the world, and returns everything that should not have happened. */
  async live(weather: Weather): Promise<string[]> {
    this.#strict.plan(FAULTS_FOR_MS, weather === "rough");
    for (let count = this.#random.integer(1, 3); count > 0; count -= 1) this.#start();
    this.#planCalls();
    this.#planFaults(weather);
    this.#canaries.plan(FAULTS_FOR_MS);
    await this.clock.advance(FAULTS_FOR_MS + MINUTE_MS);
    // A destination that fails nine times out of ten is on hold for hours, so retry windows start late.
    const longer = this.#strict.areThere ? STRICT_LONGER : 1;
    const limitMs = this.clock.nowMs() + 4 * WINDOW_MS * longer;
    while (!this.#isSettled() && this.clock.nowMs() < limitMs) {
      await this.clock.advance(5 * MINUTE_MS);
    }
    // Repetitions would arrive now.
    await this.clock.advance(10 * MINUTE_MS);
    return [...this.#judge(weather), ...(await this.#audited())];
  }

  /** The second witness: what `switchyard audit` finds in the ledger. Kills around writes can explain more than it knows. */
  #audited(): Promise<string[]> {
    const ids = this.#destinations.map(({ id }) => id);
    const sent = {
      calls: this.#sent.length,
      isRepeated: this.#losesAcknowledgements,
      isLate: this.#isLate,
    };
    return auditProblems(this.#cluster.connect(), this.clock, ids, sent);
  }

  #isSettled(): boolean {
    this.#readTopics();
    const { isHeld } = this.#strict;
    if (!this.#canaries.isSettled(this.#ledger, this.#destinations.map(recipientOf), isHeld))
      return false;
    return this.#sent.every(({ messageId }) =>
      this.#destinations.every(
        (destination) =>
          isSettled(this.#ledger.entry(messageId, destination.id), recipientOf(destination)) ||
          isHeld(messageId, destination.id),
      ),
    );
  }

  #judge(weather: Weather): string[] {
    this.#readTopics();
    const found = [...this.#failures];
    for (const { messageId } of this.#sent) {
      for (const destination of this.#destinations) {
        const entry = this.#ledger.entry(messageId, destination.id);
        const broken = violations(entry, recipientOf(destination), POLICY, this.#exposures);
        found.push(...broken.filter((what) => !this.#strict.isExplained(entry, what)));
        const outages = this.#proxyOutages.get(destination.id) ?? [];
        const begun = begunWithoutProxy(entry, outages);
        found.push(...begun.map((what) => `${messageId} for ${destination.id}: ${what}`));
      }
    }
    const recipients = this.#destinations.map(recipientOf);
    found.push(...this.#canaries.violations(this.#ledger, recipients, this.#strict.isHeld));
    found.push(...this.#strict.violations());
    if (weather === "calm") found.push(...this.#outOfOrder());
    return found;
  }

  /**
   * Unless an endpoint fails, calls with the same key arrive one after the other or in one batch, in the order of the
   * topic. If a proxy fails after one of several endpoints has got a request, the other endpoint is skipped and retried,
   * and later calls overtake that retry.
   */
  #outOfOrder(): string[] {
    const healthy = this.#destinations.filter(
      ({ id, deliver, endpoints }) =>
        endpoints.every(({ key }) => this.#behaviours.get(key)?.kind === "healthy") &&
        (deliver !== "every" || this.#proxyOutages.get(id)?.length === 0),
    );
    return healthy.flatMap(({ id }) => {
      const latest = new Map<string, readonly Request[]>();
      return this.#sent.flatMap(({ messageId, user }) => {
        const { requests } = this.#ledger.entry(messageId, id);
        const [first] = requests;
        const before = latest.get(user) ?? [];
        const isTogether = before.some(({ unit }) => unit === first?.unit);
        const endMs = Math.max(...before.map(({ endAtMs }) => endAtMs));
        const isEarly = !isTogether && (first?.atMs ?? 0) < endMs;
        latest.set(user, requests);
        return isEarly
          ? [`${messageId} for ${id} did not wait for an earlier call of ${user}`]
          : [];
      });
    });
  }

  #start(): void {
    const { areThere, stepKills } = this.#strict;
    const onStep = (records: readonly OutgoingRecord[]) => this.#step(process, records);
    const process: SimulatedProcess = new SimulatedProcess(
      this.clock,
      this.#cluster.connect(),
      this.#endpoints,
      this.#config,
      (error) => this.#failures.push(`a stage failed: ${error.message}`),
      {
        operatorActionsTopic: areThere ? topics.operatorActions : null,
        onStep: stepKills > 0 ? onStep : undefined,
      },
    );
    this.#processes.push(process);
  }

  #step(process: SimulatedProcess, records: readonly OutgoingRecord[]): void {
    if (!process.isRunning || !this.#strict.killsAt(records)) return;
    this.#kill(process);
    this.#startAgain(this.#strict.random);
  }

  #planCalls(): void {
    const count = this.#random.integer(1, 40);
    for (let number = 0; number < count; number += 1) {
      // Some calls arrive together, so that there are batches, and calls with the same key that wait for each other.
      const atMs = this.#random.chance(0.5)
        ? this.#random.integer(0, HOUR_MS)
        : this.#random.integer(1, 6) * 5 * MINUTE_MS;
      this.clock.schedule(atMs, () => this.#append(`m${number}`));
    }
  }

  #append(messageId: string): void {
    const user = `u${this.#random.integer(0, 3)}`;
    const call = { type: "track", userId: user, event: "Signed Up", messageId };
    this.#sent.push({ messageId, user });
    this.#cluster.append({
      topic: topics.calls,
      key: Buffer.from(user),
      value: Buffer.from(JSON.stringify(call)),
      headers: [],
    });
  }

  #planFaults(weather: Weather): void {
    for (let count = this.#random.integer(0, 16); count > 0; count -= 1) {
      const atMs = this.#random.integer(0, FAULTS_FOR_MS - 10 * MINUTE_MS);
      this.clock.schedule(atMs, () => this.#fault(weather));
    }
    this.clock.schedule(FAULTS_FOR_MS, () => {
      this.#cluster.setLatency({ minMs: 1, maxMs: 5 });
      if (this.#running().length === 0) this.#start();
    });
  }

  #fault(weather: Weather): void {
    const calm = ["join", "stop", "replace", "slow", "stuck", "night", "change"] as const;
    const rough = [...calm, "kill", "kill", "expire", "outage", "lost"] as const;
    const process = this.#running().at(this.#random.integer(0, 2));
    const fault = this.#random.pick(weather === "calm" ? calm : rough);
    if (fault === "join") this.#start();
    if (fault === "slow")
      this.#cluster.setLatency({ minMs: 1, maxMs: this.#random.pick([5, 300]) });
    if (fault === "night") for (const each of this.#running()) void each.stop();
    if (fault === "stuck") this.#stick(weather);
    if (fault === "change" && process !== undefined) this.#change(process);
    if (fault === "stop" || fault === "replace") void process?.stop();
    if (fault === "replace") this.#start();
    if (fault === "kill") this.#kill(process);
    if (fault === "expire") {
      process?.expire();
      this.#expose(0);
    }
    if (fault === "outage") this.#outage(this.#random.integer(1, 180) * SECOND_MS);
    if (fault === "lost") this.#loseAcknowledgements(this.#random.integer(1, 60) * SECOND_MS);
    this.#startAgain(this.#random);
  }

  #kill(process: SimulatedProcess | undefined): void {
    process?.kill();
    this.#expose(0);
  }

  #startAgain(random: Prng): void {
    const backMs = random.integer(20, random.pick([60, 1_200])) * SECOND_MS;
    this.clock.schedule(backMs, () => {
      if (this.#running().length === 0) this.#start();
    });
  }

  /**
   * Changes the settings of the process's destinations, perhaps with one destination fewer, and restores them after a
   * while.
   */
  #change(process: SimulatedProcess): void {
    const gone = this.#random.chance(0.5) ? this.#random.pick(this.#destinations).id : null;
    const changed = this.#destinations
      .filter(({ id }) => id !== gone)
      .map((destination) => ({
        ...destination,
        concurrency: this.#random.pick([1, 2, 64]),
        batch: this.#random.chance(0.5) ? destination.batch : aBatch(this.#random),
      }))
      .map((destination) => this.#strict.changed(destination));
    void process.update(changed);
    const backMs = this.#random.integer(0, 60) * SECOND_MS;
    this.clock.schedule(backMs, () => {
      this.#strict.restored();
      void process.update(this.#destinations);
    });
  }

  /** Makes writes take seconds, while a process has to leave. */
  #stick(weather: Weather): void {
    this.#cluster.delayWrites(this.#random.integer(500, 4_000));
    this.#isLate = true;
    const goAtMs = this.#random.integer(0, 18 * SECOND_MS);
    // Publishes calls, so that something can fail.
    for (let count = 3; count > 0; count -= 1) {
      this.clock.schedule(this.#random.integer(0, goAtMs), () =>
        this.#append(`s${this.#sent.length}`),
      );
    }
    this.clock.schedule(goAtMs, () => {
      const process = this.#running().at(this.#random.integer(0, 2));
      if (weather === "calm") void process?.stop();
      else this.#kill(process);
    });
    this.clock.schedule(20 * SECOND_MS, () => this.#cluster.delayWrites(0));
  }

  #outage(forMs: number): void {
    this.#isLate = true;
    this.#expose(forMs);
    this.#canaries.outage(forMs);
    this.#cluster.goDown();
    this.clock.schedule(forMs, () => this.#cluster.comeUp());
  }

  #loseAcknowledgements(forMs: number): void {
    this.#losesAcknowledgements = true;
    this.#isLate = true;
    this.#expose(forMs);
    this.#cluster.loseAcknowledgements(0.3);
    this.clock.schedule(forMs, () => this.#cluster.loseAcknowledgements(0));
  }

  #expose(forMs: number): void {
    const nowMs = this.clock.nowMs();
    this.#exposures.push({ fromMs: nowMs - BEFORE_MS, toMs: nowMs + forMs + AFTER_MS });
  }

  #running(): SimulatedProcess[] {
    this.#processes = this.#processes.filter(({ isRunning }) => isRunning);
    return this.#processes;
  }

  readonly #read = new Map<string, number>();
  /** Adds to the ledger the records that have been written since the last call. */
  #readTopics(): void {
    this.#strict.read();
    const names = [
      topics.deadLetters,
      ...this.#destinations.flatMap(({ id }) => [topics.deliveries(id), topics.retries(id)]),
      ...DELAY_TOPICS,
    ];
    for (const name of names) {
      for (const record of this.#cluster.records(name)) {
        const place = `${name}/${record.partition}`;
        if (record.offset < (this.#read.get(place) ?? 0)) continue;
        this.#read.set(place, record.offset + 1);
        const texts = headerTexts(record);
        const messageId = texts[DELIVERY_HEADER.messageId] ?? "";
        const entry = this.#ledger.entry(messageId, texts[DELIVERY_HEADER.destination] ?? "");
        entry.writtenAtMs.push(record.timestampMs);
        if (DELAY_TOPICS.has(name)) entry.beganAtMs.push(...windowBegan(texts, record.timestampMs));
        if (name !== topics.deadLetters) continue;
        entry.deadLetters.push({
          endpoint: (texts[DELIVERY_HEADER.endpoint]?.split(",")[1] ?? null) as EndpointKey | null,
          reason: texts[DEAD_LETTER_HEADER.reason] as DeadLetterReason,
          atMs: record.timestampMs,
        });
      }
    }
  }
}
