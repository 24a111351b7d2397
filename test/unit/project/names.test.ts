// Names of which there may be only one: two metrics or settings of one name would hide each other.

import { describe, expect, test } from "vitest";
import { text } from "../../../src/base/settings/scalars.ts";
import { optional, section } from "../../../src/base/settings/setting.ts";
import { METRICS } from "../../../src/base/telemetry/metrics.ts";
import { variables } from "../../../src/config/environment.ts";
import { SETTINGS } from "../../../src/config/settings.ts";

/** Those that are there more than once. */
function repeated(names: readonly string[]): readonly string[] {
  return names.filter((name, index) => names.indexOf(name) !== index);
}

function metricNames(table: Readonly<Record<string, { readonly name: string }>>): string[] {
  return Object.values(table).map(({ name }) => name);
}

describe("names are used once", () => {
  test("of metrics, with the project's prefix", () => {
    const names = metricNames(METRICS);
    expect(names.filter((name) => !/^switchyard_[a-z_]+$/.test(name))).toEqual([]);
    expect(repeated(names)).toEqual([]);
    const planted = { ...METRICS, another: METRICS.recordsIn };
    expect(repeated(metricNames(planted))).toEqual([METRICS.recordsIn.name]);
  });

  test("of metrics, whose ends show their types, as docs/metrics.md says", () => {
    const typeOf = (name: string) => {
      if (name.endsWith("_total")) return "counter";
      return /_(?:duration|latency|overdue)_seconds$/.test(name) ? "histogram" : "gauge";
    };
    const wrong = Object.values(METRICS).filter(({ name, type }) => type !== typeOf(name));
    expect(wrong).toEqual([]);
  });

  test("of settings in the environment, where camel case and dots look the same", () => {
    expect(repeated(variables(SETTINGS).map(({ name }) => name))).toEqual([]);
    const any = optional(
      text("anything", (given) => ({ kind: "value", value: given })),
      "",
    );
    const planted = section("", { a: section("", { bC: any }), aB: section("", { c: any }) });
    expect(repeated(variables(planted).map(({ name }) => name))).toEqual(["SWITCHYARD_A_B_C"]);
  });
});
