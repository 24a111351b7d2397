import { expect, test } from "vitest";
import { systemClock } from "../../../../src/base/runtime/clock.ts";
import { createMetrics } from "../../../../src/base/telemetry/instruments.ts";
import { createReport } from "../../../../src/router/ingest/report.ts";

import { parsedLog } from "../../../support/log/parsed-log.ts";

test("a flood of internal errors is ten lines a second, which do not quote a body", () => {
  const { log, lines } = parsedLog();
  const clock = { ...systemClock, nowMs: () => 0 };
  const report = createReport({ log, clock, metrics: createMetrics() });
  for (let error = 0; error < 30; error += 1) {
    const answer = report.logFailure(new SyntaxError('Unexpected token in "jane@example.com"'));
    expect(answer).toMatchObject({ code: "kafka-unavailable" });
  }
  expect(lines).toHaveLength(10);
  expect(lines[0]).toMatchObject({ msg: "ingest.internal-error", error: "SyntaxError" });
  expect(JSON.stringify(lines)).not.toContain("jane");
});
