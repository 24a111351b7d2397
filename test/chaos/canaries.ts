/**
 * Users who are suppressed and lifted during a run, while their calls are queued, in batches, on hold, awaiting retry and
 * dead-lettered. All the time, some of their dead letters are replayed: while the user is suppressed, before that and after
 * it. At the end, all users are lifted, and dead letters of some of their calls are replayed once more.
 *
 * `canary-laws.ts` judges what happened. All other laws are about other users.
 */

import { setTimeout as sleep } from "node:timers/promises";
import type { IncomingRecord, OutgoingRecord } from "../../src/domain/record.ts";
import type { Kafka, Producer } from "../../src/kafka/port.ts";
import { readDeadLetter } from "../../src/operator/replay/dead-letter-record.ts";
import { liftRecord, suppressionRecord } from "../../src/router/suppression/suppression-record.ts";
import type { Prng } from "../support/clock/prng.ts";
import {
  BOUND_MS,
  type CanaryCall,
  type CanaryDeadLetter,
  type CanaryReplay,
  canaryViolations,
  type Period,
} from "./canary-laws.ts";
import { replayDeadLettersOf } from "./canary-replays.ts";
import type { ReceivedRequest } from "./receiver.ts";
import { type ChaosDestination, topics } from "./setup.ts";
import type { Exposure } from "./violation.ts";

const PREFIX = "canary-";
const USERS = ["canary-a", "canary-b", "canary-c", "canary-d"];
/** Dead letters of at most this many calls are replayed together. */
const REPLAYED_CALLS = 20;
/** Only dead letters of this time are replayed, because each replay reads all of them. */
const REPLAYED_MS = 60_000;

/** True if a call belongs to one of these users. */
export function isCanary(messageId: string | null | undefined): boolean {
  return messageId?.startsWith(PREFIX) === true;
}

export class Canaries {
  readonly #destinations: readonly ChaosDestination[];
  readonly #config: string;
  readonly #calls: CanaryCall[] = [];
  readonly #requests = new Map<string, ReceivedRequest[]>();
  readonly #deadLetters = new Map<string, CanaryDeadLetter[]>();
  readonly #periods = new Map<string, Period[]>();
  readonly #replayed = { sent: 0, suppressed: 0 };
  #lastReplay: CanaryReplay = { messageIds: [], sinceMs: 0, atMs: 0 };

  /** @param config the programs' configuration. */
  constructor(destinations: readonly ChaosDestination[], config: string) {
    this.#destinations = destinations;
    this.#config = config;
  }

  requested(request: ReceivedRequest): void {
    add(this.#requests, request.messageId, request);
  }

  /** Takes a record of any topic. */
  read(record: IncomingRecord): void {
    if (record.topic !== topics.deadLetters) return;
    const { messageId, destination, endpoint, failedAtMs } = readDeadLetter(record, topics);
    if (messageId === null || !isCanary(messageId)) return;
    const key = endpoint?.split(",")[1];
    const paths = this.#destinations
      .filter(({ id }) => id === destination)
      .flatMap(({ endpoints }) => endpoints)
      .filter((each) => key === undefined || each.key === key)
      .map(({ path }) => path);
    add(this.#deadLetters, messageId, { paths, failedAtMs });
  }

  /** Sends calls, suppresses and lifts users, and replays dead letters, until the signal aborts. */
  async live(kafka: Kafka, random: Prng, stop: AbortSignal): Promise<void> {
    const producer = kafka.producer();
    await Promise.all([
      this.#sendCalls(producer, random.fork(), stop),
      this.#replay(kafka, random.fork(), stop),
      ...USERS.map((user) => this.#suppressAndLift(user, producer, random.fork(), stop)),
    ]);
    await sleep(BOUND_MS);
    for (const user of USERS) await this.#send(producer, user);
    this.#lastReplay = this.#someRejected(random);
    await this.#replayOf(kafka, this.#lastReplay, true);
  }

  /** @param exposures the times in which faults kept programs from reading. */
  violations(exposures: readonly Exposure[]): readonly string[] {
    const evidence = {
      ...{ calls: this.#calls, requests: this.#requests, deadLetters: this.#deadLetters },
      ...{ periods: this.#periods, lastReplay: this.#lastReplay },
    };
    return canaryViolations(evidence, exposures);
  }

  /** How much was tested, in a sentence. */
  summary(): string {
    const held = this.#calls.filter(({ messageId }) => !this.#requests.has(messageId)).length;
    const periods = [...this.#periods.values()].flat().length;
    const { sent, suppressed } = this.#replayed;
    return (
      `${this.#calls.length} calls of users who were suppressed ${periods} times, ${held} of them never sent; ` +
      `${sent} of their dead letters replayed, and ${suppressed} skipped while the user was suppressed`
    );
  }

  async #sendCalls(producer: Producer, random: Prng, stop: AbortSignal): Promise<void> {
    while (!stop.aborted) {
      await this.#send(producer, random.pick(USERS));
      await sleep(random.integer(50, 300));
    }
  }

  async #replay(kafka: Kafka, random: Prng, stop: AbortSignal): Promise<void> {
    while (!stop.aborted) {
      await pause(random.integer(1_000, 8_000), stop);
      await this.#replayOf(kafka, this.#someRejected(random), false);
    }
  }

  async #replayOf(kafka: Kafka, replay: CanaryReplay, includeReplayed: boolean): Promise<void> {
    if (replay.messageIds.length === 0) return;
    const counts = await replayDeadLettersOf(kafka, this.#config, replay, includeReplayed);
    this.#replayed.sent += counts.sent;
    this.#replayed.suppressed += counts.suppressed;
  }

  #someRejected(random: Prng): CanaryReplay {
    const atMs = Date.now();
    const sinceMs = atMs - REPLAYED_MS;
    const isRejected = (request: ReceivedRequest) =>
      request.status === 400 && request.atMs >= sinceMs;
    const rejected = [...this.#requests].flatMap(([messageId, requests]) =>
      requests.some(isRejected) ? [messageId] : [],
    );
    return { messageIds: random.shuffle(rejected).slice(0, REPLAYED_CALLS), sinceMs, atMs };
  }

  async #suppressAndLift(
    user: string,
    producer: Producer,
    random: Prng,
    stop: AbortSignal,
  ): Promise<void> {
    while (!stop.aborted) {
      await pause(random.integer(1_000, 8_000), stop);
      const suppression = { userId: user, suppressedAtMs: Date.now(), reason: null };
      await producer.send([suppressionRecord(topics.suppressions, suppression)]);
      const fromMs = Date.now();
      await pause(random.integer(BOUND_MS, 2 * BOUND_MS), stop);
      // From the start of this write on, the user may be lifted.
      add(this.#periods, user, { fromMs, toMs: Date.now() });
      await producer.send([liftRecord(topics.suppressions, user)]);
    }
  }

  async #send(producer: Producer, user: string): Promise<void> {
    const messageId = `${PREFIX}${this.#calls.length + 1}`;
    const call = { type: "track", messageId, userId: user, event: "Order Completed" };
    const record: OutgoingRecord = {
      topic: topics.calls,
      key: Buffer.from(user),
      value: Buffer.from(JSON.stringify(call)),
      headers: [],
    };
    this.#calls.push({ messageId, user, atMs: Date.now() });
    await producer.send([record]);
  }
}

function add<Item>(to: Map<string, Item[]>, key: string, item: Item): void {
  to.set(key, [...(to.get(key) ?? []), item]);
}

function pause(ms: number, stop: AbortSignal): Promise<void> {
  return sleep(ms, undefined, { signal: stop }).catch(() => undefined);
}
