/**
 * Keeps the members of a process in their groups, and detects rebalances early. During a rebalance, a group stalls
 * from the time at which the first member's partitions are revoked until the last member has joined again. A member
 * detects the rebalance only from the response to a heartbeat.
 *
 *   a member                                   sends a heartbeat
 *   without a recent response                  after half of the session timeout, at most 5 s; heartbeats
 *                                              that are due at the same time share a write
 *
 *   a process                                  also sends
 *   without a rebalance                        two heartbeats per 100 ms, in one write, for its groups in
 *                                              turn, except for a group that got a response within the last
 *                                              half second; none while the brokers throttle the process
 *   with a group that rebalances, and for      one for each group at once, and then every 200 ms, or
 *   3 s after the last rebalance started       2 ms per group if that is more, or every second while
 *                                              the brokers throttle the process
 *
 * A process that starts or stops joins or leaves all groups of its stages. So the first rebalance that is detected
 * triggers heartbeats for all groups.
 */

/** Each step, and the response to its heartbeats, wakes up the process. */
const STEP_MS = 100;
const AT_A_STEP = 2;
const DUE_EVERY_MS = 300;
const QUIET_MS = 500;
const ALARM_FOR_MS = 3_000;
const ALARM_STEP_MS = 200;
const ALARM_STEP_PER_GROUP_MS = 2;
const THROTTLED_ALARM_STEP_MS = 1_000;

export interface WatchedGroup {
  /**
   * Sends a heartbeat if the last one is at least this old. Resolves with `true` if the group is
   * rebalancing. Never rejects.
   */
  sendHeartbeat(agoMs: number): Promise<boolean>;
  /**
   * Time of the last heartbeat's response, in epoch milliseconds; null while a heartbeat is in flight, or if none is
   * needed.
   */
  heardAtMs(): number | null;
}

/** Shared by the consumers of a process. Does nothing while there are no consumers. */
export class GroupWatch {
  /** For each group, the turn in which its next heartbeat can be due at the earliest. */
  readonly #groups = new Map<WatchedGroup, number>();
  /** The groups by their turns. A scan of 10,000 groups in each turn would cost more than their heartbeats. */
  readonly #turns = new Map<number, WatchedGroup[]>();
  #inTurn: Iterator<WatchedGroup> = [].values();
  #timer: NodeJS.Timeout | undefined;
  #alarmUntilMs = Number.NEGATIVE_INFINITY;
  #sentAllAtMs = Number.NEGATIVE_INFINITY;
  readonly #idleMs: number;
  #sentDueAtMs = Number.NEGATIVE_INFINITY;

  readonly #isThrottled: () => boolean;

  /**
   * @param idleMs the time without a response from the coordinator after which a member sends a heartbeat.
   * @param isThrottled returns `true` while the brokers request pauses from this process.
   */
  constructor(idleMs: number, isThrottled: () => boolean = () => false) {
    this.#idleMs = idleMs;
    this.#isThrottled = isThrottled;
  }

  add(group: WatchedGroup): void {
    this.#lookIn(0, group);
    this.#timer ??= setInterval(() => this.#step(), STEP_MS);
  }

  delete(group: WatchedGroup): void {
    this.#groups.delete(group);
    if (this.#groups.size > 0) return;
    this.#turns.clear();
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
    if (nowMs - this.#sentDueAtMs >= DUE_EVERY_MS) this.#heartbeatDue(nowMs);
    if (isAlarm || this.#isThrottled()) return;
    for (let sent = 0; sent < AT_A_STEP; sent += 1) {
      const next = this.#next();
      if (next !== null) this.#sendHeartbeat(next, QUIET_MS);
    }
  }

  #next(): WatchedGroup | null {
    const { value, done } = this.#inTurn.next();
    if (done !== true) return value;
    this.#inTurn = this.#groups.keys();
    return this.#inTurn.next().value ?? null;
  }

  #alarmStepMs(): number {
    const leastMs = this.#isThrottled() ? THROTTLED_ALARM_STEP_MS : ALARM_STEP_MS;
    return Math.max(leastMs, this.#groups.size * ALARM_STEP_PER_GROUP_MS);
  }

  #heartbeatAll(nowMs: number): void {
    this.#sentAllAtMs = nowMs;
    for (const group of this.#groups.keys()) this.#sendHeartbeat(group, 0);
  }

  #heartbeatDue(nowMs: number): void {
    this.#sentDueAtMs = nowMs;
    const turn = Math.floor(nowMs / DUE_EVERY_MS);
    const past = [...this.#turns].filter(([each]) => each <= turn);
    for (const [each] of past) this.#turns.delete(each);
    for (const [each, groups] of past) {
      for (const group of groups) {
        // A group that was deleted is in no turn, and one that was added again may be in another turn.
        if (this.#groups.get(group) === each) this.#look(group, nowMs, turn);
      }
    }
  }

  #look(group: WatchedGroup, nowMs: number, turn: number): void {
    const heardAtMs = group.heardAtMs();
    const agoMs = heardAtMs === null ? 0 : Date.now() - heardAtMs;
    // If the clock was set back, the age of the last heartbeat is unknown.
    const isDue = heardAtMs !== null && (agoMs < 0 || agoMs >= this.#idleMs);
    if (isDue) this.#sendHeartbeat(group, 0);
    const isSoon = isDue || heardAtMs === null;
    const next = isSoon ? 0 : Math.floor((nowMs + this.#idleMs - agoMs) / DUE_EVERY_MS);
    this.#lookIn(Math.max(turn + 1, next), group);
  }

  #lookIn(turn: number, group: WatchedGroup): void {
    this.#groups.set(group, turn);
    const groups = this.#turns.get(turn);
    if (groups === undefined) this.#turns.set(turn, [group]);
    else groups.push(group);
  }

  #sendHeartbeat(group: WatchedGroup, agoMs: number): void {
    void group.sendHeartbeat(agoMs).then((isRebalancing) => {
      if (isRebalancing) this.startAlarm();
    });
  }
}
