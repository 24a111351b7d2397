/**
 * The work on one destination: which delivery is attempted when, and what follows. Pure but for its
 * ports: simulations run it on a manual clock.
 *
 *   a delivery                     then
 *   taken                          waits for its key, for room under `concurrency`, for its pace
 *   starts                         `plan.ts` decides: attempt, park or dead letter
 *   is attempted                   all its requests run to their end; `decide.ts` decides
 *   accepted                       its offset is finished at once
 *   replaced by other records      its offset is finished when they are acknowledged; its key and
 *                                  its room are free before that
 *   on a partition that is drained not started any more; what is under way goes on to its end
 */

import { type Delivery, parseDelivery } from "../domain/delivery.ts";
import type { Endpoint, WebhookDestination } from "../domain/destination.ts";
import type { EndpointKey } from "../domain/ids.ts";
import type { IncomingRecord } from "../domain/record.ts";
import type { EndpointConnections, HttpResult } from "./attempt.ts";
import { type Decision, decide, type EndpointResult } from "./decide.ts";
import { judge } from "./outcome.ts";
import { createPace, type Pace } from "./pace.ts";
import type { RetryPolicy } from "./park.ts";
import { type Plan, plan } from "./plan.ts";
import { type LetterTopics, letter, type Replacement, replacement } from "./replacement.ts";
import { requestTo, sharedRequest } from "./request.ts";
import { createSchedule } from "./schedule.ts";
import { parseWebhook, roundsIntegers } from "./webhook.ts";

/** Most deliveries parked without an attempt; SPEC section 8.6. */
const PARKED_PER_SECOND = 1_000;

export interface Attempted {
  /** As planned: the attempts made before this one. */
  readonly delivery: Delivery;
  readonly results: readonly EndpointResult[];
  readonly decision: Decision;
  readonly endedAtMs: number;
}

export interface WorkPorts {
  readonly nowMs: () => number;
  /** Calls back after so many milliseconds, unless the work is over. */
  readonly after: (ms: number, then: () => void) => void;
  readonly connections: EndpointConnections;
  /** Resolves when all are acknowledged; rejects when that cannot happen any more. */
  readonly write: (replacements: readonly Replacement[]) => Promise<void>;
  readonly onStart: () => void;
  readonly onAttempted: (attempted: Attempted) => void;
  readonly onRounded: () => void;
}

export interface OwnedPartition {
  finish(offset: number): void;
}

export interface PartitionWork {
  take(records: readonly IncomingRecord[]): void;
  /** Starts nothing more; resolves when what is under way has been finished. */
  drain(): Promise<void>;
}

interface Owner {
  readonly partition: OwnedPartition;
  /** Deliveries started and not finished. */
  underWay: number;
  isDraining: boolean;
  onIdle: (() => void)[];
}

interface Item {
  readonly owner: Owner;
  readonly key: string | null;
  readonly record: IncomingRecord;
}

interface Attempt {
  readonly item: Item;
  readonly delivery: Delivery;
  readonly results: EndpointResult[];
  pending: number;
}

export class DestinationWork {
  readonly #destination: WebhookDestination;
  readonly #policy: RetryPolicy;
  readonly #topics: LetterTopics;
  readonly #ports: WorkPorts;
  readonly #endpointKeys: readonly EndpointKey[];
  readonly #schedule = createSchedule<Item>();
  readonly #requestPace: Pace;
  readonly #parkPace = createPace(PARKED_PER_SECOND);
  readonly #heldUntilMs = new Map<EndpointKey, number>();
  #inFlight = 0;
  /** Next in turn, but its pace makes it wait. */
  #paced: Item | undefined;
  #isWaiting = false;

  constructor(
    destination: WebhookDestination,
    policy: RetryPolicy,
    topics: LetterTopics,
    ports: WorkPorts,
  ) {
    this.#destination = destination;
    this.#policy = policy;
    this.#topics = topics;
    this.#ports = ports;
    this.#endpointKeys = destination.endpoints.map(({ key }) => key);
    this.#requestPace = createPace(destination.requestsPerSecond);
  }

  /** Works on a partition for the time that this process owns it. */
  own(partition: OwnedPartition): PartitionWork {
    const owner: Owner = { partition, underWay: 0, isDraining: false, onIdle: [] };
    return {
      take: (records) => {
        if (owner.isDraining) return;
        for (const record of records) {
          this.#schedule.add({ owner, key: record.key?.toString("latin1") ?? null, record });
        }
        this.#pump();
      },
      drain: () => {
        owner.isDraining = true;
        this.#schedule.drop(owner);
        if (owner.underWay === 0) return Promise.resolve();
        return new Promise((resolve) => owner.onIdle.push(resolve));
      },
    };
  }

  #pump(): void {
    while (!this.#isWaiting && this.#inFlight < this.#destination.concurrency) {
      const item = this.#paced ?? this.#schedule.next();
      if (item === undefined) return;
      this.#paced = undefined;
      if (!item.owner.isDraining) this.#consider(item);
    }
  }

  #consider(item: Item): void {
    const { record } = item;
    const nowMs = this.#ports.nowMs();
    const parsed = parseDelivery(record.headers);
    if (parsed.kind === "invalid") {
      this.#replace(item, [letter(record, "invalid-call", parsed.error, this.#topics, nowMs)]);
      return;
    }
    const planned = plan(parsed.delivery, this.#destination, this.#policy, nowMs, (key) =>
      this.#heldUntil(key),
    );
    if (planned.kind === "attempt") {
      if (this.#goes(item, this.#requestPace, planned.endpoints.length, nowMs)) {
        this.#start(item, planned, nowMs);
      }
    } else if (planned.kind === "dead-letter" || this.#goes(item, this.#parkPace, 1, nowMs)) {
      this.#replace(item, [replacement(planned, record, this.#topics, nowMs)]);
    }
  }

  /** Whether its pace lets an item go now; else it waits, and all others with it. */
  #goes(item: Item, pace: Pace, count: number, nowMs: number): boolean {
    const waitMs = pace.waitMs(nowMs);
    if (waitMs === 0) {
      pace.take(nowMs, count);
      return true;
    }
    this.#paced = item;
    this.#isWaiting = true;
    this.#ports.after(waitMs, () => {
      this.#isWaiting = false;
      this.#pump();
    });
    return false;
  }

  #start(item: Item, planned: Extract<Plan, { kind: "attempt" }>, nowMs: number): void {
    const { record } = item;
    const parsed = parseWebhook(record.value);
    if (parsed.kind === "refused") {
      const { reason, error } = parsed;
      const output = { kind: "dead-letter", reason, error, delivery: planned.delivery } as const;
      this.#replace(item, [replacement(output, record, this.#topics, nowMs)]);
      return;
    }
    const { delivery, endpoints, held } = planned;
    if (delivery.attempt === 0 && record.value !== null && roundsIntegers(record.value)) {
      this.#ports.onRounded();
    }
    this.#inFlight += 1;
    item.owner.underWay += 1;
    this.#ports.onStart();
    const results: EndpointResult[] = held.map(({ key }) => ({
      endpoint: key,
      result: { kind: "held", untilMs: this.#heldUntil(key) },
    }));
    const attempt: Attempt = { item, delivery, results, pending: endpoints.length };
    const shared = sharedRequest(this.#destination, parsed.webhook, delivery, nowMs);
    for (const endpoint of endpoints) {
      this.#ports.connections.send(endpoint, requestTo(endpoint, shared), (result) =>
        this.#answered(attempt, endpoint, result),
      );
    }
  }

  #answered(attempt: Attempt, { key }: Endpoint, result: HttpResult): void {
    attempt.results.push({ endpoint: key, result });
    attempt.pending -= 1;
    if (attempt.pending > 0) return;
    const { item, delivery, results } = attempt;
    const endedAtMs = this.#ports.nowMs();
    this.#hold(results, endedAtMs);
    const configured = delivery.endpoint === null ? this.#endpointKeys : [delivery.endpoint];
    const decision = decide(
      delivery,
      this.#destination.deliver,
      configured,
      results,
      this.#policy,
      endedAtMs,
    );
    this.#inFlight -= 1;
    this.#ports.onAttempted({ delivery, results, decision, endedAtMs });
    const { outputs } = decision;
    if (outputs.length === 0) {
      this.#schedule.end(item);
      this.#finish(item);
    } else {
      item.owner.underWay -= 1;
      this.#replace(
        item,
        outputs.map((output) => replacement(output, item.record, this.#topics, endedAtMs)),
      );
    }
    this.#pump();
  }

  /** An endpoint that asks to be left alone is, by its other deliveries too. */
  #hold(results: readonly EndpointResult[], nowMs: number): void {
    for (const { endpoint, result } of results) {
      if (result.kind !== "response") continue;
      const outcome = judge(result, nowMs);
      const askedMs = outcome.kind === "retry" ? (outcome.retryAfterMs ?? 0) : 0;
      if (askedMs === 0) continue;
      const untilMs = nowMs + Math.min(askedMs, this.#policy.windowMs);
      this.#heldUntilMs.set(endpoint, Math.max(untilMs, this.#heldUntil(endpoint)));
    }
  }

  #heldUntil(endpoint: EndpointKey): number {
    return this.#heldUntilMs.get(endpoint) ?? 0;
  }

  /** Other records take the delivery's place. Its key goes on: it is out of the way. */
  #replace(item: Item, replacements: readonly Replacement[]): void {
    item.owner.underWay += 1;
    this.#schedule.end(item);
    this.#ports.write(replacements).then(
      () => this.#finish(item),
      () => this.#leave(item.owner),
    );
  }

  #finish({ owner, record }: Item): void {
    owner.partition.finish(record.offset);
    this.#leave(owner);
  }

  #leave(owner: Owner): void {
    owner.underWay -= 1;
    if (owner.underWay > 0) return;
    for (const then of owner.onIdle.splice(0)) then();
  }
}
