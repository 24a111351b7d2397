/**
 * Users who are suppressed and lifted during a run, while their calls are queued, in batches, on hold and awaiting retry.
 *
 *   law                                                            unless
 *   no request for a suppressed user starts more than 10 s after   a fault kept programs from reading meanwhile
 *   the record was acknowledged                                    (`Exposure`): then, 10 s after its end
 *   a call that was sent after its user was lifted for the last    -
 *   time is accepted by the endpoint that accepts everything
 *
 * All other laws are about other users.
 */

import { setTimeout as sleep } from "node:timers/promises";
import type { OutgoingRecord } from "../../src/domain/record.ts";
import type { Producer } from "../../src/kafka/port.ts";
import { liftRecord, suppressionRecord } from "../../src/router/suppression/suppression-record.ts";
import type { Prng } from "../support/clock/prng.ts";
import type { ReceivedRequest } from "./receiver.ts";
import { topics } from "./setup.ts";
import type { Exposure } from "./violation.ts";

const BOUND_MS = 10_000;
const PREFIX = "canary-";
const USERS = ["canary-a", "canary-b", "canary-c", "canary-d"];
/** The path of the endpoint that accepts everything. */
const HEALTHY = "/healthy";

/** The user was suppressed from the acknowledgment of one record until the write of another. */
export interface Period {
  readonly fromMs: number;
  readonly toMs: number;
}

interface CanaryCall {
  readonly messageId: string;
  readonly user: string;
  readonly atMs: number;
}

/** True if a call belongs to one of these users. */
export function isCanary(messageId: string | null | undefined): boolean {
  return messageId?.startsWith(PREFIX) === true;
}

export class Canaries {
  readonly #calls: CanaryCall[] = [];
  readonly #requests = new Map<string, ReceivedRequest[]>();
  readonly #periods = new Map<string, Period[]>();
  #count = 0;

  requested(request: ReceivedRequest): void {
    const { messageId } = request;
    this.#requests.set(messageId, [...(this.#requests.get(messageId) ?? []), request]);
  }

  /** Sends calls, and suppresses and lifts users, until the signal aborts. Then all users are lifted. */
  async live(producer: Producer, random: Prng, stop: AbortSignal): Promise<void> {
    await Promise.all([
      this.#sendCalls(producer, random.fork(), stop),
      ...USERS.map((user) => this.#suppressAndLift(user, producer, random.fork(), stop)),
    ]);
    await sleep(BOUND_MS);
    for (const user of USERS) await this.#send(producer, user);
  }

  /** @param exposures the times in which faults kept programs from reading. */
  violations(exposures: readonly Exposure[]): readonly string[] {
    return this.#calls.flatMap(({ messageId, user, atMs: sentAtMs }) => {
      const requests = this.#requests.get(messageId) ?? [];
      const periods = this.#periods.get(user) ?? [];
      const late = requests
        .filter(({ atMs }) => isLate(atMs, periods, exposures))
        .map(({ atMs, path }) => `${messageId} was sent to ${path} at ${atMs}, while suppressed`);
      const liftedAtMs = periods.at(-1)?.toMs ?? 0;
      const isAccepted = requests.some(
        ({ path, status }) => path === HEALTHY && status !== null && status >= 200 && status < 300,
      );
      const isLost = !isAccepted && sentAtMs > readBy(liftedAtMs, exposures);
      return isLost ? [...late, `${messageId} is lost, although its user was lifted`] : late;
    });
  }

  /** How much was tested, in a sentence. */
  summary(): string {
    const held = this.#calls.filter(({ messageId }) => !this.#requests.has(messageId)).length;
    const periods = [...this.#periods.values()].flat().length;
    return `${this.#calls.length} calls of users who were suppressed ${periods} times, ${held} of them never sent`;
  }

  async #sendCalls(producer: Producer, random: Prng, stop: AbortSignal): Promise<void> {
    while (!stop.aborted) {
      await this.#send(producer, random.pick(USERS));
      await sleep(random.integer(50, 300));
    }
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
      const periods = this.#periods.get(user) ?? [];
      this.#periods.set(user, [...periods, { fromMs, toMs: Date.now() }]);
      await producer.send([liftRecord(topics.suppressions, user)]);
    }
  }

  async #send(producer: Producer, user: string): Promise<void> {
    this.#count += 1;
    const messageId = `${PREFIX}${this.#count}`;
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

/** True if no request for the user may have started at this time. */
export function isLate(
  atMs: number,
  periods: readonly Period[],
  exposures: readonly Exposure[],
): boolean {
  return periods.some(({ fromMs, toMs }) => {
    // There are very many times, periods and exposures, and few times are in a period.
    const isIn = atMs < toMs && atMs > fromMs + BOUND_MS;
    return isIn && atMs > readBy(fromMs, exposures);
  });
}

/** The time by which every program has read a record, and its attempts that had started have been recorded. */
function readBy(writtenAtMs: number, exposures: readonly Exposure[]): number {
  let byMs = writtenAtMs + BOUND_MS;
  for (const { fromMs, toMs } of exposures) {
    if (fromMs <= byMs && toMs > writtenAtMs) byMs = Math.max(byMs, toMs + BOUND_MS);
  }
  return byMs;
}

function pause(ms: number, stop: AbortSignal): Promise<void> {
  return sleep(ms, undefined, { signal: stop }).catch(() => undefined);
}
