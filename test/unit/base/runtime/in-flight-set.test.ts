// The set and the count of items in flight: in-flight-set.ts.

import fc from "fast-check";
import { expect, test } from "vitest";
import { InFlightCount, InFlightSet } from "../../../../src/base/runtime/in-flight-set.ts";
import { costlyInputs } from "../../../support/build/generated-inputs.ts";

test("a bag holds what a set would", () => {
  const action = fc.record({ isAdded: fc.boolean(), name: fc.nat(5) });
  fc.assert(
    fc.property(fc.array(action), (script) => {
      const items = Array.from({ length: 6 }, (_, name) => ({ name, place: -1 }));
      const bag = new InFlightSet<(typeof items)[number]>();
      const set = new Set<number>();
      for (const { isAdded, name } of script) {
        const item = items[name];
        if (item === undefined) throw new Error("no such item");
        if (isAdded) bag.add(item);
        else bag.delete(item);
        if (isAdded) set.add(name);
        else set.delete(name);
        expect(bag.size).toBe(set.size);
        expect(new Set(bag.all().map((each) => each.name))).toEqual(set);
      }
    }),
    { numRuns: costlyInputs(4) },
  );
});

test("the items of a bag may leave while they are walked through", () => {
  const bag = new InFlightSet<{ place: number }>();
  const items = [1, 2, 3].map(() => ({ place: -1 }));
  for (const item of items) bag.add(item);
  const met = bag.all().map((item) => {
    bag.delete(item);
    return item;
  });
  expect(met).toEqual(items);
  expect(bag.size).toBe(0);
});

test("who waits for what is in progress hears of its end, and at once when nothing is", async () => {
  const underWay = new InFlightCount();
  await underWay.ended();
  const [one, two] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  underWay.add(one.promise);
  underWay.add(two.promise);
  let isOver = false;
  const over = underWay.ended().then(() => {
    isOver = true;
  });
  one.resolve();
  await new Promise(setImmediate);
  expect(isOver).toBe(false);
  two.resolve();
  await over;
});
