/**
 * Uses one timer for many deadlines of the same length. A deadline that is set later ends later, so the list is always
 * sorted, and only the first entry needs a timer.
 *
 * When the timer fires, sockets are read once more before a deadline expires, because a response may have arrived in
 * time and waited in the kernel while this process was busy.
 */

export interface Expiring {
  expire(): void;
}

/** A deadline that is set; `clear` removes it. */
export interface Deadline {
  readonly expiring: Expiring;
  readonly atMs: number;
  previous: Deadline | null;
  next: Deadline | null;
  isSet: boolean;
}

export interface Deadlines {
  set(expiring: Expiring, nowMs: number): Deadline;
  clear(deadline: Deadline): void;
}

/** @param aheadMs the length of each deadline, at least 1. */
export function createDeadlines(aheadMs: number, nowMs: () => number): Deadlines {
  let head: Deadline | null = null;
  let tail: Deadline | null = null;
  let isArmed = false;

  function unlink(deadline: Deadline): void {
    const { previous, next } = deadline;
    if (previous === null) head = next;
    else previous.next = next;
    if (next === null) tail = previous;
    else next.previous = previous;
    deadline.isSet = false;
    deadline.previous = null;
    deadline.next = null;
  }

  function arm(): void {
    if (isArmed || head === null) return;
    isArmed = true;
    const waitMs = Math.max(1, Math.ceil(head.atMs - nowMs()));
    // A request in flight has a socket that keeps the process alive, so this timer need not keep it alive.
    setTimeout(() => setImmediate(expireDue), waitMs).unref();
  }

  function expireDue(): void {
    isArmed = false;
    const untilMs = nowMs();
    while (head !== null && head.atMs <= untilMs) {
      const { expiring } = head;
      unlink(head);
      expiring.expire();
    }
    arm();
  }

  return {
    set: (expiring, setAtMs) => {
      const atMs = setAtMs + aheadMs;
      const deadline: Deadline = { expiring, atMs, previous: tail, next: null, isSet: true };
      if (tail === null) head = deadline;
      else tail.next = deadline;
      tail = deadline;
      if (!isArmed) arm();
      return deadline;
    },
    clear: (deadline) => {
      if (deadline.isSet) unlink(deadline);
    },
  };
}
