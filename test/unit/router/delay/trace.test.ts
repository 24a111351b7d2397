import { expect, test } from "vitest";
import type { DestinationId } from "../../../../src/domain/ids.ts";
import { traceHeaders, traceOf } from "../../../../src/domain/trace-context.ts";
import { outgoingOf } from "../../../../src/router/delay/stage.ts";
import { delayTraces } from "../../../../src/router/delay/trace.ts";
import { aRecord } from "../../../support/build/calls.ts";
import { aTrace, recordedSpans } from "../../../support/build/recorded-spans.ts";

function sent(isSampled: boolean, tracing = recordedSpans()) {
  const headers = [["a", null], ...traceHeaders(aTrace({ isSampled }))] as const;
  const record = aRecord({}, { headers, timestampMs: 1_000 });
  const waiting = {
    kind: "waiting",
    ...{ record, scheduledAtMs: 1_000, dueAtMs: 6_000, firstAttemptAtMs: null, receivedAtMs: 0 },
    destination: "crm" as DestinationId,
    topics: ["deliveries.crm"],
  } as const;
  const verdict = { kind: "return", topic: "deliveries.crm", dueAtMs: 6_000 } as const;
  const traces = delayTraces(tracing, "5s", "sw.delay.5s")();
  const [returned] = outgoingOf([{ waiting, verdict }], traces.begin).returned;
  traces.end(6_010);
  const [copy] = returned?.records ?? [];
  return { spans: tracing.spans, copy, record };
}

test("a delay has a trace of its own, between the attempts", () => {
  const { spans, copy } = sent(true);
  expect(spans).toHaveLength(1);
  const [span] = spans;
  expect(span).toMatchObject({
    name: "delay 5s",
    links: [aTrace()],
    startMs: 1_000,
    endMs: 6_010,
    attributes: { "switchyard.delay": "5s", "messaging.consumer.group.name": "sw.delay.5s" },
  });
  expect(span?.parent).toBeUndefined();
  expect(copy && traceOf(copy)).toEqual(span?.context);
  expect(copy?.headers.map(([name]) => name)).toEqual(["a", "traceparent"]);
});

test("a record whose trace is not kept goes back as it came", () => {
  const { spans, copy, record } = sent(false);
  expect(spans).toEqual([]);
  expect(copy?.headers).toEqual(record.headers);
});

test("without traces too", () => {
  const traces = delayTraces(undefined, "5s", "g")();
  expect(traces.begin(aRecord({}, { headers: traceHeaders(aTrace()) }))).toBeNull();
  expect(() => traces.end(1)).not.toThrow();
});
