/**
 * Users who are suppressed and lifted while everything else happens, and the laws about them.
 *
 *   law                                                           not if
 *   no request for a suppressed user starts more than 10 s after  the brokers were down in these 10 s: then the bound
 *   the record was acknowledged                                   is 10 s after their return
 *   a call that is written after the user was lifted for the      -
 *   last time is delivered or dead-lettered
 */

import { liftRecord, suppressionRecord } from "../../src/router/suppression/suppression-record.ts";
import type { ManualClock } from "../support/clock/manual-clock.ts";
import type { Prng } from "../support/clock/prng.ts";
import type { MemoryCluster } from "../support/memory-kafka/memory-kafka.ts";
import { isSettled, type Ledger, type Recipient } from "../support/worlds/ledger.ts";
import { MINUTE_MS, SECOND_MS, topics } from "./setup.ts";

const BOUND_MS = 10 * SECOND_MS;
const USERS = ["canary0", "canary1"];
const CALLS = 6;

/** Returns true if the delivery waits for an operator. */
type IsHeld = (messageId: string, destination: string) => boolean;

interface Period {
  readonly fromMs: number;
  toMs: number;
}

interface CanaryCall {
  readonly messageId: string;
  readonly user: string;
  readonly atMs: number;
}

export class Canaries {
  readonly #clock: ManualClock;
  readonly #cluster: MemoryCluster;
  readonly #random: Prng;
  readonly #calls: CanaryCall[] = [];
  readonly #suppressed = new Map<string, Period[]>();
  readonly #outages: Period[] = [];

  constructor(clock: ManualClock, cluster: MemoryCluster, random: Prng) {
    this.#clock = clock;
    this.#cluster = cluster;
    this.#random = random;
    cluster.createTopic(topics.suppressions, 1);
  }

  /** Each user is suppressed and lifted a few times, and is lifted at the end. */
  plan(forMs: number): void {
    for (const user of USERS) {
      for (let number = 0; number < CALLS; number += 1) {
        this.#at(forMs, () => this.#send(`${user}-${number}`, user));
      }
      for (let times = this.#random.integer(1, 6); times > 0; times -= 1) {
        this.#at(forMs, () => this.#toggle(user));
      }
      this.#clock.schedule(forMs, () => this.#lift(user));
      this.#clock.schedule(forMs + MINUTE_MS, () => this.#send(`${user}-last`, user));
    }
  }

  /** The brokers are down from now on for this time. */
  outage(forMs: number): void {
    const nowMs = this.#clock.nowMs();
    this.#outages.push({ fromMs: nowMs, toMs: nowMs + forMs });
  }

  isSettled(ledger: Ledger, recipients: readonly Recipient[], isHeld: IsHeld): boolean {
    return this.#lost(ledger, recipients, isHeld).length === 0;
  }

  violations(ledger: Ledger, recipients: readonly Recipient[], isHeld: IsHeld): readonly string[] {
    const late = this.#calls.flatMap(({ messageId, user }) =>
      recipients.flatMap(({ id }) =>
        ledger
          .entry(messageId, id)
          .requests.filter(({ atMs }) => this.#isLate(user, atMs))
          .map(
            ({ atMs }) => `${messageId} for ${id}: requested at ${atMs}, while it is suppressed`,
          ),
      ),
    );
    return [...late, ...this.#lost(ledger, recipients, isHeld)];
  }

  #lost(ledger: Ledger, recipients: readonly Recipient[], isHeld: IsHeld): readonly string[] {
    return this.#calls.flatMap(({ messageId, user, atMs }) => {
      const lifted = this.#suppressed.get(user)?.at(-1)?.toMs ?? 0;
      if (atMs < this.#readBy(lifted)) return [];
      return recipients
        .filter((recipient) => !isSettled(ledger.entry(messageId, recipient.id), recipient))
        .filter(({ id }) => !isHeld(messageId, id))
        .map(({ id }) => `${messageId} for ${id}: it is lost, although its user was lifted`);
    });
  }

  #isLate(user: string, atMs: number): boolean {
    const periods = this.#suppressed.get(user) ?? [];
    return periods.some(({ fromMs, toMs }) => atMs < toMs && atMs > this.#readBy(fromMs));
  }

  /** The time by which every process has read a record. */
  #readBy(writtenAtMs: number): number {
    let byMs = writtenAtMs + BOUND_MS;
    for (const { fromMs, toMs } of this.#outages) {
      if (fromMs <= byMs && toMs > writtenAtMs) byMs = Math.max(byMs, toMs + BOUND_MS);
    }
    return byMs;
  }

  #at(withinMs: number, act: () => void): void {
    this.#clock.schedule(this.#random.integer(0, withinMs), act);
  }

  #send(messageId: string, user: string): void {
    const call = { type: "track", userId: user, event: "Signed Up", messageId };
    this.#calls.push({ messageId, user, atMs: this.#clock.nowMs() });
    const value = Buffer.from(JSON.stringify(call));
    this.#cluster.append({ topic: topics.calls, key: Buffer.from(user), value, headers: [] });
  }

  #toggle(user: string): void {
    const nowMs = this.#clock.nowMs();
    const periods = this.#suppressed.get(user) ?? [];
    if ((periods.at(-1)?.toMs ?? 0) > nowMs) {
      this.#lift(user);
      return;
    }
    this.#suppressed.set(user, [...periods, { fromMs: nowMs, toMs: Number.POSITIVE_INFINITY }]);
    const suppression = { userId: user, suppressedAtMs: nowMs, reason: null };
    this.#cluster.append(suppressionRecord(topics.suppressions, suppression));
    // Some calls arrive just before and after.
    this.#at(20 * SECOND_MS, () => this.#send(`${user}-at-${nowMs}`, user));
  }

  #lift(user: string): void {
    const last = this.#suppressed.get(user)?.at(-1);
    if (last !== undefined) last.toMs = Math.min(last.toMs, this.#clock.nowMs());
    this.#cluster.append(liftRecord(topics.suppressions, user));
  }
}
