// The trace of one call through the real program, in an OpenTelemetry collector: ingest, route, five destinations, and
// an attempt that is retried.

import { once } from "node:events";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";

import { freePort } from "../../tools/kafka/free-port.ts";
import { uniquePrefix } from "../support/build/prefix.ts";
import {
  type CollectedSpan,
  type OtlpCollector,
  startOtlpCollector,
} from "../support/servers/otlp-collector.ts";
import { programWorld } from "../support/servers/program.ts";
import { deleteTopics, testKafka } from "../support/worlds/test-kafka.ts";

const TIMEOUT_MS = 300_000;
const POLL = { timeout: 60_000 };
const brokers = (process.env.SWITCHYARD_KAFKA_BROKERS ?? "").split(",");
const DESTINATIONS = ["d1", "d2", "d3", "d4", "d5"];
const CALLER = { traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331" };

/** Starts a receiver that fails the first request to `/d1`. */
async function startReceiver() {
  const received: { readonly path: string; readonly headers: IncomingHttpHeaders }[] = [];
  const server = createServer((request, response) => {
    const path = request.url ?? "";
    const isFirst = path === "/d1" && !received.some((each) => each.path === path);
    received.push({ path, headers: request.headers });
    request.resume().on("end", () => response.writeHead(isFirst ? 503 : 200).end());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { received, port: (server.address() as AddressInfo).port };
}

async function startWorld(collector: string, tracing: string) {
  const { received, port } = await startReceiver();
  const prefix = uniquePrefix("traces");
  const [ingest, admin] = [await freePort(), await freePort()];
  const webhooks = DESTINATIONS.map((id) => {
    const asks = id === "d2" || id === "d1" ? ", traceparent: true" : "";
    return `  - { id: ${id}, type: webhook, endpoints: [{ url: "http://localhost:${port}/${id}" }]${asks} }`;
  });
  const program = programWorld(`
kafka:
  brokers: [${brokers.join(", ")}]
  topicPrefix: ${prefix}
  partitions: 1
  replicationFactor: 1
sources: [{ id: web, writeKey: k, destinations: [${DESTINATIONS.join(", ")}] }]
destinations:
${webhooks.join("\n")}
delivery: { allowNetworks: [127.0.0.0/8, "::1/128"], retryDelays: [1s] }
ingest: { host: 127.0.0.1, port: ${ingest}, handover: 100ms }
admin: { host: 127.0.0.1, port: ${admin} }
tracing: { url: "${collector}", headers: { X-Api-Key: abc }, ${tracing} }
`);
  onTestFinished(async () => {
    await program[Symbol.asyncDispose]();
    const kafka = testKafka();
    await deleteTopics(kafka, prefix);
    await kafka.close();
  });
  const running = program.start();
  await running.logged("ready");
  const call = async (messageId: string, traceparent?: string) => {
    const { status } = await fetch(`http://127.0.0.1:${ingest}/v1/track`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        authorization: `Basic ${Buffer.from("k:").toString("base64")}`,
        ...(traceparent === undefined ? {} : { traceparent }),
      },
      body: JSON.stringify({ userId: "u", event: "e", messageId }),
    });
    expect(status).toBe(200);
  };
  const metrics = async () => await (await fetch(`http://127.0.0.1:${admin}/metrics`)).text();
  /** When the program stops, the remaining spans are posted. */
  const stop = async () => {
    running.child.kill("SIGTERM");
    expect(await running.ended).toBe(0);
  };
  return { received, call, metrics, stop, running };
}

function named({ spans }: OtlpCollector, name: string): readonly CollectedSpan[] {
  return spans.filter((span) => span.name === name);
}

function only(spans: readonly CollectedSpan[]): CollectedSpan {
  expect(spans).toHaveLength(1);
  return spans[0] as CollectedSpan;
}

const linkTo = ({ traceId, spanId }: CollectedSpan) => [{ traceId, spanId }];

test(
  "one call from receipt to its final states: five destinations, and a retried attempt",
  async () => {
    await using collector = await startOtlpCollector();
    const { received, call, stop } = await startWorld(collector.url, "parentBased: true");
    await call("m-1", `00-${CALLER.traceId}-${CALLER.spanId}-01`);
    await expect.poll(() => received.length, POLL).toBe(DESTINATIONS.length + 1);
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
  },
  TIMEOUT_MS,
);

test(
  "a trace that is not sampled has no span, and its traceparent is passed on if a destination wants it",
  async () => {
    await using collector = await startOtlpCollector();
    const options = "parentBased: true, sampleRatio: 100%";
    const { received, call, stop } = await startWorld(collector.url, options);
    await call("m-1", `00-${CALLER.traceId}-${CALLER.spanId}-00`);
    await expect.poll(() => received.length, POLL).toBe(DESTINATIONS.length + 1);
    await stop();
    expect(collector.spans).toEqual([]);
    const parent = received.find(({ path }) => path === "/d2")?.headers.traceparent;
    expect(parent).toMatch(new RegExp(`^00-${CALLER.traceId}-[0-9a-f]{16}-00$`));
  },
  TIMEOUT_MS,
);

test(
  "an unreachable collector costs only spans, and is reported",
  async () => {
    const nobody = `http://127.0.0.1:${await freePort()}/v1/traces`;
    const { received, call, metrics, running } = await startWorld(nobody, "sampleRatio: 100%");
    await call("m-1");
    await expect.poll(() => received.length, POLL).toBe(DESTINATIONS.length + 1);
    const line = await running.logged("tracing.dropped");
    expect(String(line.error)).toContain("ECONNREFUSED");
    expect(await metrics()).toMatch(/switchyard_tracing_spans_total\{outcome="dropped"\} [1-9]/);
  },
  TIMEOUT_MS,
);
