import { expect, test } from "vitest";
import { traceHeaders, traceOf, traceParent } from "../../../../src/domain/trace-context.ts";
import { phaseSpans, traceAttempt } from "../../../../src/router/deliver/attempt-trace.ts";
import type {
  Phases,
  RequestResult,
  Sender,
  SendResult,
} from "../../../../src/router/destinations/port.ts";
import type { WebhookRequest } from "../../../../src/router/destinations/webhook/request.ts";
import { webhookTransport } from "../../../../src/router/destinations/webhook/transport.ts";
import { aRecord } from "../../../support/build/calls.ts";
import {
  aTrace,
  type RecordedSpans,
  recordedSpans,
} from "../../../support/build/recorded-spans.ts";
import {
  deliveryOf,
  endpointOf,
  webhookDestination,
} from "../../../support/build/webhook-destination.ts";

const ENDPOINT = endpointOf("https://crm.example.com/secret/hook");
const PREPARED = { headers: [["X-Own", "1"]], body: Buffer.from("{}") };
const ACCEPTED: SendResult = { kind: "response", status: 204, retryAfter: null, durationMs: 30 };
const REFUSED: SendResult = { kind: "response", status: 503, retryAfter: null, durationMs: 30 };
const HUNG: SendResult = { kind: "no-response", cause: "timeout", durationMs: 5_000 };

function attempt(
  tracing: RecordedSpans | undefined,
  trace = aTrace(),
  isAsked = false,
  result = ACCEPTED,
) {
  const sent: WebhookRequest[] = [];
  const results: RequestResult[] = [];
  const sender = webhookTransport({
    update: () => false,
    open: () => ({
      send: (_endpoint, request, done, phases: Phases = {}) => {
        sent.push(request);
        Object.assign(phases, { sentMs: 1, headMs: 20 });
        done(result);
      },
      update: () => undefined,
      close: () => Promise.resolve(),
    }),
  }).open(webhookDestination());
  const record = aRecord({}, { topic: "deliveries.crm", headers: traceHeaders(trace) });
  const ports = { tracing, sender, nowMs: () => 1_000, group: "deliver.crm" };
  const made = traceAttempt(
    ports,
    [{ item: { record }, delivery: deliveryOf({ attempt: 2 }) }],
    isAsked,
  );
  made?.send(ENDPOINT, PREPARED, (each) => results.push(each));
  made?.end(result === ACCEPTED ? "accepted" : "retry", 1_040);
  const headers = sent[0]?.headers.slice(1) ?? [];
  return { made, spans: tracing?.spans ?? [], headers, results, record };
}

test("an attempt has a trace of its own, linked to the one of its record", () => {
  const { spans, results } = attempt(recordedSpans());
  const [deliver, post, ...phases] = spans;
  expect(deliver).toMatchObject({
    name: "deliver deliveries.crm",
    links: [aTrace()],
    startMs: 1_000,
    endMs: 1_040,
    error: null,
    attributes: {
      "messaging.message.id": "m-1",
      "switchyard.destination": "crm",
      "switchyard.attempt": 3,
      "switchyard.decision": "accepted",
    },
  });
  expect(deliver?.parent).toBeUndefined();
  expect(post).toMatchObject({
    name: "POST",
    kind: "client",
    parent: deliver?.context,
    startMs: 1_000,
    endMs: 1_030,
    attributes: {
      "server.address": "crm.example.com",
      "server.port": 443,
      "http.response.status_code": 204,
      "switchyard.endpoint": ENDPOINT.key,
    },
  });
  expect(phases.map(({ name, parent, startMs, endMs }) => [name, parent, startMs, endMs])).toEqual([
    ["wait", post?.context, 1_001, 1_020],
    ["body", post?.context, 1_020, 1_030],
  ]);
  expect(results).toEqual([ACCEPTED]);
  expect(JSON.stringify(spans)).not.toContain("secret");
});

test.each([
  ["a refusal", REFUSED, "503"],
  ["no response", HUNG, "timeout"],
])("%s is in both spans", (_name, result, error) => {
  const [deliver, post] = attempt(recordedSpans(), aTrace(), false, result).spans;
  expect(deliver?.error).toBe("retry");
  expect(post?.error).toBe(error);
});

test("the record in the delivery's place belongs to the attempt's trace", () => {
  const { made, spans, record } = attempt(recordedSpans());
  const followed = made?.follow(record);
  expect(followed && traceOf(followed)).toEqual(spans[0]?.context);
  expect(followed).toMatchObject({ offset: record.offset, value: record.value });
});

/** Returns the attempt of a batch of records with these traces; null for a record without one. */
function batchAttempt(traces: readonly (ReturnType<typeof aTrace> | null)[], isAsked = true) {
  const tracing = recordedSpans();
  const named: (string | undefined)[] = [];
  const http = { send: () => undefined, update: () => undefined, close: async () => {} };
  const transport = webhookTransport({ update: () => false, open: () => http });
  const sender = Object.assign(transport.open(webhookDestination()), {
    send: (...[, , , , traceparent]: Parameters<Sender["send"]>) => named.push(traceparent),
  });
  const ports = { tracing, sender, nowMs: () => 1_000, group: "deliver.crm" };
  const calls = traces.map((trace, offset) => {
    const headers = trace === null ? [] : traceHeaders(trace);
    const record = aRecord({}, { topic: "deliveries.crm", offset, headers });
    return { item: { record }, delivery: deliveryOf() };
  });
  const made = traceAttempt(ports, calls, isAsked);
  made?.send(ENDPOINT, PREPARED, () => undefined);
  const followed = calls.map(({ item }) => (made === null ? null : made.follow(item.record)));
  return { made, spans: tracing.spans, named, followed, calls };
}

test("an attempt at a batch is linked to the kept traces of its calls, and names its own request", () => {
  const [kept, notKept] = [aTrace(), aTrace({ isSampled: false })];
  const { spans, named, followed, calls } = batchAttempt([null, kept, notKept, kept]);
  expect(spans[0]).toMatchObject({
    name: "deliver deliveries.crm",
    links: [kept, kept],
    attributes: { "messaging.batch.message_count": 4 },
  });
  const own = spans[1]?.context;
  expect(named).toEqual([own && traceParent(own)]);
  // From now on, only a record whose trace is kept belongs to the attempt's trace.
  const isFollowed = followed.map((record, at) => record !== calls[at]?.item.record);
  expect(isFollowed).toEqual([false, true, false, true]);
});

test("an attempt at a batch has at most 100 links", () => {
  expect(batchAttempt(Array(150).fill(aTrace())).spans[0]?.links).toHaveLength(100);
});

test("a batch of calls whose traces are not kept has no trace", () => {
  const notKept = aTrace({ isSampled: false });
  expect(batchAttempt([notKept, notKept]).made).toBeNull();
  expect(batchAttempt([null, null]).made).toBeNull();
});

test.each([
  // traces on, trace kept, destination asks; traceparent
  ["kept, not asked for", true, true, false, "none"],
  ["kept, asked for", true, true, true, "own"],
  ["not kept, asked for", true, false, true, "as it came"],
  ["traces are off, asked for", false, true, true, "as it came"],
  ["traces are off, not asked for", false, true, false, "none"],
])("traceparent: %s", (_name, isOn, isSampled, isAsked, expected) => {
  const trace = aTrace({ isSampled });
  const { headers, spans } = attempt(isOn ? recordedSpans() : undefined, trace, isAsked);
  const own = spans[1]?.context;
  const text = expected === "own" && own !== undefined ? own : trace;
  expect(headers).toEqual(expected === "none" ? [] : [["traceparent", traceParent(text)]]);
});

test("a delivery without a trace is attempted as without traces", () => {
  const http = { send: () => undefined, update: () => undefined, close: async () => {} };
  const transport = webhookTransport({ update: () => false, open: () => http });
  const sender = transport.open(webhookDestination());
  const ports = { tracing: recordedSpans(), sender, nowMs: () => 1, group: "g" };
  expect(
    traceAttempt(ports, [{ item: { record: aRecord({}) }, delivery: deliveryOf() }], true),
  ).toBeNull();
});

test.each<[string, Phases, string]>([
  [
    "a new connection to a name, by TLS",
    {
      isName: true,
      isSecure: true,
      openedMs: 1,
      lookedUpMs: 5,
      connectedMs: 10,
      securedMs: 20,
      sentMs: 21,
      headMs: 30,
    },
    "dns 1-5, connect 5-10, tls 10-20, wait 21-30, body 30-40",
  ],
  [
    "to an address, plain",
    { isName: false, isSecure: false, openedMs: 1, connectedMs: 10, sentMs: 11, headMs: 30 },
    "connect 1-10, wait 11-30, body 30-40",
  ],
  ["a connection that was there", { sentMs: 1, headMs: 30 }, "wait 1-30, body 30-40"],
  ["the name is not found", { isName: true, isSecure: true, openedMs: 1 }, "dns 1-40"],
  ["nobody is there", { isName: true, openedMs: 1, lookedUpMs: 2 }, "dns 1-2, connect 2-40"],
  [
    "no certificate to be trusted",
    { isName: false, isSecure: true, openedMs: 1, connectedMs: 3 },
    "connect 1-3, tls 3-40",
  ],
  ["no response", { sentMs: 1 }, "wait 1-40"],
  ["nothing was begun", {}, ""],
])("phases: %s", (_name, phases, expected) => {
  const spans = phaseSpans(phases, 40).map(({ name, fromMs, toMs }) => `${name} ${fromMs}-${toMs}`);
  expect(spans.join(", ")).toBe(expected);
});
