/**
 * The destinations of a simulated world whose order is strict, what operators and reloads do to them, and the laws:
 *
 *   law         is broken if
 *   inversion   a delivery is first attempted before an earlier one of its key is settled: accepted, dead-lettered or, if
 *               dead letters hold their key, canceled
 *   left        a delivery is first accepted after a later one of its key, by a request that was made after the later one
 *               was attempted
 *   blocked     in the end, deliveries of a key wait, and not for a dead letter that holds the key
 *
 * The sequence of a key is that of the destination's queue. A call that the route stage wrote twice counts where it was
 * written first. Deliveries that were in the queue while a process had other settings, in which the order is loose, are
 * not judged.
 *
 * In rough weather, processes are also killed around the writes about an order.
 */

import { DEAD_LETTER_HEADER } from "../../src/domain/dead-letter.ts";
import { DELIVERY_HEADER } from "../../src/domain/delivery.ts";
import type { OutgoingRecord } from "../../src/domain/record.ts";
import {
  type EarlyReleaseKind,
  earlyReleaseRecord,
  pauseRecord,
  resumeRecord,
} from "../../src/router/control/operator-actions.ts";
import type { WebhookDestination } from "../../src/router/destinations/webhook/settings.ts";
import {
  Facts,
  orderKey,
  PLACE_HEADER,
  queuePlaceOf,
  readFact,
} from "../../src/router/order/facts.ts";
import { headerTexts } from "../support/build/calls.ts";
import type { ManualClock } from "../support/clock/manual-clock.ts";
import type { Prng } from "../support/clock/prng.ts";
import type { MemoryCluster } from "../support/memory-kafka/memory-kafka.ts";
import {
  acceptedMs,
  type Entry,
  type Exposure,
  isAccepted,
  type Ledger,
} from "../support/worlds/ledger.ts";
import { MINUTE_MS, recipientOf, SECOND_MS, topics } from "./setup.ts";

const NEVER = Number.POSITIVE_INFINITY;
const PARTITIONS = 2;
/** After settings are restored, a process drains, joins again, and copies without a place may still be attempted. */
const AFTER_LOOSE_MS = MINUTE_MS;

/** For each write about an order, before it and after it. */
const STEP_KILL = 0.05;

/** The first place of a call in the queue. */
interface Queued {
  readonly messageId: string;
  readonly partition: number;
  readonly offset: number;
  readonly key: string;
  readonly atMs: number;
}

export function withOrders(
  destinations: readonly WebhookDestination[],
  random: Prng,
): readonly WebhookDestination[] {
  if (random.chance(0.3)) return destinations;
  return destinations.map((each) => {
    if (random.chance(0.3)) return each;
    return {
      ...each,
      order: "strict",
      onDeadLetter: random.pick(["continue", "continue", "hold"]),
    };
  });
}

export class StrictOrders {
  readonly #clock: ManualClock;
  readonly #cluster: MemoryCluster;
  readonly #ledger: Ledger;
  readonly random: Prng;
  readonly #destinations: readonly WebhookDestination[];
  /** By destination: when it was perhaps loose. */
  readonly #loose = new Map<string, Exposure[]>();
  /** Destinations whose dead letters held their key for a while only. */
  readonly #heldForAWhile = new Set<string>();
  readonly #released = new Set<`${EarlyReleaseKind} ${string}`>();
  /** The number of processes that may still be killed around writes. */
  stepKills = 0;
  #killUntilMs = 0;
  /** By destination and partition of the queue. Replaced by `read`. */
  #facts = new Map<string, readonly Facts[]>();
  #queued = new Map<string, ReadonlyMap<string, Queued>>();

  constructor(
    clock: ManualClock,
    cluster: MemoryCluster,
    ledger: Ledger,
    random: Prng,
    destinations: readonly WebhookDestination[],
  ) {
    this.#clock = clock;
    this.#cluster = cluster;
    this.#ledger = ledger;
    this.random = random;
    this.#destinations = destinations.filter(({ order }) => order === "strict");
    if (!this.areThere) return;
    for (const { id } of this.#destinations) cluster.createTopic(topics.order(id), 1);
    cluster.createTopic(topics.operatorActions, 1);
  }

  get areThere(): boolean {
    return this.#destinations.length > 0;
  }

  isStrict(id: string): boolean {
    return this.#destinations.some((each) => each.id === id);
  }

  /**
   * Operators pause and resume destinations, and cancel and retry their deliveries.
   *
   * @param isRough true if processes are also killed around writes.
   */
  plan(forMs: number, isRough: boolean): void {
    const { random } = this;
    this.#killUntilMs = this.#clock.nowMs() + forMs;
    this.stepKills = isRough && this.areThere ? random.pick([0, 1, 4]) : 0;
    for (const { id } of this.#destinations) {
      for (let count = random.pick([0, 0, 1, 3]); count > 0; count -= 1) {
        const act = random.pick(["pause", "cancel", "retry", "retry"] as const);
        this.#clock.schedule(random.integer(0, forMs), () => {
          if (act === "pause") this.#pause(id, random.integer(1, 1_200) * SECOND_MS);
          else this.#release(act, id);
        });
      }
    }
  }

  /** True if the process is killed now, before or after it writes these records. */
  killsAt(records: readonly OutgoingRecord[]): boolean {
    if (this.stepKills === 0 || this.#clock.nowMs() > this.#killUntilMs) return false;
    const isAboutOrder = ({ topic, headers }: OutgoingRecord) =>
      this.#destinations.some(({ id }) => topic === topics.order(id)) ||
      headers.some(([name]) => name === PLACE_HEADER);
    if (!records.some(isAboutOrder) || !this.random.chance(STEP_KILL)) return false;
    this.stepKills -= 1;
    return true;
  }

  /** What a reload changes for a while. */
  changed(destination: WebhookDestination): WebhookDestination {
    const { random } = this;
    if (!this.isStrict(destination.id)) return destination;
    const { id, onDeadLetter } = destination;
    const to = random.pick(["same", "same", "loose", "other"] as const);
    if (to === "loose") {
      const times = this.#loose.get(id) ?? [];
      this.#loose.set(id, [...times, { fromMs: this.#clock.nowMs(), toMs: NEVER }]);
      return { ...destination, order: "loose", onDeadLetter: "continue" };
    }
    if (to === "same") return destination;
    this.#heldForAWhile.add(id);
    return { ...destination, onDeadLetter: onDeadLetter === "hold" ? "continue" : "hold" };
  }

  /** Call when the settings have been restored. */
  restored(): void {
    const toMs = this.#clock.nowMs() + AFTER_LOOSE_MS;
    for (const [id, times] of this.#loose)
      this.#loose.set(
        id,
        times.map((each) => ({ ...each, toMs: Math.min(each.toMs, toMs) })),
      );
  }

  /** Reads the queues and the facts. */
  read(): void {
    for (const { id } of this.#destinations) {
      const facts = Array.from({ length: PARTITIONS }, () => new Facts());
      for (const record of this.#cluster.records(topics.order(id))) {
        const read = readFact(record);
        if (read !== null)
          facts[Number(read.line.split(":").at(-1))]?.apply(read.fact, read.isThere);
      }
      this.#facts.set(id, facts);
      const queued = new Map<string, Queued>();
      for (const record of this.#cluster.records(topics.deliveries(id))) {
        const key = orderKey(record);
        const messageId = headerTexts(record)[DELIVERY_HEADER.messageId] ?? "";
        if (key === null || queuePlaceOf(record) !== null || queued.has(messageId)) continue;
        const { partition, offset, timestampMs: atMs } = record;
        queued.set(messageId, { messageId, partition, offset, key, atMs });
      }
      this.#queued.set(id, queued);
    }
  }

  /** True if the delivery waits for a dead letter that holds its key. */
  readonly isHeld = (messageId: string, id: string): boolean => {
    const queued = this.#queued.get(id)?.get(messageId);
    if (queued === undefined) return false;
    const { key, partition, offset } = queued;
    const { head = null } = this.#facts.get(id)?.[partition]?.known(key) ?? {};
    return head !== null && head < offset && this.#isHolding(id, partition, head);
  };

  /** True if what an operator did explains the violation of another law. */
  isExplained({ messageId, destination: id }: Entry, sentence: string): boolean {
    if (sentence.endsWith("it is lost")) return this.isHeld(messageId, id);
    if (/attempt \d+ came less than/.test(sentence)) return this.#released.has(`retry ${id}`);
    return (
      /it became a dead letter as cancelled$/.test(sentence) && this.#released.has(`cancel ${id}`)
    );
  }

  violations(): string[] {
    return this.#destinations.flatMap((destination) => {
      const queued = [...(this.#queued.get(destination.id)?.values() ?? [])];
      const keys = Map.groupBy(queued, ({ partition, key }) => `${partition}/${key}`);
      const judged = [...keys.values()].flatMap((ofKey) => {
        const sorted = ofKey.toSorted((one, other) => one.offset - other.offset);
        const strict = sorted.filter((each) => !this.#wasLoose(destination, each));
        return [...this.#inversions(destination, strict), ...this.#left(destination, strict)];
      });
      return [...judged, ...this.#blocked(destination.id)];
    });
  }

  #inversions(destination: WebhookDestination, ofKey: readonly Queued[]): string[] {
    const { id } = destination;
    let settledMs = 0;
    let before = "";
    return ofKey.flatMap(({ messageId }) => {
      const entry = this.#ledger.entry(messageId, id);
      const firstMs = entry.requests[0]?.atMs ?? NEVER;
      const isEarly = firstMs < settledMs;
      const ownMs = this.#settledMs(destination, entry);
      const settledBefore = before;
      // Suppressed deliveries end without a trace.
      const counts = ownMs < NEVER || !messageId.startsWith("canary");
      if (counts && ownMs > settledMs) [settledMs, before] = [ownMs, messageId];
      return isEarly
        ? [`${messageId} for ${id} was attempted before ${settledBefore} was settled`]
        : [];
    });
  }

  #left({ id }: WebhookDestination, ofKey: readonly Queued[]): string[] {
    let laterMs = NEVER;
    let laterAcceptedMs = NEVER;
    return ofKey.toReversed().flatMap(({ messageId }) => {
      const { requests } = this.#ledger.entry(messageId, id);
      const [first] = requests.filter(isAccepted).toSorted((a, b) => a.endAtMs - b.endAtMs);
      const { endAtMs = NEVER, atMs = NEVER } = first ?? {};
      const isLeft = first !== undefined && endAtMs > laterAcceptedMs && atMs > laterMs;
      laterAcceptedMs = Math.min(laterAcceptedMs, endAtMs);
      laterMs = Math.min(laterMs, requests[0]?.atMs ?? NEVER);
      return isLeft ? [`${messageId} for ${id} was accepted after a later one`] : [];
    });
  }

  #blocked(id: string): string[] {
    return (this.#facts.get(id) ?? []).flatMap((facts, partition) =>
      [...facts.keys()].flatMap((key) => {
        const { head, waiting } = facts.known(key);
        if (head === null && waiting.length === 0) return [];
        if (head !== null && this.#isHolding(id, partition, head)) return [];
        return [`a user of ${id} is blocked by ${partition}/${head ?? waiting[0]}`];
      }),
    );
  }

  /** When the delivery let the next one follow. */
  #settledMs(destination: WebhookDestination, { requests, deadLetters }: Entry): number {
    const { id, onDeadLetter } = destination;
    const holds = onDeadLetter === "hold" && !this.#heldForAWhile.has(id);
    const dead = deadLetters.filter(({ reason }) => !holds || reason === "cancelled");
    return Math.min(
      acceptedMs(requests, recipientOf(destination)),
      ...dead.map(({ atMs }) => atMs),
    );
  }

  #wasLoose(destination: WebhookDestination, { messageId, atMs }: Queued): boolean {
    const endMs = this.#settledMs(destination, this.#ledger.entry(messageId, destination.id));
    const times = this.#loose.get(destination.id) ?? [];
    return times.some(({ fromMs, toMs }) => atMs < toMs && endMs > fromMs);
  }

  /** True if the delivery at this place is a dead letter that holds its key. */
  #isHolding(id: string, partition: number, offset: number): boolean {
    return this.#cluster.records(topics.deadLetters).some((record) => {
      const place = queuePlaceOf(record);
      if (!place?.line.endsWith(`:${partition}`) || place.offset !== offset) return false;
      const texts = headerTexts(record);
      const isCancelled = texts[DEAD_LETTER_HEADER.reason] === "cancelled";
      return texts[DELIVERY_HEADER.destination] === id && !isCancelled;
    });
  }

  #pause(destination: WebhookDestination["id"], forMs: number): void {
    const pause = { destination, sinceMs: this.#clock.nowMs(), by: "command", untilMs: null };
    this.#cluster.append(pauseRecord(topics.operatorActions, pause));
    this.#clock.schedule(forMs, () => {
      this.#cluster.append(resumeRecord(topics.operatorActions, destination));
    });
  }

  #release(kind: EarlyReleaseKind, destination: WebhookDestination["id"]): void {
    const atMs = this.#clock.nowMs();
    const receivedBeforeMs = kind === "cancel" ? atMs : null;
    const release = { kind, destination, id: `r-${atMs}`, atMs, by: "command", receivedBeforeMs };
    this.#released.add(`${kind} ${destination}`);
    this.#cluster.append(earlyReleaseRecord(topics.operatorActions, release));
  }
}
