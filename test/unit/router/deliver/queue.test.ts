// Which deliveries may start: queue.ts.

import fc from "fast-check";
import { beforeEach, expect, test, vi } from "vitest";
import type { AttemptedDestination } from "../../../../src/domain/destination.ts";
import type { EndpointKey } from "../../../../src/domain/ids.ts";
import { EndpointGates } from "../../../../src/router/deliver/endpoint-availability.ts";
import {
  type InFlight,
  OwnedPartition,
  type Unit,
} from "../../../../src/router/deliver/in-flight.ts";
import { KeyedOrder, Queue } from "../../../../src/router/deliver/queue.ts";
import { SlotScheduler } from "../../../../src/router/deliver/slot-scheduler.ts";
import { costlyInputs } from "../../../support/build/generated-inputs.ts";
import { webhookDestination } from "../../../support/build/webhook-destination.ts";
import { recordAt, START_MS, UNOBSERVED } from "../../../support/worlds/dispatch-world.ts";

/** A key with the same hash code as `a`, modulo the number of lines. */
const SAME_LINE_AS_A = "\u00e1";
let one: OwnedPartition;
let two: OwnedPartition;

function partition(turn: "queue" | "retry" = "queue"): OwnedPartition {
  const host = { take: () => undefined, drain: () => undefined };
  return new OwnedPartition(host, { finish: () => undefined }, turn);
}

beforeEach(() => {
  one = partition();
  two = partition();
});

/** Its name is its record's topic. */
const item = (
  owner: OwnedPartition,
  key: string | null,
  name = `${key}`,
  isJoined = false,
): InFlight => ({
  owner,
  key,
  record: { ...recordAt(0), topic: name },
  arrivedAtMs: START_MS,
  behind: null,
  after: null,
  unit: isJoined ? ({} as Unit) : null,
});

const nameOf = ({ record }: InFlight) => record.topic;

function startable(order: KeyedOrder) {
  const names: string[] = [];
  for (let next = order.next(); next !== undefined; next = order.next()) names.push(nameOf(next));
  return names;
}

test("without a key, with different keys, and on different partitions all may start", () => {
  const order = new KeyedOrder();
  for (const each of [
    item(one, null, "x"),
    item(one, null, "y"),
    item(one, "a"),
    item(one, "b"),
    item(two, "a", "a2"),
  ]) {
    order.add(each);
  }
  expect(startable(order)).toEqual(["x", "y", "a", "b", "a2"]);
  expect(order.hasNext()).toBe(false);
});

test("with the same key each waits for the one before it", () => {
  const order = new KeyedOrder();
  const items = ["1", "2", "3"].map((name) => item(one, "a", name));
  for (const each of items) order.add(each);
  for (const each of items) {
    expect(startable(order)).toEqual([nameOf(each)]);
    order.end(each);
  }
  order.add(item(one, "a", "4"));
  expect(startable(order)).toEqual(["4"]);
});

test("a partition that was taken away is forgotten, and what ends late frees nothing of its successor", () => {
  const order = new KeyedOrder();
  const old = item(one, "a", "old");
  order.add(old);
  order.add(item(one, "a", "waiting"));
  order.add(item(two, "b", "other"));
  order.next();
  order.drop(one);
  const again = partition();
  order.add(item(again, "a", "new"));
  order.add(item(again, "a", "newer"));
  expect(startable(order)).toEqual(["other", "new"]);
  order.end(old);
  expect(startable(order)).toEqual([]);
});

test("whatever comes and ends when: each starts once, and each key in order", () => {
  const keys = ["a", SAME_LINE_AS_A, "b", null];
  const actions = fc.array(fc.oneof(fc.constantFrom(...keys), fc.nat(9)));
  fc.assert(
    fc.property(actions, (script) => {
      const order = new KeyedOrder();
      const started: InFlight[] = [];
      const underWay: InFlight[] = [];
      const ended = new Set<InFlight>();
      const added: InFlight[] = [];
      const start = () => {
        for (let next = order.next(); next !== undefined; next = order.next()) {
          const { key } = next;
          expect(key !== null && underWay.some((other) => other.key === key)).toBe(false);
          underWay.push(next);
          started.push(next);
        }
      };
      const end = (at: number) => {
        const [first] = underWay.splice(at % underWay.length, 1);
        if (first === undefined) return;
        ended.add(first);
        order.end(first);
      };
      for (const action of script) {
        if (typeof action === "number") end(action);
        else {
          const made = item(one, action, `${added.length}`);
          added.push(made);
          order.add(made);
        }
        start();
        const left = added.filter((each) => !ended.has(each) && each.key !== null);
        expect(one.followers).toBe(left.length - new Set(left.map(({ key }) => key)).size);
      }
      while (underWay.length > 0) {
        end(0);
        start();
      }
      expect(started).toHaveLength(added.length);
      for (const key of keys.filter((each) => each !== null)) {
        expect(started.filter((each) => each.key === key)).toEqual(
          added.filter((each) => each.key === key),
        );
      }
    }),
    { numRuns: costlyInputs(4) },
  );
});

test("one of a unit that ends before an earlier one with its key lets nothing start", () => {
  const order = new KeyedOrder();
  const first = item(one, "a", "first");
  const joined = item(one, "a", "joined", true);
  for (const each of [first, joined, item(one, "a", "last")]) order.add(each);
  expect(startable(order)).toEqual(["first"]);
  order.end(joined);
  expect(startable(order)).toEqual([]);
  expect(one.followers).toBe(1);
  order.end(first);
  expect(startable(order)).toEqual(["last"]);
  expect(one.followers).toBe(0);
});

test("one of a unit does not start when the one before it ends", () => {
  const order = new KeyedOrder();
  const first = item(one, "a", "first");
  const joined = item(one, "a", "joined", true);
  for (const each of [first, joined, item(one, "a", "last")]) order.add(each);
  expect(startable(order)).toEqual(["first"]);
  order.end(first);
  expect(startable(order)).toEqual([]);
  order.end(joined);
  expect(startable(order)).toEqual(["last"]);
});

const WINDOW_MS = 14_400_000;

/** A queue of two endpoints, of which the circuit of the first is open until `START_MS` + 6,000. */
function held() {
  const destination: AttemptedDestination = webhookDestination({
    urls: ["http://a.test/", "http://b.test/"],
  });
  const [a, b] = destination.endpoints.map(({ key }) => key) as [EndpointKey, EndpointKey];
  const slots = new SlotScheduler(4);
  const gates = new EndpointGates([a, b], { concurrency: 4, retryWindowMs: WINDOW_MS }, UNOBSERVED);
  const fail = (ticket: number | null, atMs: number) =>
    gates.settle(a, ticket ?? -1, { kind: "retry", retryAfterMs: null }, atMs);
  for (let count = 0; count < 20; count += 1) {
    const atMs = START_MS + (count === 0 ? 0 : 1_000);
    fail(gates.admit(a, atMs, "queue"), atMs);
  }
  const queue = new Queue(
    gates,
    slots,
    () => null,
    () => undefined,
  );
  const next = (atMs: number) => queue.next(START_MS + atMs)?.record.topic;
  return { a, b, gates, queue, next, fail };
}

test("one that waits goes when its endpoint may be asked, or when its time is over", () => {
  const { a, gates, queue, next, fail } = held();
  const ticket = gates.admit(a, START_MS + 1_001, "retry");
  queue.hold(item(partition("retry"), null, "first"), [a], START_MS + 60_000);
  queue.hold(item(partition("retry"), null, "second"), [a], START_MS + 5_000);
  expect(next(1_001)).toBeUndefined();
  expect(queue.release(START_MS + 5_001)).toBe(true);
  expect(next(5_001)).toBe("second");
  fail(ticket, START_MS + 5_002);
  expect(next(5_002)).toBe("first");
  expect(next(5_002)).toBeUndefined();
});

test("one that waits for several endpoints goes when one of them may be asked", () => {
  const { a, b, gates, queue, next, fail } = held();
  const ticket = gates.admit(a, START_MS + 1_001, "retry");
  gates.heard(b, { news: "asks", forMs: 3_000 }, START_MS + 1_001);
  for (const name of ["first", "second"])
    queue.hold(item(partition("retry"), null, name), [a, b], START_MS + 60_000);
  queue.hold(item(partition("retry"), null, "only a"), [a], START_MS + 60_000);
  expect(next(4_000)).toBeUndefined();
  expect([next(4_001), next(4_001), next(4_001)]).toEqual(["first", "second", undefined]);
  fail(ticket, START_MS + 4_002);
  expect(next(4_002)).toBe("only a");
});

test("those whose time is over go in their order, and the others keep theirs", () => {
  const { a, gates, queue, next, fail } = held();
  const ticket = gates.admit(a, START_MS + 1_001, "retry");
  const owner = partition("retry");
  const names = Array.from({ length: 40 }, (_, at) => `${at}`);
  const isLate = (at: number) => at % 3 === 0;
  for (const [at, name] of names.entries())
    queue.hold(item(owner, null, name), [a], START_MS + (isLate(at) ? 60_000 : 5_000));
  expect(queue.release(START_MS + 5_001)).toBe(true);
  const taken = () => Array.from({ length: names.length }, () => next(5_002)).filter(Boolean);
  expect(taken()).toEqual(names.filter((_, at) => !isLate(at)));
  fail(ticket, START_MS + 5_002);
  expect(queue.release(START_MS + 60_001)).toBe(false);
  expect(taken()).toEqual(names.filter((_, at) => isLate(at)));
});

/** How many elements the methods of arrays pass over or move. */
function elementsHandled(work: () => void): number {
  let count = 0;
  const methods = ["splice", "filter", "shift", "indexOf", "some"] as const;
  const spies = methods.map((name) => {
    const original = Array.prototype[name] as (...given: unknown[]) => unknown;
    return vi.spyOn(Array.prototype, name).mockImplementation(function (
      this: unknown[],
      ...given: unknown[]
    ): never {
      count += this.length;
      return original.apply(this, given) as never;
    });
  });
  try {
    work();
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
  return count;
}

test("releasing twice as many costs twice as much", () => {
  const cost = (retries: number) => {
    const { a, queue } = held();
    for (let at = 0; at < retries; at += 1)
      queue.hold(item(partition("retry"), null), [a], START_MS + 5_000);
    return elementsHandled(() => queue.release(START_MS + 5_001));
  };
  expect(cost(100)).toBeGreaterThan(0);
  expect(cost(200)).toBeLessThanOrEqual(2 * cost(100));
});

test("those of a partition that goes are forgotten", () => {
  const { a, b, gates, queue, next } = held();
  const [mine, theirs] = [partition("retry"), partition("retry")];
  gates.admit(a, START_MS + 1_001, "retry");
  queue.hold(item(mine, null, "mine"), [a], START_MS);
  queue.hold(item(theirs, null, "theirs"), [a], START_MS);
  queue.hold(item(theirs, null, "theirs"), [b], START_MS + 60_000);
  queue.release(START_MS + 1);
  queue.drop(theirs);
  expect(next(1)).toBe("mine");
  expect(next(1)).toBeUndefined();
  expect(queue.release(START_MS + 60_001)).toBe(false);
});

test("what an endpoint that was removed would hold is no retry of the destination", () => {
  const { queue } = held();
  const other = webhookDestination({ urls: ["http://c.test/"] }).endpoints[0]?.key as EndpointKey;
  expect(() => queue.hold(item(one, null), [other], START_MS)).toThrow("removed");
});
