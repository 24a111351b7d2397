/**
 * Endpoints respond 410 from some time on, until an operator resumes their destinations. Meanwhile processes are started,
 * stopped and killed.
 *
 *   law
 *   no process sends a request to the endpoint between 2 s after the record that it is gone, and the resume
 *   each call is accepted or a dead letter, with `every` for each endpoint
 *   if a destination has one endpoint, it accepts the calls of a user in order, also after the resume
 */

import { expect, test } from "vitest";

import { DEAD_LETTER_HEADER, type DeadLetterReason } from "../../src/domain/dead-letter.ts";
import { DELIVERY_HEADER } from "../../src/domain/delivery.ts";
import type { DestinationId, EndpointKey } from "../../src/domain/ids.ts";
import {
  forgetRecord,
  goneKey,
  readOperatorAction,
} from "../../src/router/control/operator-actions.ts";
import type { WebhookDestination } from "../../src/router/destinations/webhook/settings.ts";
import { headerTexts } from "../support/build/calls.ts";
import { ManualClock } from "../support/clock/manual-clock.ts";
import { createPrng, type Prng } from "../support/clock/prng.ts";
import { MemoryCluster } from "../support/memory-kafka/memory-kafka.ts";
import { isAccepted, isSettled, Ledger } from "../support/worlds/ledger.ts";
import { type Behaviour, Endpoints } from "./endpoints.ts";
import { SimulatedProcess } from "./process.ts";
import {
  configOf,
  DELAY_TOPICS,
  destinations,
  MINUTE_MS,
  recipientOf,
  SECOND_MS,
  topics,
} from "./setup.ts";

const SEEDS = Number(process.env.SWITCHYARD_SIMULATION_SEEDS ?? 25);
const CALLS = 60;
/** How long calls are published and processes fail. All destinations are resumed after it. */
const RESUMED_AT_MS = 5 * MINUTE_MS;
const DONE_WITHIN_MS = 10 * MINUTE_MS;
const NEWS_MS = 2 * SECOND_MS;

test("an endpoint that is gone gets no requests until it is resumed, and no call is lost", async () => {
  let gone = 0;
  for (let seed = 0; seed < SEEDS; seed += 1) {
    const world = new World(seed);
    expect(await world.live(), `seed ${seed}`).toEqual([]);
    gone += world.gone;
  }
  expect(gone).toBeGreaterThan(SEEDS);
});

class World {
  readonly #clock = new ManualClock();
  readonly #startMs = this.#clock.nowMs();
  readonly #random: Prng;
  readonly #cluster: MemoryCluster;
  readonly #ledger = new Ledger();
  readonly #destinations: readonly WebhookDestination[];
  readonly #endpoints: Endpoints;
  readonly #found: string[] = [];
  #processes: SimulatedProcess[] = [];
  /** The number of endpoints that were gone. */
  gone = 0;

  constructor(seed: number) {
    this.#random = createPrng(seed);
    this.#cluster = new MemoryCluster({ clock: this.#clock, random: this.#random.fork() });
    this.#destinations = destinations(this.#random.fork());
    const behaviours = this.#behaviours();
    this.#endpoints = new Endpoints(this.#clock, this.#random.fork(), this.#ledger, behaviours);
    for (const name of [topics.calls, topics.deadLetters]) this.#cluster.createTopic(name, 2);
    for (const { id } of this.#destinations) {
      this.#cluster.createTopic(topics.deliveries(id), 2);
      this.#cluster.createTopic(topics.retries(id), 1);
    }
    for (const name of [topics.operatorActions, topics.suppressions, ...DELAY_TOPICS])
      this.#cluster.createTopic(name, 1);
  }

  #behaviours(): ReadonlyMap<EndpointKey, Behaviour> {
    const keys = this.#destinations.flatMap(({ endpoints }) => endpoints.map(({ key }) => key));
    return new Map(
      keys.map((key) => {
        const fromMs = this.#startMs + this.#random.integer(0, RESUMED_AT_MS / 2);
        const gone = { kind: "gone", fromMs, untilMs: this.#startMs + RESUMED_AT_MS } as const;
        return [key, this.#random.chance(0.6) ? gone : { kind: "healthy" }];
      }),
    );
  }

  async live(): Promise<readonly string[]> {
    for (let count = this.#random.integer(1, 3); count > 0; count -= 1) this.#start();
    for (let number = 0; number < CALLS; number += 1) {
      const atMs = this.#random.integer(0, RESUMED_AT_MS);
      this.#clock.schedule(atMs, () => this.#append());
    }
    for (let count = this.#random.integer(0, 6); count > 0; count -= 1) {
      this.#clock.schedule(this.#random.integer(0, RESUMED_AT_MS), () => this.#fault());
    }
    this.#clock.schedule(RESUMED_AT_MS, () => this.#resume());
    await this.#clock.advance(RESUMED_AT_MS + DONE_WITHIN_MS);
    this.#readDeadLetters();
    for (const destination of this.#destinations) {
      this.#judgeRequests(destination);
      this.#judgeCalls(destination);
    }
    return this.#found;
  }

  #start(): void {
    const onFatal = ({ message }: Error) => this.#found.push(`a stage failed: ${message}`);
    const config = configOf(this.#destinations);
    const kafka = this.#cluster.connect();
    const { operatorActions } = topics;
    this.#processes.push(
      new SimulatedProcess(this.#clock, kafka, this.#endpoints, config, onFatal, {
        operatorActionsTopic: operatorActions,
      }),
    );
  }

  #fault(): void {
    const fault = this.#random.pick(["join", "stop", "kill", "kill"] as const);
    const process = this.#processes.filter(({ isRunning }) => isRunning)[0];
    if (fault === "stop") void process?.stop();
    if (fault === "kill") process?.kill();
    this.#start();
  }

  readonly #sent: { readonly messageId: string; readonly user: string }[] = [];

  #append(): void {
    const messageId = `m${this.#sent.length}`;
    const user = `u${this.#random.integer(0, 3)}`;
    this.#sent.push({ messageId, user });
    const call = { type: "track", userId: user, event: "Signed Up", messageId };
    const value = Buffer.from(JSON.stringify(call));
    this.#cluster.append({ topic: topics.calls, key: Buffer.from(user), value, headers: [] });
  }

  /** What `switchyard resume` writes. */
  #resume(): void {
    const { operatorActions } = topics;
    for (const { id, endpoints } of this.#destinations)
      for (const { key } of endpoints)
        this.#cluster.append(forgetRecord(operatorActions, goneKey(id, key)));
  }

  #judgeRequests({ id, endpoints }: WebhookDestination): void {
    const resumedMs = this.#startMs + RESUMED_AT_MS;
    for (const { key } of endpoints) {
      const goneMs = this.#goneMs(id, key);
      if (goneMs === null) continue;
      this.gone += 1;
      for (const { messageId } of this.#sent)
        for (const { endpoint, atMs } of this.#ledger.entry(messageId, id).requests)
          if (endpoint === key && atMs > goneMs + NEWS_MS && atMs < resumedMs)
            this.#found.push(`${messageId} was sent to ${id} ${atMs - goneMs} ms after its end`);
    }
  }

  /** When the first record that the endpoint is gone was written; null if there is none. */
  #goneMs(destination: DestinationId, endpoint: EndpointKey): number | null {
    for (const record of this.#cluster.records(topics.operatorActions)) {
      const read = readOperatorAction(record);
      if (read.kind !== "gone" || read.gone.destination !== destination) continue;
      if (read.gone.endpoint === endpoint) return record.timestampMs;
    }
    return null;
  }

  #judgeCalls(destination: WebhookDestination): void {
    const { id, endpoints } = destination;
    const last = new Map<string, number>();
    for (const { messageId, user } of this.#sent) {
      const entry = this.#ledger.entry(messageId, id);
      if (!isSettled(entry, recipientOf(destination)))
        this.#found.push(`${messageId} for ${id} is lost`);
      const accepted = entry.requests.filter(isAccepted);
      if (accepted.length === 0 || endpoints.length > 1) continue;
      const firstMs = Math.min(...accepted.map(({ atMs }) => atMs));
      if (firstMs < (last.get(user) ?? 0))
        this.#found.push(`${messageId} for ${id} came before an earlier call of ${user}`);
      last.set(user, firstMs);
    }
  }

  #readDeadLetters(): void {
    for (const record of this.#cluster.records(topics.deadLetters)) {
      const texts = headerTexts(record);
      const { destination, endpoint, messageId } = DELIVERY_HEADER;
      this.#ledger.entry(texts[messageId] ?? "", texts[destination] ?? "").deadLetters.push({
        endpoint: (texts[endpoint]?.split(",")[1] ?? null) as EndpointKey | null,
        reason: texts[DEAD_LETTER_HEADER.reason] as DeadLetterReason,
        atMs: record.timestampMs,
      });
    }
  }
}
