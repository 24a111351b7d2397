import { expect, test } from "vitest";

import { traceOf, traceParent } from "../../../../src/domain/trace-context.ts";
import { failure, SUCCESS } from "../../../../src/router/ingest/responses.ts";
import { traceRequest } from "../../../../src/router/ingest/trace.ts";
import { aTrace, recordedSpans } from "../../../support/build/recorded-spans.ts";

const CALLER = aTrace();
const request = (traceparent?: string) => ({
  method: "POST",
  url: "/v1/batch?writeKey=secret",
  headers: traceparent === undefined ? {} : { traceparent },
});
const NOT_KEPT = traceParent(aTrace({ isSampled: false }));

test.each([
  // traceparent, parentBased, sampling says; kept
  ["no traceparent, sampled", undefined, false, true, true],
  ["no traceparent, not sampled", undefined, true, false, false],
  ["callers are not followed, sampled", NOT_KEPT, false, true, true],
  ["callers are not followed, not sampled", traceParent(CALLER), false, false, false],
  ["callers are followed, kept", traceParent(CALLER), true, false, true],
  ["callers are followed, not kept", NOT_KEPT, true, true, false],
  ["callers are followed, and it is no trace", "nonsense", true, true, true],
])("%s", (_name, given, parentBased, isSampled, isKept) => {
  const tracing = recordedSpans(isSampled);
  const { headers } = traceRequest({ tracing, parentBased }, request(given), 1);
  expect(tracing.spans).toHaveLength(isKept ? 1 : 0);
  expect(traceOf({ headers })?.isSampled).toBe(isKept);
  if (given === undefined || given === "nonsense") return;
  expect(traceOf({ headers })?.traceId).toBe(CALLER.traceId);
});

test.each([
  ["taken", SUCCESS, 200, null],
  ["refused, which is the caller's fault", failure("invalid-json"), 400, null],
  ["not stored", failure("kafka-unavailable"), 503, "503"],
  ["nobody is there any more", null, undefined, "client-closed"],
])("its span ends with the response: %s", (_name, response, status, error) => {
  const tracing = recordedSpans();
  traceRequest({ tracing, parentBased: false }, request(), 5).end(response, 9);
  expect(tracing.spans[0]).toMatchObject({
    name: "POST /v1/batch",
    kind: "server",
    startMs: 5,
    endMs: 9,
    error,
  });
  expect(tracing.spans[0]?.attributes["http.response.status_code"]).toBe(status);
  expect(JSON.stringify(tracing.spans)).not.toContain("secret");
});
