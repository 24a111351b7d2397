import { expect, test } from "vitest";

import type { SourceId } from "../../../../src/domain/ids.ts";
import { topicNames } from "../../../../src/domain/topics.ts";
import { traceHeaders, traceOf } from "../../../../src/domain/trace-context.ts";
import { routeRecord } from "../../../../src/router/route/route-record.ts";
import { createRouting } from "../../../../src/router/route/routing.ts";
import { routeTraces } from "../../../../src/router/route/trace.ts";
import { aRecord, aSource, aTopicDestination } from "../../../support/build/calls.ts";
import { aTrace, recordedSpans } from "../../../support/build/recorded-spans.ts";

const routing = createRouting(
  [aSource("web", ["a", "b"])],
  "web" as SourceId,
  [aTopicDestination("a"), aTopicDestination("b")],
  topicNames("sw."),
);
const CALL = { type: "track", userId: "u1", event: "e", messageId: "m1" };

function routed(tracing: ReturnType<typeof recordedSpans>, headers = traceHeaders(aTrace())) {
  const traces = routeTraces(tracing, "sw.route");
  const record = aRecord(CALL, { headers });
  const made = traces.route(record, 1_000, (trace) => routeRecord(record, routing, 1_000, trace));
  if (made.kind === "unusable") throw new Error(made.error);
  traces.written([made], 1_500);
  const copies = made.records.map((copy) => {
    return traceOf({ headers: [...(copy.sharedHeaders ?? []), ...copy.headers] });
  });
  return { copies, spans: tracing.spans };
}

test("a kept trace continues, and each copy names the span", () => {
  const { copies, spans } = routed(recordedSpans(false));
  const [span] = spans;
  expect(spans).toHaveLength(1);
  expect(span).toMatchObject({
    name: "route calls",
    kind: "consumer",
    parent: aTrace(),
    startMs: 1_000,
    endMs: 1_500,
    error: null,
    attributes: {
      "messaging.message.id": "m1",
      "messaging.consumer.group.name": "sw.route",
      "messaging.kafka.offset": 42,
      "switchyard.source": "web",
      "switchyard.destinations": ["a", "b"],
    },
  });
  expect(copies).toEqual([span?.context, span?.context]);
});

test("a trace that is not kept stays as it is", () => {
  const trace = aTrace({ isSampled: false });
  const { copies, spans } = routed(recordedSpans(true), traceHeaders(trace));
  expect(spans).toEqual([]);
  expect(copies).toEqual([trace, trace]);
});

test.each([
  ["begins a trace that is kept", true, 1],
  ["has no span when it is not", false, 0],
])("a call without a trace %s", (_name, isKept, spansMade) => {
  const { copies, spans } = routed(recordedSpans(isKept), []);
  expect(spans).toHaveLength(spansMade);
  expect(copies.map((copy) => copy?.traceId)).toEqual([
    spans[0]?.context.traceId,
    spans[0]?.context.traceId,
  ]);
});

test("a refused record's span ends with its reason", () => {
  const tracing = recordedSpans(true);
  const traces = routeTraces(tracing, "sw.route");
  const record = aRecord(Buffer.from("{"));
  const made = traces.route(record, 1, (trace) => routeRecord(record, routing, 1, trace));
  traces.written([made], 2);
  expect(tracing.spans[0]).toMatchObject({ error: "undecodable", endMs: 2 });
});

test("without traces nothing is changed", () => {
  const traces = routeTraces(undefined, "sw.route");
  const record = aRecord(CALL, { headers: traceHeaders(aTrace()) });
  const made = traces.route(record, 1, (trace) => {
    expect(trace).toBeNull();
    return routeRecord(record, routing, 1, trace);
  });
  expect(() => traces.written([made], 2)).not.toThrow();
});
