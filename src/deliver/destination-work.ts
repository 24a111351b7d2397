/**
 * The work on one destination: which delivery is attempted when, and what follows. Pure but for its
 * ports: simulations run it on a manual clock.
 *
 *   a delivery                     then
 *   taken                          waits for its key, for room under `concurrency`, for its rate
 *   starts                         `plan.ts` decides: attempt, park or dead letter
 *   is attempted                   all its requests run to their end; `decide.ts` decides
 *   accepted                       its offset is finished at once
 *   replaced by other records      its offset is finished when they are acknowledged; its key and
 *                                  its room are free before that
 *   on a partition that is drained not started any more; what is under way goes on to its end
 */

import assert from "node:assert/strict";

import { type Delivery, readDelivery } from "../domain/delivery.ts";
import type { Endpoint, WebhookDestination } from "../domain/destination.ts";
import type { EndpointKey } from "../domain/ids.ts";
import { createRateLimiter, type RateLimiter } from "../domain/rate-limit.ts";
import type { IncomingRecord } from "../domain/record.ts";
import type { HttpResult } from "./attempt.ts";
import type { Ticket } from "./breaker.ts";
import { decide, type EndpointResult } from "./decide.ts";
import { EndpointGates } from "./endpoint-gates.ts";
import type { RetryPolicy } from "./park.ts";
import { type Plan, plan } from "./plan.ts";
import { type LetterTopics, letter, type Replacement, replacement } from "./replacement.ts";
import { requestTo, sharedRequest } from "./request.ts";
import { createSchedule } from "./schedule.ts";
import { parseWebhook, roundsIntegers } from "./webhook.ts";
import type { OwnedPartition, PartitionWork, WorkPorts } from "./work-ports.ts";

/** Most deliveries parked without an attempt; SPEC section 8.6. */
const PARKED_PER_SECOND = 1_000;
/** Far below what is kept free of the window for a last attempt (`park.ts`). */
const RELEASE_EVERY_MS = 500;

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
  behind: Item | null;
  after: Item | null;
}

interface Attempt {
  readonly item: Item;
  readonly delivery: Delivery;
  readonly results: EndpointResult[];
  pending: number;
}

type PlannedAttempt = Extract<Plan, { kind: "attempt" }>;

export class DestinationWork {
  readonly #destination: WebhookDestination;
  readonly #policy: RetryPolicy;
  readonly #topics: LetterTopics;
  readonly #ports: WorkPorts;
  readonly #endpointKeys: readonly EndpointKey[];
  readonly #gates: EndpointGates<Item>;
  readonly #schedule = createSchedule<Item>();
  readonly #requestRate: RateLimiter | null;
  readonly #parkRate = createRateLimiter(PARKED_PER_SECOND);
  #inFlight = 0;
  #partitions = 0;
  /** Next in turn, but a rate makes it wait. */
  #limited: Item | undefined;
  #isWaiting = false;
  #isReleasing = false;

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
    const { concurrency, requestsPerSecond } = destination;
    const limits = { concurrency, windowMs: policy.windowMs };
    this.#gates = new EndpointGates(this.#endpointKeys, limits, ports.onBreaker);
    this.#requestRate = requestsPerSecond === null ? null : createRateLimiter(requestsPerSecond);
  }

  /** Works on a partition for the time that this process owns it. */
  own(partition: OwnedPartition): PartitionWork {
    const owner: Owner = { partition, underWay: 0, isDraining: false, onIdle: [] };
    this.#owns(1);
    return {
      take: (records) => {
        if (owner.isDraining) return;
        for (const record of records) {
          const key = record.key?.toString("latin1") ?? null;
          this.#schedule.add({ owner, key, record, behind: null, after: null });
        }
        this.#pump();
      },
      drain: () => {
        if (!owner.isDraining) this.#owns(-1);
        owner.isDraining = true;
        this.#schedule.drop(owner);
        if (owner.underWay === 0) return Promise.resolve();
        return new Promise((resolve) => owner.onIdle.push(resolve));
      },
    };
  }

  /** The rate is the destination's: this process has the share of the partitions that it owns. */
  #owns(change: 1 | -1): void {
    this.#partitions += change;
    const { requestsPerSecond } = this.#destination;
    if (requestsPerSecond === null || this.#partitions === 0) return;
    const share = Math.min(1, this.#partitions / this.#ports.partitions);
    this.#requestRate?.setRate(requestsPerSecond * share);
  }

  /** Endpoints that are left alone by their breakers now. */
  openEndpoints(): readonly EndpointKey[] {
    return this.#gates.openEndpoints();
  }

  #pump(): void {
    while (!this.#isWaiting && this.#inFlight < this.#destination.concurrency) {
      const item = this.#limited ?? this.#gates.released() ?? this.#schedule.next();
      if (item === undefined) return;
      this.#limited = undefined;
      if (!item.owner.isDraining) this.#consider(item);
    }
  }

  #consider(item: Item): void {
    const { record } = item;
    const nowMs = this.#ports.nowMs();
    const parsed = readDelivery(record);
    if (parsed.kind === "invalid") {
      this.#replace(item, [letter(record, "invalid-call", parsed.error, this.#topics, nowMs)]);
      return;
    }
    const gates = this.#gates.at(nowMs);
    const planned = plan(parsed.delivery, this.#destination, this.#policy, nowMs, gates);
    if (planned.kind === "attempt") {
      this.#considerAttempt(item, planned, nowMs);
    } else if (planned.kind === "dead-letter" || this.#goes(item, this.#parkRate, 1, nowMs)) {
      this.#replace(item, [replacement(planned, record, this.#topics, nowMs)]);
    }
  }

  #considerAttempt(item: Item, planned: PlannedAttempt, nowMs: number): void {
    const { endpoints, urgency } = planned;
    const mustWait = ({ key }: Endpoint) => this.#gates.mustWait(key);
    const [first] = endpoints;
    if (urgency !== "last" && first !== undefined && endpoints.every(mustWait)) {
      this.#gates.wait(first.key, item, planned.lastAfterMs);
      this.#releaseInTime();
    } else if (this.#goes(item, this.#requestRate, endpoints.length, nowMs)) {
      this.#start(item, planned, nowMs);
    }
  }

  /** Looks after those that wait at gates, for as long as there are any. */
  #releaseInTime(): void {
    if (this.#isReleasing) return;
    this.#isReleasing = true;
    this.#ports.after(RELEASE_EVERY_MS, () => {
      this.#isReleasing = false;
      if (this.#gates.release(this.#ports.nowMs())) this.#releaseInTime();
      this.#pump();
    });
  }

  /** Whether a rate lets an item go now; else it waits, and all others with it. */
  #goes(item: Item, rate: RateLimiter | null, count: number, nowMs: number): boolean {
    const waitMs = rate?.take(nowMs, count) ?? 0;
    if (waitMs === 0) return true;
    this.#limited = item;
    this.#isWaiting = true;
    this.#ports.after(waitMs, () => {
      this.#isWaiting = false;
      this.#pump();
    });
    return false;
  }

  #start(item: Item, planned: PlannedAttempt, nowMs: number): void {
    const { record } = item;
    const parsed = parseWebhook(record.value);
    if (parsed.kind === "refused") {
      const { reason, error } = parsed;
      const output = { kind: "dead-letter", reason, error, delivery: planned.delivery } as const;
      this.#replace(item, [replacement(output, record, this.#topics, nowMs)]);
      return;
    }
    const { delivery, endpoints, held, urgency } = planned;
    if (delivery.attempt === 0 && roundsIntegers(parsed.text)) this.#ports.onRounded();
    this.#inFlight += 1;
    item.owner.underWay += 1;
    this.#ports.onStart();
    const leftAlone = ({ key }: Endpoint): EndpointResult => {
      const untilMs = this.#gates.awayUntilMs(key, nowMs);
      return { endpoint: key, result: { kind: "held", untilMs } };
    };
    const attempt: Attempt = { item, delivery, results: held.map(leftAlone), pending: 0 };
    const shared = sharedRequest(this.#destination, parsed.webhook, delivery, nowMs);
    for (const endpoint of endpoints) {
      const ticket = this.#gates.admit(endpoint.key, nowMs, urgency);
      if (ticket === null) {
        attempt.results.push(leftAlone(endpoint));
        continue;
      }
      attempt.pending += 1;
      this.#ports.connections.send(endpoint, requestTo(endpoint, shared), (result) =>
        this.#answered(attempt, endpoint, ticket, result),
      );
    }
    assert(attempt.pending > 0);
  }

  #answered(attempt: Attempt, { key }: Endpoint, ticket: Ticket, result: HttpResult): void {
    const endedAtMs = this.#ports.nowMs();
    this.#gates.settle(key, ticket, result, endedAtMs);
    attempt.results.push({ endpoint: key, result });
    attempt.pending -= 1;
    if (attempt.pending > 0) {
      this.#pump();
      return;
    }
    const { item, delivery, results } = attempt;
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
      this.#finish(item.owner, item.record.offset);
    } else {
      item.owner.underWay -= 1;
      this.#replace(
        item,
        outputs.map((output) => replacement(output, item.record, this.#topics, endedAtMs)),
      );
    }
    this.#pump();
  }

  /** Other records take the delivery's place. Its key goes on: it is out of the way. */
  #replace(item: Item, replacements: readonly Replacement[]): void {
    const { owner } = item;
    // Kept for as long as the write takes, unlike the record.
    const { offset } = item.record;
    owner.underWay += 1;
    this.#schedule.end(item);
    this.#ports.write(replacements, (isWritten) => {
      if (isWritten) this.#finish(owner, offset);
      else this.#leave(owner);
    });
  }

  #finish(owner: Owner, offset: number): void {
    owner.partition.finish(offset);
    this.#leave(owner);
  }

  #leave(owner: Owner): void {
    owner.underWay -= 1;
    if (owner.underWay > 0) return;
    for (const then of owner.onIdle.splice(0)) then();
  }
}
