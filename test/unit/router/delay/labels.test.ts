// The table of tally.ts.

import { expect, test } from "vitest";
import { Labels, REST } from "../../../../src/router/delay/tally.ts";

test.each([
  ["configured", "crm", "crm"],
  ["another", "billing", "billing"],
  ["empty", "", REST],
  ["no id", 'x"} 1\nup{', REST],
  ["longer than an id", "x".repeat(65), REST],
])("a destination that is %s", (_, destination, label) => {
  expect(new Labels(["crm"]).of(destination)).toBe(label);
});

test("a hundred others have labels of their own, as long as something of theirs waits", () => {
  const labels = new Labels(["crm"]);
  for (let number = 0; number < 100; number += 1) labels.of(`other-${number}`);
  expect(labels.of("late")).toBe(REST);
  expect(labels.of("other-99")).toBe("other-99");
  expect(labels.of("crm")).toBe("crm");
  labels.keep(new Set(["crm", "other-3"]));
  expect(labels.of("late")).toBe("late");
  expect(labels.of("other-3")).toBe("other-3");
});

test("a destination that is configured later has its label, however many others wait", () => {
  const labels = new Labels([]);
  for (let number = 0; number < 100; number += 1) labels.of(`other-${number}`);
  expect([labels.of("crm"), labels.isConfigured("crm")]).toEqual([REST, false]);
  labels.configure(["crm"]);
  expect([labels.of("crm"), labels.isConfigured("crm")]).toEqual(["crm", true]);
});
