// Invalid configurations: the path, the value that was found, and the expected value, row by row.

import { expect, test } from "vitest";
import { pathText } from "../../../src/base/settings/problem.ts";
import { problemsAcross } from "../../../src/config/cross-checks.ts";
import { problems, SMALL } from "../../support/build/config-source.ts";
import { tableRows } from "../../support/build/table-rows.ts";

function kafka(more: string): string {
  return `kafka: { brokers: [kafka-1:9092], ${more} }`;
}

function top(more: string): string {
  return `kafka: { brokers: [kafka-1:9092] }\n${more}`;
}

/** `+` adds the settings to the smallest configuration, `kafka +` to its section `kafka`. */
function configurationOf(settings: string): string {
  if (settings.startsWith("+ ")) return top(settings.slice(2));
  return settings.startsWith("kafka + ") ? kafka(settings.slice(8)) : settings;
}

const ROWS = tableRows(`
[] | (file) | an empty list | a map of settings
kafka | (file) | a string | a map of settings
+ kafak: {} | kafak | an unknown setting | one of kafka, registry, sources
+ operatorEvents: { webhook: { url: 'https://a.example.com/' } } | operatorEvents.enabled | false, with a webhook | true, because
+ operatorEvents: { enabled: true, webhook: { url: 'http://10.0.0.9/' } } | operatorEvents.webhook.url | the address 10.0.0.9 (private) | a public address
+ operatorEvents: { enabled: true, webhook: { url: 'https://a.example.com/', headers: { webhook-id: x } } } | operatorEvents.webhook.headers.webhook-id | a header of Standard Webhooks | a header that may be added
+ operatorEvents: { enabled: true, webhook: { url: 'https://a.example.com/', sharedSecret: 'whsec_?' } } | operatorEvents.webhook.sharedSecret | whsec_ followed by something other than base64 | base64 after whsec_
+ webhooks: {} | webhooks | an unknown setting | one of kafka
+ audiences: [{ id: '' }] | audiences[0].id | "" | at most 1024
+ audiences: [{ id: a }, { id: a }] | audiences[1].id | "a", as in audiences[0].id | an ID that no other audience has
+ audiences: [{ id: a, key: k }, { id: b, key: k }] | audiences[1].key | "k", as in audiences[0].key | a key that no other audience has
+ audiences: [{ id: a, source: nowhere }] | audiences[0].source | "nowhere" | the ID of a source
+ audienceDefaults: { source: nowhere } | audienceDefaults.source | "nowhere" | the ID of a source
+ audienceDefaults: { integrations: { All: 1 } } | audienceDefaults.integrations | a map | a map of integration names
+ audienceDefaults: { approvalShare: 1.5 } | audienceDefaults.approvalShare | 1.5 | a number from 0 to 1
+ <<: { log: {} } | ["<<"] | an unknown setting | one of kafka
kafka: { brokers: [] } | kafka.brokers | an empty list | addresses
kafka: { brokers: [a] } | kafka.brokers[0] | "a" | an address such as
kafka: { brokers: [a:70000] } | kafka.brokers[0] | "a:70000" | an address
kafka: { brokers: ["http://a:1"] } | kafka.brokers[0] | "http://a:1" | an address
kafka: { brokers: ["::1:9092"] } | kafka.brokers[0] | (hidden) | an address
kafka: { brokers: ["[::1]"] } | kafka.brokers[0] | "[::1]" | an address
kafka: { brokers: ["[1:2]:9"] } | kafka.brokers[0] | "[1:2]:9" | an address
kafka: { brokers: "a:1,b" } | kafka.brokers[1] | "b" | an address
kafka + topicPrefix: "a b" | kafka.topicPrefix | "a b" | letters, digits
kafka + topics: { calls: a/b } | kafka.topics.calls | "a/b" | a topic name
kafka + topics: { calls: .. } | kafka.topics.calls | ".." | a topic name
kafka + topics: { calls: switchyard.dead-letters } | kafka.topics.calls | "switchyard.dead-letters" | no other topic
kafka + topics: { calls: switchyard.delays.10s } | kafka.topics.calls | "switchyard.delays.10s" | no other topic
kafka + topics: { deletionRequests: switchyard.calls } | kafka.topics.deletionRequests | "switchyard.calls" | no other topic
kafka + partitions: 0 | kafka.partitions | 0 | from 1 to 10000
kafka + partitions: 1.5 | kafka.partitions | 1.5 | an integer
kafka + partitions: "6" | kafka.partitions | "6" | an integer
kafka + replicationFactor: 0 | kafka.replicationFactor | 0 | from 1 to
kafka + sessionTimeout: 5s | kafka.sessionTimeout | "5s" | from 6s to 5m
kafka + sessionTimeout: 10 | kafka.sessionTimeout | 10 | with its unit
kafka + onCorruptBatch: { calls: ignore } | kafka.onCorruptBatch.calls | "ignore" | stop or skip
kafka + createTopics: yes | kafka.createTopics | "yes" | true or false
kafka + tls: on | kafka.tls | a string | a map of settings
kafka + sasl: { mechanism: gssapi } | kafka.sasl.mechanism | "gssapi" | plain or
kafka + sasl: {} | kafka.sasl.mechanism | nothing | plain or
kafka + sasl: { mechanism: plain, username: u } | kafka.sasl.password | nothing | a password
kafka + sasl: { mechanism: plain, username: u, password: p, scope: s } | kafka.sasl.scope | an unknown setting | one of username, password
+ sources: [{}] | sources[0].id | nothing | lower-case letters
+ sources: [{ id: Web }] | sources[0].id | "Web" | lower-case letters
+ sources: { id: web } | sources | a map | a list
+ sources: [{ id: web }, { id: web }] | sources[1].id | "web", as in sources[0].id | no other source
+ sources: [{ id: a, writeKey: k }, { id: b, writeKeys: [x, k] }] | sources[1].writeKeys[1] | the write key of sources[0].writeKey | only once
+ sources: [{ id: a, writeKey: k, writeKeys: [x] }] | sources[0] | writeKey and writeKeys | only one of them
+ sources: [{ id: a, writeKey: "" }] | sources[0].writeKey | "" | a write key
+ sources: [{ id: a, destinations: [crm] }] | sources[0].destinations[0] | "crm" | the ID of a destination (none is configured)
+ sources: [{ id: a, callsPerSecond: 0 }] | sources[0].callsPerSecond | 0 | above
+ defaultSource: web | defaultSource | "web" | the ID of a source
+ delivery: { timeout: 5001ms } | delivery.timeout | "5001ms" | from 1ms to 5s
+ delivery: { timeout: 0s } | delivery.timeout | "0s" | from 1ms to 5s
+ delivery: { retryWindow: 5h } | delivery.retryWindow | "5h" | from 1ms to 4h
+ delivery: { retryDelays: [] } | delivery.retryDelays | an empty list | 1 to 50
+ delivery: { retryDelays: [10s, 5s] } | delivery.retryDelays[1] | "5s" after "10s" | as long as the previous one
+ delivery: { retryDelays: [1m, 59s] } | delivery.retryDelays[1] | "59s" after | as long as the previous one
+ delivery: { retryDelays: [10s, ten] } | delivery.retryDelays[1] | "ten" | a duration
+ delivery: { retryDelays: 10s } | delivery.retryDelays | "10s" | a list of durations
+ delivery: { allowNetworks: [10.0.0.0/33] } | delivery.allowNetworks[0] | "10.0.0.0/33" | a network
+ delivery: { ca: ca.pem } | delivery.ca | no such file | the path of a PEM file
+ admin: { port: 65536 } | admin.port | 65536 | from 0 to 65535
+ log: { level: trace } | log.level | "trace" | debug, info, warn or error
`);

test.each([
  ["", "kafka.brokers", "nothing", "a list of addresses"],
  [
    SMALL.replace("[hook]", "[hook, hook]"),
    "sources[0].destinations[1]",
    '"hook", as in sources[0].destinations[0]',
    "every destination at most once",
  ],
  ...ROWS,
])("%s", (settings, path, found, expected) => {
  const reported = problems(configurationOf(settings));
  expect(reported.map((problem) => pathText(problem.path))).toEqual([path]);
  expect(reported[0]?.found).toContain(found);
  expect(reported[0]?.expected).toContain(expected);
});

test("every problem is reported at once, each with a hint where one helps", () => {
  const reported = problems(`
kafka: { broker: [a], partitions: 0 }
sources: [{ id: web, destinations: [crm] }]
destinations: [{ id: hook, type: webhook, concurrency: 0, endpoints: [{ url: /x }] }]
delivery: { retryDelays: [2s, 1s], retryWindow: 9h }
`);
  expect(reported.map(({ path }) => pathText(path)).toSorted()).toEqual([
    "delivery.retryDelays[1]",
    "delivery.retryWindow",
    "destinations[0].concurrency",
    "destinations[0].endpoints[0].url",
    "kafka.broker",
    "kafka.brokers",
    "kafka.partitions",
    "sources[0].destinations[0]",
  ]);
  expect(reported.find(({ path }) => pathText(path) === "kafka.broker")?.hint).toBe(
    "did you mean brokers?",
  );
});

test("work grows with the number of sources and destinations, not with their product", () => {
  // Searching all destinations for each source would take longer than a test may.
  const ids = Array.from({ length: 100_000 }, (_, index) => `d${index}`);
  const destinations = ids.map((id) => ({ id }));
  const sources = ids.map((id) => ({ id, destinations: [id] }));
  const stray = { id: "stray", destinations: ["crm", "d0", "d0"] };
  const reported = problemsAcross({ sources: [...sources, stray], destinations });
  expect(reported.map(({ path }) => pathText(path))).toEqual([
    "sources[100000].destinations[0]",
    "sources[100000].destinations[2]",
  ]);
});
