import { expect, test } from "vitest";
import { config, printed, problemPaths, SMALL } from "../../support/build/config-source.ts";

const URL = "http://c:4318/v1/traces";
const tracing = (inside: string) => config(`${SMALL}tracing: ${inside}\n`).tracing;

test("omitted: no traces", () => {
  expect(config(SMALL).tracing).toBeNull();
});

test("a URL is enough", () => {
  expect(tracing(`{ url: "${URL}" }`)).toEqual({
    url: URL,
    headers: [],
    sampleRatio: 0.01,
    parentBased: false,
    serviceName: "switchyard",
  });
});

test.each([
  ["0.5%", 0.005],
  ["100%", 1],
  ["0%", 0],
])("sampleRatio: %s", (given, share) => {
  expect(tracing(`{ url: "${URL}", sampleRatio: ${given} }`)?.sampleRatio).toBe(share);
});

test.each([
  ["{ url: nonsense }", "tracing.url"],
  ["{}", "tracing.url"],
  [`{ url: "${URL}", sampleRatio: 2 }`, "tracing.sampleRatio"],
  [`{ url: "${URL}", sampleRatio: "101%" }`, "tracing.sampleRatio"],
  [`{ url: "${URL}", headers: { Host: x } }`, "tracing.headers.Host"],
])("%s is rejected", (inside, path) => {
  expect(problemPaths(`${SMALL}tracing: ${inside}\n`)).toEqual([path]);
});

test("an API key is not printed", () => {
  const tracing = `tracing: { url: "${URL}", headers: { K: hidden-1 } }\n`;
  expect(printed(`${SMALL}${tracing}`)).not.toContain("hidden-1");
});

test("a destination that asks for traceparent cannot have one of its own", () => {
  const destination = (more: string) => `
kafka: { brokers: [k:9092] }
sources: [{ id: web, writeKey: k, destinations: [a] }]
destinations:
  - id: a
    type: webhook
    endpoints: [{ url: "https://a/", headers: { TraceParent: x } }]
    ${more}
`;
  expect(problemPaths(destination("traceparent: true"))).toEqual([
    "destinations[0].endpoints[0].headers.TraceParent",
  ]);
  expect(problemPaths(destination("traceparent: false"))).toEqual([]);
});
