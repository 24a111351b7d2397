// The table of operator-action-state.ts.

import { expect, test } from "vitest";
import { endpointKey } from "../../../../src/domain/destination.ts";
import type { DestinationId, EndpointKey } from "../../../../src/domain/ids.ts";
import {
  KnownOperatorActions,
  OPERATIONS_MAX,
} from "../../../../src/router/control/operator-action-state.ts";
import type { EarlyRelease, Pause } from "../../../../src/router/control/operator-actions.ts";

const crm = "crm" as DestinationId;
const other = "other" as DestinationId;
const pauseOf = (more: Partial<Pause> = {}): Pause => {
  return { destination: crm, sinceMs: 0, by: "command", untilMs: null, ...more };
};
const earlyReleaseOf = (id: string, more: Partial<EarlyRelease> = {}): EarlyRelease => {
  const whole = { kind: "retry", destination: crm, atMs: 5, by: "command" } as const;
  return { ...whole, receivedBeforeMs: null, id, ...more };
};

test("a destination is paused until it is resumed", () => {
  const known = new KnownOperatorActions();
  known.apply({ kind: "pause", pause: pauseOf() });
  expect(known.pauseOf(crm, 1e12)).toEqual(pauseOf());
  expect(known.pauseOf(other, 0)).toBeNull();
  known.apply({ kind: "resume", destination: crm });
  expect(known.pauseOf(crm, 0)).toBeNull();
});

test("a pause is over at its time, whenever anybody looks", () => {
  const known = new KnownOperatorActions();
  known.apply({ kind: "pause", pause: pauseOf({ untilMs: 100 }) });
  expect(known.pauseOf(crm, 99)).toEqual(pauseOf({ untilMs: 100 }));
  expect(known.pauseOf(crm, 100)).toBeNull();
  expect(known.ending(99)).toMatchObject([{ untilMs: 100 }]);
  expect(known.ending(100)).toEqual([]);
});

test("the later pause counts", () => {
  const known = new KnownOperatorActions();
  known.apply({ kind: "pause", pause: pauseOf({ untilMs: 100 }) });
  known.apply({ kind: "pause", pause: pauseOf({ untilMs: null, by: "console" }) });
  expect(known.pauseOf(crm, 200)).toEqual(pauseOf({ by: "console" }));
});

test("early releases count in parallel, until they are forgotten", () => {
  const known = new KnownOperatorActions();
  for (const id of ["a", "b"]) known.apply({ kind: "release", earlyRelease: earlyReleaseOf(id) });
  known.apply({ kind: "release", earlyRelease: earlyReleaseOf("c", { destination: other }) });
  expect(known.earlyReleasesOf(crm).map(({ id }) => id)).toEqual(["a", "b"]);
  expect(known.earlyReleases()).toHaveLength(3);
  known.apply({ kind: "forget-release", destination: crm, id: "a" });
  expect(known.earlyReleasesOf(crm).map(({ id }) => id)).toEqual(["b"]);
  known.apply({ kind: "forget-release", destination: crm, id: "b" });
  expect(known.earlyReleasesOf(crm)).toEqual([]);
});

test("an endpoint is gone until its record is removed, which is no matter of other endpoints", () => {
  const known = new KnownOperatorActions();
  const [a, b] = [endpointKey("http://a.test/"), endpointKey("http://b.test/")];
  const gone = (endpoint: EndpointKey, atMs: number) =>
    known.apply({ kind: "gone", gone: { destination: crm, endpoint, id: "1", atMs } });
  gone(a, 5);
  const before = known.goneOf(crm);
  gone(b, 6);
  gone(a, 7);
  expect([...known.goneOf(crm)]).toEqual([
    [a, 7],
    [b, 6],
  ]);
  // What a listener was given does not change afterwards.
  expect([...before]).toEqual([[a, 5]]);
  expect([known.goneOf(other).size, [...known.destinations()]]).toEqual([0, [crm]]);
  known.apply({ kind: "resume", destination: crm });
  expect(known.goneOf(crm).size).toBe(2);
  known.apply({ kind: "forget-gone", destination: crm, endpoint: a });
  expect([...known.goneOf(crm).keys()]).toEqual([b]);
});

test("the furthest progress counts", () => {
  const known = new KnownOperatorActions();
  const released = (through: number, partition = 0) => {
    const place = { id: "a", delay: "10s", partition };
    known.apply({ kind: "released", released: { ...place, through, topicId: "" } });
    return known.releasedThrough("a", "10s", partition);
  };
  expect([released(7), released(3), released(9), released(1, 1)]).toEqual([7, 7, 9, 1]);
  expect(known.releasedThrough("a", "30s", 0)).toBe(0);
  known.apply({ kind: "forget-released", id: "a" });
  expect(known.releasedThrough("a", "10s", 0)).toBe(0);
});

test("of a topic that was recreated only its own progress counts", () => {
  const known = new KnownOperatorActions();
  const released = (through: number, topicId: string) =>
    known.apply({
      kind: "released",
      released: { id: "a", delay: "10s", partition: 0, through, topicId },
    });
  const through = (topicId: string) => known.releasedThrough("a", "10s", 0, topicId);
  released(70, "one");
  expect([through("one"), through("two"), through("")]).toEqual([70, 0, 70]);
  released(5, "two");
  expect([through("one"), through("two"), through("")]).toEqual([0, 5, 5]);
  released(3, "two");
  expect(through("two")).toBe(5);
  released(9, "");
  expect(through("two")).toBe(9);
});

test("a kind of action does not grow without bound, leaves room for the others, and one that goes makes room", () => {
  const known = new KnownOperatorActions();
  const max = OPERATIONS_MAX.pauses;
  const add = (number: number) =>
    known.apply({ kind: "pause", pause: pauseOf({ destination: `d${number}` as DestinationId }) });
  for (let number = 0; number < max - 1; number += 1) expect(add(number)).toBe(true);
  expect(known.fullKinds()).toEqual([]);
  expect([add(max - 1), add(max)]).toEqual([true, false]);
  expect(known.fullKinds()).toEqual(["pauses"]);
  expect(known.apply({ kind: "release", earlyRelease: earlyReleaseOf("a") })).toBe(true);
  expect(add(3)).toBe(true);
  known.apply({ kind: "resume", destination: "d3" as DestinationId });
  known.apply({ kind: "resume", destination: "d3" as DestinationId });
  expect([add(max), add(max + 1)]).toEqual([true, false]);
});

test("the progress of retries in thousands of partitions leaves room for pauses", () => {
  const known = new KnownOperatorActions();
  const add = (partition: number) => {
    const released = { id: "a", delay: "10s", partition, through: 1, topicId: "" };
    return known.apply({ kind: "released", released });
  };
  const max = OPERATIONS_MAX["records of their progress"];
  for (let partition = 0; partition < max; partition += 1) add(partition);
  expect(add(max)).toBe(false);
  expect(known.apply({ kind: "pause", pause: pauseOf() })).toBe(true);
  expect(known.fullKinds()).toEqual(["records of their progress"]);
  known.apply({ kind: "forget-released", id: "a" });
  expect(known.fullKinds()).toEqual([]);
});
