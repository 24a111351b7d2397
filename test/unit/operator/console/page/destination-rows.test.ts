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
import { destinationSnapshot } from "../../../../support/build/console-snapshot.ts";

function row(id: string, over: Partial<DestinationRow> = {}): DestinationRow {
  const rates = { acceptedPerMinute: 1, failedPerMinute: 0, share: 1, p50Ms: 5, p99Ms: 9 };
  return { ...destinationSnapshot(id), ...rates, ...over };
}

const ids = (rows: readonly DestinationRow[]) => rows.map(({ id }) => id);

test("failing ones come first, then the names", () => {
  const rows = [row("c"), row("b", { severity: 1 }), row("a"), row("d", { severity: 0 })];
  expect(ids(sorted(rows, FIRST_ORDER))).toEqual(["d", "b", "a", "c"]);
});

test.each([
  ["queued", false, ["a", "c", "b"]],
  ["queued", true, ["c", "a", "b"]],
] as const)("by %s, those not known are last (down: %s)", (column, isDown, expected) => {
  const rows = [row("a", { queued: 1 }), row("b", { queued: null }), row("c", { queued: 9 })];
  expect(ids(sorted(rows, { column, isDown }))).toEqual(expected);
});

test("every column sorts", () => {
  const rows = [row("b"), row("a")];
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
    row("crm-hook", { failingSince: "2026-03-01T08:00:00Z", last }),
    row("crm-eu"),
    row("shop", { name: "Engagement" }),
  ];
  expect(ids(search(rows, "CRM"))).toEqual(["crm-hook", "crm-eu"]);
  expect(ids(search(rows, " crm failing 503 "))).toEqual(["crm-hook"]);
  expect(ids(search(rows, "engage"))).toEqual(["shop"]);
  expect(ids(search(rows, ""))).toEqual(ids(rows));
  expect(search(rows, "crm nothing")).toEqual([]);
});
