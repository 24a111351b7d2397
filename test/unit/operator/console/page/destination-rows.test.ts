import { expect, test } from "vitest";

import {
  COLUMNS,
  FIRST_ORDER,
  orderOf,
  orderText,
  search,
  sorted,
} from "../../../../../src/operator/console/page/destination-rows.ts";
import type { DestinationRow } from "../../../../../src/operator/console/view.ts";
import { destinationRow } from "../../../../support/build/console-poll.ts";

const ids = (rows: readonly DestinationRow[]) => rows.map(({ destination }) => destination);

test("failing ones come first, then the names", () => {
  const rows = [
    destinationRow("c"),
    destinationRow("b", { severity: 1 }),
    destinationRow("a"),
    destinationRow("d", { severity: 0 }),
  ];
  expect(ids(sorted(rows, FIRST_ORDER))).toEqual(["d", "b", "a", "c"]);
});

test.each([
  ["queued", false, ["a", "c", "b"]],
  ["queued", true, ["c", "a", "b"]],
] as const)("by %s, those not known are last (down: %s)", (column, isDown, expected) => {
  const rows = [
    destinationRow("a", { waiting: 1 }),
    destinationRow("b", { waiting: null }),
    destinationRow("c", { waiting: 9 }),
  ];
  expect(ids(sorted(rows, { column, isDown }))).toEqual(expected);
});

test("every column sorts", () => {
  const rows = [destinationRow("b"), destinationRow("a")];
  for (const { name } of COLUMNS) {
    expect(ids(sorted(rows, { column: name, isDown: false })), name).toEqual(["a", "b"]);
  }
});

test("an order survives its text; another text is the first order", () => {
  for (const { name: column } of COLUMNS) {
    for (const isDown of [true, false]) {
      expect(orderOf(orderText({ column, isDown }))).toEqual({ column, isDown });
    }
  }
  expect([orderOf(null), orderOf("-nothing"), orderOf("<b>")]).toEqual(
    Array.from({ length: 3 }, () => FIRST_ORDER),
  );
});

test("each word of a search must be found somewhere", () => {
  const last = { at: "", outcome: "retry", cause: "503", endpoint: "" } as const;
  const rows = [
    destinationRow("crm-hook", { failingSince: "2026-03-01T08:00:00Z", last }),
    destinationRow("crm-eu"),
    destinationRow("shop", { name: "Engagement" }),
  ];
  expect(ids(search(rows, "CRM"))).toEqual(["crm-hook", "crm-eu"]);
  expect(ids(search(rows, " crm failing 503 "))).toEqual(["crm-hook"]);
  expect(ids(search(rows, "engage"))).toEqual(["shop"]);
  expect(ids(search(rows, ""))).toEqual(ids(rows));
  expect(search(rows, "crm nothing")).toEqual([]);
});
