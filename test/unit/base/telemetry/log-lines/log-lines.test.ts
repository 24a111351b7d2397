// Log calls agree with the table of log lines. The compiler checks that a call writes no other line and no other field.
// This test checks that the compiler would report one, and that nothing in the table is unused.

import { expect, test } from "vitest";

import { LOG_FIELDS } from "../../../../../src/base/telemetry/log-lines/fields.ts";
import type { LineSpec } from "../../../../../src/base/telemetry/log-lines/line-spec.ts";
import { LOG_LINES } from "../../../../../src/base/telemetry/log-lines/log-lines.ts";
import { LogLines } from "../../../../support/log/log-lines.ts";
import { projectTexts } from "../../../../support/project/tracked-texts.ts";

const LINES: readonly (readonly [string, LineSpec])[] = Object.entries(LOG_LINES);
const CODE = projectTexts().filter(
  ({ path }) => path.startsWith("src/") && !path.startsWith("src/base/telemetry/log-lines/"),
);

test("what the table does not have does not compile", () => {
  const { log } = new LogLines();
  const more = { stage: "route", secret: "" };
  log.info({ stage: "route" }, "stage.started");
  // @ts-expect-error a line that is not declared
  log.info({ stage: "route" }, "stage.begun");
  // @ts-expect-error a level that the line does not have
  log.error({ stage: "route" }, "stage.started");
  // @ts-expect-error a field is missing
  log.info({}, "stage.started");
  // @ts-expect-error a field that is not declared
  log.info({ stage: "route", secret: "" }, "stage.started");
  // @ts-expect-error the same, by a variable
  log.info(more, "stage.started");
  // @ts-expect-error the same, on one way of two
  log.info(Math.random() < 2 ? more : { stage: "route" }, "stage.started");
  // @ts-expect-error a field of another type
  log.info({ stage: 1 }, "stage.started");
});

test("each line of the table is written somewhere", () => {
  const unused = LINES.filter(([name]) => !CODE.some(({ text }) => text.includes(`"${name}"`)));
  expect(unused.map(([name]) => name)).toEqual([]);
  expect(CODE.some(({ text }) => text.includes('"stage.begun"'))).toBe(false);
});

test("each field is on a line", () => {
  const used = new Set(LINES.flatMap(([, { fields, optional = [] }]) => [...fields, ...optional]));
  expect(Object.keys(LOG_FIELDS).filter((name) => !used.has(name as never))).toEqual([]);
});

test("fields and lines stand under one name each", () => {
  for (const [name, { fields, optional = [], levels }] of LINES) {
    const all = [...fields, ...optional];
    expect(new Set(all).size, name).toBe(all.length);
    expect(levels.length, name).toBeGreaterThan(0);
  }
  expect(Object.keys(LOG_FIELDS)).toEqual(Object.keys(LOG_FIELDS).toSorted());
});

test("a line about a delivery names its stage, destination and call", () => {
  const deliveries = ["delivery.attempted", "delivery.dead-lettered"] as const;
  for (const name of deliveries) {
    const { fields, optional } = LOG_LINES[name];
    const all: readonly string[] = [...fields, ...optional];
    expect(all, name).toEqual(expect.arrayContaining(["stage", "destination", "source"]));
    expect(all, name).toContain("messageId");
  }
});
