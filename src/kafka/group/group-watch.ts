/**
 * Keeps the members of a process in their groups, and detects rebalances early. During a rebalance, a group stalls
 * from the time at which the first member's partitions are revoked until the last member has joined again. A member
 * detects the rebalance only from the response to a heartbeat.
 *
 *   a process                                  sends
 *   in each 100 ms                             heartbeats for its groups in turn, in one write to each broker:
 *                                              as many as it takes for each group to get one every 5 s, or
 *                                              less often with more than 2,500 groups (`consume/consumer-times.ts`)
 *   ... without a rebalance                    at least two, except for a group that got a response within the
 *                                              last half second; not while the brokers throttle the process
 *   with a group that rebalances, and for      also one for each group, 1,000 per 100 ms, and then again every
 *   3 s after the last rebalance started       200 ms, or 2 ms per group if that is more (at most 2 s), or
 *                                              every second while the brokers throttle the process
 *   ... and with more than 100 groups          also one every 200 ms for each of the 128 groups that joined first,
 *                                              because a process that starts joins groups in this order, 128 at a time
 *
 * The heartbeats of 10,000 groups at once would be too many for the young generation of the heap: they would all reach
 * the old generation, and an idle process would collect its whole heap every few seconds.
 *
 * A process that starts or stops joins or leaves all groups of its stages. So the first rebalance that is detected
 * triggers heartbeats for all groups.
 */

/** Each step, and the response to its heartbeats, wakes up the process. */
const STEP_MS = 100;
const CALM_AT_A_STEP = 2;
const ALARM_AT_A_STEP = 1_000;
const QUIET_MS = 500;
const ALARM_FOR_MS = 3_000;
const ALARM_STEP_MS = 200;
const ALARM_STEP_PER_GROUP_MS = 2;
/** Less than `ALARM_FOR_MS`, so that groups which start to rebalance during an alarm are found before it ends. */
const ALARM_STEP_MAX_MS = 2_000;
const THROTTLED_ALARM_STEP_MS = 1_000;
const FIRST_IN_ALARM = 128;

export interface WatchedGroup {
  /**
   * Sends a heartbeat if the last one is at least this old, and none is in flight. Resolves with `true` if the group is
   * rebalancing. Never rejects.
   */
  sendHeartbeat(agoMs: number): Promise<boolean>;
}

/** Shared by the consumers of a process. Does nothing while there are no consumers. */
export class GroupWatch {
  readonly #groups = new Set<WatchedGroup>();
  #inTurn: Iterator<WatchedGroup> = [].values();
  /** The groups that have not got their heartbeat of the latest alarm. */
  #alarmed: Iterator<WatchedGroup> = [].values();
  #timer: NodeJS.Timeout | undefined;
  #alarmUntilMs = Number.NEGATIVE_INFINITY;
  #sentAllAtMs = Number.NEGATIVE_INFINITY;
  #sentFirstAtMs = Number.NEGATIVE_INFINITY;
  #steppedAtMs = 0;
  /** The number of heartbeats that are due; not an integer. */
  #due = 0;
  readonly #idleMsOf: (groups: number) => number;
  readonly #isThrottled: () => boolean;

  /**
   * @param idleMsOf returns, for a number of groups, the interval of a group's heartbeats.
   * @param isThrottled returns `true` while the brokers request pauses from this process.
   */
  constructor(idleMsOf: (groups: number) => number, isThrottled: () => boolean = () => false) {
    this.#idleMsOf = idleMsOf;
    this.#isThrottled = isThrottled;
  }

  add(group: WatchedGroup): void {
    this.#groups.add(group);
    if (this.#timer !== undefined) return;
    this.#steppedAtMs = performance.now();
    this.#timer = setInterval(() => this.#step(), STEP_MS);
  }

  delete(group: WatchedGroup): void {
    this.#groups.delete(group);
    if (this.#groups.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Call when a group of this process is rebalancing. */
  startAlarm(): void {
    const nowMs = performance.now();
    this.#alarmUntilMs = nowMs + ALARM_FOR_MS;
    if (nowMs - this.#sentAllAtMs >= this.#alarmStepMs()) this.#heartbeatAll(nowMs);
  }

  #step(): void {
    const nowMs = performance.now();
    const isAlarm = nowMs < this.#alarmUntilMs;
    if (isAlarm && nowMs - this.#sentAllAtMs >= this.#alarmStepMs()) this.#heartbeatAll(nowMs);
    else this.#heartbeatAlarmed();
    if (isAlarm && !this.#isThrottled()) this.#heartbeatFirst(nowMs);
    const { size } = this.#groups;
    this.#due += (size * (nowMs - this.#steppedAtMs)) / this.#idleMsOf(size);
    this.#steppedAtMs = nowMs;
    const isCalm = !isAlarm && !this.#isThrottled();
    if (isCalm) this.#due = Math.max(this.#due, CALM_AT_A_STEP);
    // A process that was stopped for minutes owes no group more than one.
    for (this.#due = Math.min(this.#due, size); this.#due >= 1; this.#due -= 1) {
      const next = this.#next();
      if (next !== null) this.#sendHeartbeat(next, QUIET_MS);
    }
  }

  #next(): WatchedGroup | null {
    const { value, done } = this.#inTurn.next();
    if (done !== true) return value;
    this.#inTurn = this.#groups.values();
    return this.#inTurn.next().value ?? null;
  }

  #alarmStepMs(): number {
    const leastMs = this.#isThrottled() ? THROTTLED_ALARM_STEP_MS : ALARM_STEP_MS;
    const byGroups = this.#groups.size * ALARM_STEP_PER_GROUP_MS;
    return Math.max(leastMs, Math.min(byGroups, ALARM_STEP_MAX_MS));
  }

  #heartbeatAll(nowMs: number): void {
    this.#sentAllAtMs = nowMs;
    this.#sentFirstAtMs = nowMs;
    this.#alarmed = this.#groups.values();
    this.#heartbeatAlarmed();
  }

  #heartbeatAlarmed(): void {
    for (let left = ALARM_AT_A_STEP; left > 0; left -= 1) {
      const { value, done } = this.#alarmed.next();
      if (done === true) return;
      this.#sendHeartbeat(value, 0);
    }
  }

  /** The set has the groups in the order in which they joined. */
  #heartbeatFirst(nowMs: number): void {
    if (nowMs - this.#sentFirstAtMs < ALARM_STEP_MS) return;
    this.#sentFirstAtMs = nowMs;
    let left = FIRST_IN_ALARM;
    for (const group of this.#groups) {
      if (left === 0) return;
      left -= 1;
      this.#sendHeartbeat(group, 0);
    }
  }

  #sendHeartbeat(group: WatchedGroup, agoMs: number): void {
    void group.sendHeartbeat(agoMs).then((isRebalancing) => {
      if (isRebalancing) this.startAlarm();
    });
  }
}
