// Literal IPv6 addresses, wherever the configuration accepts an address.

import { expect, test } from "vitest";

import { config, problems } from "../../support/build/config-source.ts";

const SMALL = `sources: []
destinations: []`;

test.each([
  ['["[::1]:9092"]', ["[::1]:9092"]],
  ['["[2001:db8::9]:9092", "kafka-1:9092"]', ["[2001:db8::9]:9092", "kafka-1:9092"]],
  ['"[::1]:9092,[::ffff:10.0.0.1]:19092"', ["[::1]:9092", "[::ffff:10.0.0.1]:19092"]],
  ['["[fe80::1%eth0]:9092"]', ["[fe80::1%eth0]:9092"]],
])("brokers: %s", (brokers, expected) => {
  expect(config(`kafka: { brokers: ${brokers} }\n${SMALL}`).kafka.brokers).toEqual(expected);
});

test.each(["::1:9092", "[::1]", "::1", "[::1]:", "[::1]:70000", "[1:2]:9092", "[kafka-1]:9092"])(
  "brokers: %s is no address, and the hint shows one",
  (broker) => {
    const [problem] = problems(`kafka: { brokers: ["${broker}"] }\n${SMALL}`);
    expect(problem?.expected).toContain("an address");
    if (!broker.includes("70000")) expect(problem?.hint).toContain("[2001:db8::1]:9092");
  },
);

test.each(["::1", "[::1]"])("ports listen at %s", (host) => {
  const { ingest, admin, console } = config(`kafka: { brokers: ["a:1"] }
ingest: { host: "${host}" }
admin: { host: "${host}" }
console: { host: "${host}" }
${SMALL}`);
  expect([ingest.host, admin.host, console.host]).toEqual(["::1", "::1", "::1"]);
});

test("URLs of a registry, of token endpoints and of endpoints", () => {
  const url = "http://[2001:db8::1]:8081/path";
  const given = config(`kafka: { brokers: ["a:1"] }
registry: { url: "${url}" }
sources: []
destinations: [{ id: hook, type: webhook, endpoints: [{ url: "${url}" }] }]
delivery: { allowNetworks: ["2001:db8::/32"] }`);
  expect(given.registry?.urls).toEqual([url]);
});
