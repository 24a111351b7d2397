import { expect, test } from "vitest";
import { auditPeriod } from "../../../../../src/program/cli/audit/command.ts";

const NOW_MS = Date.parse("2026-03-08T09:35:00Z");
const at = (text: string) => Date.parse(`2026-03-${text}Z`);

test("without options, the calls of a day are audited, up to two minutes ago", () => {
  expect(auditPeriod({}, NOW_MS)).toEqual({ fromMs: at("07T09:35"), toMs: at("08T09:33") });
});

test.each([
  ["the ten minutes before now", at("08T09:20"), at("08T09:30")],
  [
    "7 days, although some seconds have passed since the option was read",
    at("01T09:34:50"),
    NOW_MS,
  ],
])("is a period: %s", (_, since, until) => {
  expect(auditPeriod({ since, until }, NOW_MS)).toEqual({ fromMs: since, toMs: until });
});

test.each([
  ["--since is not before --until", at("08T09:00"), at("08T09:00")],
  ["there are none between --since and --until", at("08T09:21"), at("08T09:39")],
  ["the ledger is kept for 7 days", at("01T09:30"), NOW_MS],
])("is not a period: %s", (message, since, until) => {
  expect(() => auditPeriod({ since, until }, NOW_MS)).toThrow(message);
});
