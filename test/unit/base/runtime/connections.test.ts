// Which connections may be open, and the clients for which they count.

import fc from "fast-check";
import { expect, test } from "vitest";

import {
  addressGroup,
  connectionsWithin,
  createConnections,
} from "../../../../src/base/runtime/connections.ts";

test("within the limits everything is taken", () => {
  const connections = createConnections<string>({ all: 3, perAddress: 2 });
  expect(connections.open("a1", "a")).toEqual([]);
  expect(connections.open("a2", "a")).toEqual([]);
  expect(connections.open("b1", "b")).toEqual([]);
  expect(connections.total()).toBe(3);
});

test("an address with too many gives up the one that has waited longest", () => {
  const connections = createConnections<string>({ all: 9, perAddress: 2 });
  connections.open("b1", "b");
  connections.open("a1", "a");
  connections.open("a2", "a");
  connections.busy("a1");
  connections.waiting("a1");
  expect(connections.open("a3", "a")).toEqual([{ id: "a2", reason: "per-address-limit" }]);
  expect(connections.open("a4", "a")).toEqual([{ id: "a1", reason: "per-address-limit" }]);
  expect(connections.total()).toBe(3);
});

test("an address whose connections are all busy gets no further one", () => {
  const connections = createConnections<string>({ all: 9, perAddress: 1 });
  connections.open("b1", "b");
  connections.open("a1", "a");
  connections.busy("a1");
  expect(connections.open("a2", "a")).toEqual([{ id: "a2", reason: "per-address-limit" }]);
  connections.closed("a1");
  expect(connections.open("a3", "a")).toEqual([]);
});

test("too many in all: whoever's has waited longest makes room, else the new one goes", () => {
  const connections = createConnections<string>({ all: 2, perAddress: 2 });
  connections.open("a1", "a");
  connections.open("b1", "b");
  connections.busy("a1");
  expect(connections.open("c1", "c")).toEqual([{ id: "b1", reason: "total-limit" }]);
  connections.busy("c1");
  expect(connections.open("d1", "d")).toEqual([{ id: "d1", reason: "total-limit" }]);
  expect(connections.total()).toBe(2);
});

test("too many in all: the address with the most makes room, whoever's has waited longest", () => {
  const connections = createConnections<string>({ all: 4, perAddress: 4 });
  connections.open("b1", "b");
  for (const id of ["a1", "a2", "a3"]) connections.open(id, "a");
  expect(connections.open("c1", "c")).toEqual([{ id: "a1", reason: "total-limit" }]);
  expect(connections.open("a4", "a")).toEqual([{ id: "a2", reason: "total-limit" }]);
  connections.busy("a3");
  connections.busy("a4");
  expect(connections.open("a5", "a")).toEqual([{ id: "a5", reason: "total-limit" }]);
  expect(connections.total()).toBe(4);
});

test("a tenth is reserved for addresses other than the one with the most, even if all are busy", () => {
  const connections = createConnections<number>({ all: 20, perAddress: 20 });
  for (let id = 1; id <= 18; id += 1) {
    expect(connections.open(id, "a")).toEqual([]);
    connections.busy(id);
  }
  expect(connections.open(19, "a")).toEqual([{ id: 19, reason: "per-address-limit" }]);
  expect(connections.open(20, "b")).toEqual([]);
});

test("what arrives for a connection that is gone changes nothing", () => {
  const connections = createConnections<string>({ all: 1, perAddress: 1 });
  connections.open("a1", "a");
  connections.closed("a1");
  connections.closed("a1");
  connections.waiting("a1");
  connections.busy("a1");
  expect(connections.open("a2", "a")).toEqual([]);
  expect(connections.total()).toBe(1);
});

test("whatever happens, no limit is passed, and no busy connection is closed for another", () => {
  const step = fc.record({
    kind: fc.constantFrom("open", "busy", "waiting", "closed"),
    at: fc.nat(20),
    address: fc.constantFrom("a", "b", "c"),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const connections = createConnections<number>({ all: 6, perAddress: 3 });
      const open = new Map<number, { address: string; isBusy: boolean }>();
      for (const [number, { kind, at, address }] of steps.entries()) {
        const id = [...open.keys()][at % Math.max(1, open.size)] ?? -1;
        const known = open.get(id);
        if (kind === "open") {
          open.set(number, { address, isBusy: false });
          for (const closing of connections.open(number, address)) {
            expect(closing.id === number || open.get(closing.id)?.isBusy === false).toBe(true);
            open.delete(closing.id);
          }
        } else {
          connections[kind](id);
          if (kind === "closed") open.delete(id);
          else if (known !== undefined) known.isBusy = kind === "busy";
        }
        expect(connections.total()).toBe(open.size);
        expect(open.size).toBeLessThanOrEqual(6);
        const counts = Map.groupBy(open.values(), (one) => one.address);
        for (const ones of counts.values()) expect(ones.length).toBeLessThanOrEqual(3);
      }
    }),
  );
});

test.each([
  ["192.0.2.7", "192.0.2.7"],
  ["::ffff:192.0.2.7", "192.0.2.7"],
  ["2001:db8:1:2:3:4:5:6", "32:1:13:184:0:1:0:2"],
  ["2001:db8:1:2::9", "32:1:13:184:0:1:0:2"],
  ["2001:db8:1:3::9", "32:1:13:184:0:1:0:3"],
  ["", ""],
])("%s counts for %s", (address, group) => {
  expect(addressGroup(address)).toBe(group);
});

test.each([
  [10_000, null, 10_000],
  [10_000, 1_000_000, 10_000],
  [10_000, 100, 50],
  [10, 100, 10],
  [10_000, 1, 1],
])("%d connections with %s spare descriptors: %d", (most, spare, expected) => {
  expect(connectionsWithin(most, spare)).toBe(expected);
});
