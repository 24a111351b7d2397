import { expect, test } from "vitest";

import { comparedRows, comparedSummary } from "../../../../src/console/page/compared-rows.ts";
import type { ComparedCallsView } from "../../../../src/console/query-view.ts";

const NONE = { count: 0, examples: [] };
const some = (count: number) => ({ count, examples: ["m-1"] });
const VIEW: ComparedCallsView = {
  ...{ since: "2026-03-01T08:00:00.000Z", share: 1, calls: 1_204, withoutSchema: 0 },
  ...{ unread: [], others: 0 },
  destinations: [
    {
      destination: "crm",
      gained: some(1),
      lost: [
        { reason: "filtered", ...some(2_000) },
        { reason: "not-configured", ...some(3) },
      ],
      changed: {
        ...some(4),
        properties: [
          ["traits.email", 1_500],
          ["(key)", 1],
        ],
      },
    },
    {
      ...{ destination: "mail", gained: NONE, lost: [] },
      changed: { ...some(5), properties: [["(spelling)", 5]] },
    },
  ],
};

test("each difference that occurred is a row, with its reason or its properties", () => {
  const rows = comparedRows(VIEW).map(({ destination, what, calls, why }) =>
    [destination, what, calls.count, why].join(" | "),
  );
  expect(rows).toEqual([
    "crm | gained | 1 | ",
    "crm | lost | 2000 | filtered: a filter drops the call",
    "crm | lost | 3 | not-configured",
    "crm | changed | 4 | traits.email (1,500), (key) (1)",
    "mail | changed | 5 | (spelling) (5)",
  ]);
});

test("the summary has the number, the share, and what could not be compared", () => {
  expect(comparedSummary(VIEW)).toBe("Compared 1,204 calls since");
  expect(comparedSummary({ ...VIEW, calls: 1, share: 0.01, withoutSchema: 2 })).toBe(
    "2 calls could not be compared, because the schema registry did not return the schema. Compared 1 call, a share of 1 %, since",
  );
});
