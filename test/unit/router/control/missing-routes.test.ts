// Destinations to which another process routes, but this process does not.

import { expect, test } from "vitest";
import { missingRoutes } from "../../../../src/router/control/missing-routes.ts";
import {
  type ProcessRecord,
  processRecord,
  readOperatorAction,
} from "../../../../src/router/control/operator-actions.ts";

function processOf(id: string, of: Partial<ProcessRecord> = {}): ProcessRecord {
  const routes = new Map([["web", ["crm"]]]);
  return { id, stages: ["route", "deliver"], sinceMs: 1_000, routes, ...of };
}

const own = processOf("own");
const MORE = new Map([
  ["web", ["crm", "erp"]],
  ["app", ["erp"]],
]);

test.each([
  ["the same routes", processOf("b"), []],
  ["fewer routes", processOf("b", { routes: new Map() }), []],
  ["its own record", processOf("own", { routes: MORE }), []],
  ["another stage", processOf("b", { routes: MORE, stages: ["ingest", "deliver"] }), []],
  [
    "more routes, known for longer",
    processOf("b", { routes: MORE, sinceMs: 500 }),
    [{ destination: "erp", sources: ["app", "web"], sinceMs: 1_000 }],
  ],
  [
    "more routes, newer",
    processOf("b", { routes: MORE, sinceMs: 9_000 }),
    [{ destination: "erp", sources: ["app", "web"], sinceMs: 9_000 }],
  ],
])("%s", (_name, other, missing) => {
  expect(missingRoutes(own, [own, other])).toEqual(missing);
});

test("deletion requests are shared as calls are", () => {
  const one = processOf("own", { stages: ["deletion"] });
  const other = processOf("b", { stages: ["deletion"], routes: MORE });
  expect(missingRoutes(one, [other])).toHaveLength(1);
});

test("of several processes the earliest counts", () => {
  const others = [
    processOf("b", { routes: MORE, sinceMs: 9_000 }),
    processOf("c", { routes: new Map([["app", ["erp"]]]), sinceMs: 5_000 }),
  ];
  expect(missingRoutes(own, others)).toEqual([
    { destination: "erp", sources: ["app", "web"], sinceMs: 5_000 },
  ]);
});

test("a record is read as it was written, and sources with the same destinations share a list", () => {
  const routes = new Map([
    ["web", ["crm", "erp"]],
    ["app", ["crm", "erp"]],
    ["shop", []],
  ]);
  const process = processOf("b", { routes });
  const record = processRecord("operations", process);
  expect(readOperatorAction(record)).toEqual({ kind: "process", process });
  expect(record.value?.toString().match(/crm/g)).toHaveLength(1);
});

test("routes that are too many for a record are omitted", () => {
  const all = Array.from({ length: 9_000 }, (_, at) => `destination-${at}`);
  const routes = new Map(Array.from({ length: 10 }, (_, at) => [`s${at}`, all.slice(at)] as const));
  const record = processRecord("operations", processOf("b", { routes }));
  expect(record.value?.length).toBeLessThan(1_000);
  expect(readOperatorAction(record)).toMatchObject({
    kind: "process",
    process: { routes: new Map() },
  });
});

test.each([
  ["no stages", { since: "2026-01-01T00:00:00.000Z", routes: [] }],
  ["no time", { stages: [], routes: [] }],
  ["no routes", { stages: [], since: "2026-01-01T00:00:00.000Z" }],
  ["routes that are none", { stages: [], since: "2026-01-01T00:00:00.000Z", routes: [null] }],
  ["routes without lists", { stages: [], since: "2026-01-01T00:00:00.000Z", routes: [{}] }],
])("a record with %s is rejected", (_name, value) => {
  const record = {
    key: Buffer.from("process/b"),
    value: Buffer.from(JSON.stringify({ v: 1, ...value })),
  };
  expect(readOperatorAction(record).kind).toBe("refused");
});
