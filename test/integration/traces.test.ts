// The trace of one call through the real program, in an OpenTelemetry collector: ingest, route, five destinations, and
// an attempt that is retried.

import { expect, test } from "vitest";
import { freePort } from "../../tools/kafka/free-port.ts";
import { useKafka } from "../support/kit/kafka.ts";
import { useProgram } from "../support/kit/program.ts";
import { useReceiver } from "../support/kit/receiver.ts";
import {
  type CollectedSpan,
  type OtlpCollector,
  startOtlpCollector,
} from "../support/servers/otlp-collector.ts";

const DESTINATIONS = ["d1", "d2", "d3", "d4", "d5"];
const CALLER = { traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331" };

/** Starts the program, and a receiver that fails the first request to `/d1`. */
async function startWorld(collector: string, tracing: object) {
  const { url, taken: received } = await useReceiver(({ path, earlier }) =>
    path === "/d1" && earlier === 0 ? 503 : 200,
  );
  const { prefix, brokers } = useKafka("traces");
  const webhook = (id: string) => {
    const traceparent = id === "d2" || id === "d1";
    // The name is looked up.
    const endpoint = `${url.replace("127.0.0.1", "localhost")}/${id}`;
    return { messageIdHeader: false, traceparent, endpoints: [{ url: endpoint }] };
  };
  const { ready } = useProgram({
    kafka: { brokers, topicPrefix: prefix },
    destinations: Object.fromEntries(DESTINATIONS.map((id) => [id, webhook(id)])),
    delivery: { allowNetworks: ["127.0.0.0/8", "::1/128"], retryDelays: ["1s"] },
    tracing: { url: collector, headers: { "X-Api-Key": "abc" }, ...tracing },
  });
  const running = await ready();
  const call = async (messageId: string, traceparent?: string) => {
    const headers = traceparent === undefined ? {} : { traceparent };
    const body = { userId: "u", event: "e", messageId };
    expect(await running.post("/v1/track", body, headers)).toBe(200);
  };
  /** When the program stops, the remaining spans are posted. */
  const stop = async () => {
    expect(await running.stop()).toBe(0);
  };
  return { received, call, stop, running };
}

function named({ spans }: OtlpCollector, name: string): readonly CollectedSpan[] {
  return spans.filter((span) => span.name === name);
}

function only(spans: readonly CollectedSpan[]): CollectedSpan {
  expect(spans).toHaveLength(1);
  return spans[0] as CollectedSpan;
}

const linkTo = ({ traceId, spanId }: CollectedSpan) => [{ traceId, spanId }];

test("one call from receipt to its final states: five destinations, and a retried attempt", async () => {
  await using collector = await startOtlpCollector();
  const { received, call, stop } = await startWorld(collector.url, { parentBased: true });
  await call("m-1", `00-${CALLER.traceId}-${CALLER.spanId}-01`);
  await expect.poll(() => received.length).toBe(DESTINATIONS.length + 1);
  await stop();

  const ingest = only(named(collector, "POST /v1/track"));
  expect(ingest).toMatchObject({ traceId: CALLER.traceId, parentSpanId: CALLER.spanId });
  expect(ingest.attributes["http.response.status_code"]).toBe(200);
  const route = only(collector.spans.filter(({ name }) => name.startsWith("route ")));
  expect(route).toMatchObject({ traceId: CALLER.traceId, parentSpanId: ingest.spanId });
  expect(route.attributes["messaging.message.id"]).toBe("m-1");
  expect(route.attributes["switchyard.destinations"]).toEqual(DESTINATIONS);

  const attempts = collector.spans.filter(({ name }) => name.startsWith("deliver "));
  expect(new Set(attempts.map(({ traceId }) => traceId)).size).toBe(DESTINATIONS.length + 1);
  const first = attempts.filter(({ attributes }) => attributes["switchyard.attempt"] === 1);
  expect(first.map(({ attributes }) => attributes["switchyard.destination"]).toSorted()).toEqual(
    DESTINATIONS,
  );
  for (const { links } of first) expect(links).toEqual(linkTo(route));

  const failed = only(first.filter(({ status }) => status === 2));
  expect(failed.attributes["switchyard.decision"]).toBe("retry");
  const delay = only(named(collector, "delay 1s"));
  expect(delay.links).toEqual(linkTo(failed));
  expect(delay.endMs - delay.startMs).toBeGreaterThanOrEqual(900);
  const again = only(attempts.filter((each) => each.attributes["switchyard.attempt"] === 2));
  expect(again.links).toEqual(linkTo(delay));
  expect(again.attributes).toMatchObject({
    "switchyard.destination": "d1",
    "switchyard.decision": "accepted",
    "messaging.message.id": "m-1",
  });

  const posts = named(collector, "POST");
  expect(posts).toHaveLength(DESTINATIONS.length + 1);
  for (const post of posts) {
    const phases = collector.spans.filter(({ parentSpanId }) => parentSpanId === post.spanId);
    expect(phases.map(({ name }) => name)).toEqual(expect.arrayContaining(["wait", "body"]));
    for (const { startMs, endMs } of phases) expect(endMs).toBeGreaterThanOrEqual(startMs);
  }
  const phaseNames = new Set(collector.spans.map(({ name }) => name));
  expect([...phaseNames]).toEqual(expect.arrayContaining(["dns", "connect"]));
  const of = (path: string) => received.filter((each) => each.path === path);
  const parents = (path: string) => of(path).map(({ headers }) => headers.traceparent);
  const post = posts.find(({ traceId }) => traceId === again.traceId);
  expect(parents("/d1")[1]).toBe(`00-${post?.traceId}-${post?.spanId}-01`);
  expect(parents("/d3")).toEqual([undefined]);
  expect(collector.spans[0]?.resource).toMatchObject({ "service.name": "switchyard" });
  expect(collector.headers[0]).toMatchObject({ "x-api-key": "abc" });
});

test("a trace that is not sampled has no span, and its traceparent is passed on if a destination wants it", async () => {
  await using collector = await startOtlpCollector();
  const options = { parentBased: true, sampleRatio: "100%" };
  const { received, call, stop } = await startWorld(collector.url, options);
  await call("m-1", `00-${CALLER.traceId}-${CALLER.spanId}-00`);
  await expect.poll(() => received.length).toBe(DESTINATIONS.length + 1);
  await stop();
  expect(collector.spans).toEqual([]);
  const parent = received.find(({ path }) => path === "/d2")?.headers.traceparent;
  expect(parent).toMatch(new RegExp(`^00-${CALLER.traceId}-[0-9a-f]{16}-00$`));
});

test("an unreachable collector costs only spans, and is reported", async () => {
  const nobody = `http://127.0.0.1:${await freePort()}/v1/traces`;
  const { received, call, running } = await startWorld(nobody, { sampleRatio: "100%" });
  await call("m-1");
  await expect.poll(() => received.length).toBe(DESTINATIONS.length + 1);
  const line = await running.logged("tracing.dropped");
  expect(String(line.error)).toContain("ECONNREFUSED");
  expect(await running.get("/metrics")).toMatch(
    /switchyard_tracing_spans_total\{outcome="dropped"\} [1-9]/,
  );
});
