// Tests the query by which KEDA adds replicas in Prometheus: promtool supplies series and checks the result. The rows
// are those in `_lag-query.tpl`.

import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { stringify } from "yaml";

import { type Found, findPrometheus } from "../../tools/prometheus/find.ts";
import { NO_HELM, only, resources } from "../support/chart/helm.ts";

const execute = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), "switchyard-lag-"));
afterAll(() => rmSync(folder, { recursive: true }));

let found: Found = { kind: "none", why: "" };
beforeAll(async () => {
  found = await findPrometheus(AbortSignal.timeout(100_000), () => undefined);
});
beforeEach((context) => {
  if (NO_HELM !== null) context.skip(NO_HELM);
  if (found.kind === "none") context.skip(found.why);
});

/** A series of one pod of a stage: a metric, its labels, and its value. */
type Series = readonly [metric: string, labels: Readonly<Record<string, string>>, value: string];

const AGE = "switchyard_consumer_oldest_unprocessed_age_seconds";
const ON_HOLD = "switchyard_destination_on_hold";
const LATE = "switchyard_delay_overdue_seconds_bucket";

const deliver = (destination: string, seconds: number): Series => [
  AGE,
  { stage: "deliver", destination },
  `${seconds}x20`,
];
const onHold = (destination: string): Series => [
  ON_HOLD,
  { destination, reason: "circuit-open" },
  "1x20",
];
const late = (le: string, perMinute: number): Series => [
  LATE,
  { le, delay: "10s" },
  `0+${perMinute}x20`,
];

test.each<
  readonly [row: string, stage: string, series: readonly Series[], expected: number | null]
>([
  ["the oldest of all destinations", "deliver", [deliver("a", 5), deliver("b", 90)], 90],
  [
    "a queue on hold does not count",
    "deliver",
    [deliver("a", 5), deliver("b", 90), onHold("b")],
    5,
  ],
  ["all queues are on hold", "deliver", [deliver("b", 90), onHold("b")], 0],
  ["a queue is on hold, and no lag is known", "deliver", [onHold("b")], null],
  ["no lag is known", "route", [], null],
  ["lag of route", "route", [[AGE, { stage: "route", destination: "" }, "40x20"]], 40],
  ["records come back late", "delay", [late("10", 0), late("60", 6), late("+Inf", 6)], 59.5],
  ["nothing comes back", "delay", [], 0],
])("%s: %s", async (_row, stage, series, expected) => {
  const all = await resources("keda");
  const { query } = only(all, "ScaledObject", `rel-switchyard-${stage}`).spec.triggers[0].metadata;
  const where = { namespace: "ns", pod: `rel-switchyard-${stage}-abc-1` };
  const elsewhere: Series = [
    AGE,
    { stage, destination: "a", namespace: "other", pod: "x-1" },
    "9999x20",
  ];
  const file = join(folder, "lag.yaml");
  const input = [
    ...series.map(([name, labels, value]) => [name, { ...where, ...labels }, value] as const),
    elsewhere,
  ];
  writeFileSync(
    file,
    stringify({
      tests: [
        {
          interval: "1m",
          input_series: input.map(([name, labels, values]) => ({
            series: text(name, labels),
            values,
          })),
          promql_expr_test: [
            {
              expr: query,
              eval_time: "10m",
              exp_samples: expected === null ? [] : [{ labels: "{}", value: expected }],
            },
          ],
        },
      ],
    }),
  );
  const promtool = join(found.kind === "folder" ? found.folder : "", "promtool");
  const ran = await execute(promtool, ["test", "rules", file]).catch((error: unknown) => error);
  expect(ran).toMatchObject({ stdout: expect.stringContaining("SUCCESS") });
});

function text(name: string, labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map(([key, value]) => `${key}=${JSON.stringify(value)}`);
  return `${name}{${pairs.join(",")}}`;
}
