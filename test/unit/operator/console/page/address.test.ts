import { expect, test } from "vitest";

import {
  deadLettersLink,
  destinationLink,
  placeOf,
} from "../../../../../src/operator/console/page/address.ts";

test.each([
  ["/", { view: "overview" }],
  ["/destinations", { view: "destinations" }],
  ["/destinations/", { view: "destinations" }],
  ["/destinations/crm-hook", { view: "destination", id: "crm-hook" }],
  ["/destinations/a%2Fb", { view: "destination", id: "a/b" }],
  ["/destinations/%E0%A4%A", { view: "unknown" }],
  ["/calls/m-1", { view: "call", id: "m-1" }],
  ["/calls", { view: "calls" }],
  ["/dead-letters", { view: "dead-letters" }],
  ["/dead-letters/x", { view: "unknown" }],
  ["/nothing", { view: "unknown" }],
  ["/destinations/a/b", { view: "unknown" }],
])("%s", (path, place) => {
  expect(placeOf(path)).toEqual(place);
});

test("a link leads to the id that it was made of, whatever that is", () => {
  for (const id of ["crm-hook", "<b>&?#/%", "ü ☃"]) {
    expect(placeOf(destinationLink(id))).toEqual({ view: "destination", id });
  }
  expect(deadLettersLink({ destination: "a&b" })).toBe("/dead-letters?destination=a%26b");
});
