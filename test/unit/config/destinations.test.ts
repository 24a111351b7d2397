// Invalid settings of a destination: the path, the value that was found, and the expected value, row by row.

import { expect, test } from "vitest";

import { pathText } from "../../../src/base/settings/problem.ts";
import { config, problems, SMALL } from "../../support/build/config-source.ts";
import { tableRows } from "../../support/build/table-rows.ts";

/** Returns a minimal configuration that has a webhook destination with these settings. */
function webhook(more: string, endpoints = '[{ url: "https://a.example.com/" }]'): string {
  return `kafka: { brokers: [kafka-1:9092] }
destinations: [{ id: hook, type: webhook, endpoints: ${endpoints}, ${more} }]`;
}

function endpoint(more: string): string {
  return webhook("enabled: true", `[{ url: "https://a.example.com/", ${more} }]`);
}

function url(text: string): string {
  return webhook("enabled: true", `[{ url: ${JSON.stringify(text)} }]`);
}

function top(more: string): string {
  return `kafka: { brokers: [kafka-1:9092] }\n${more}`;
}

/** The first word of a row says where its settings are. */
const CONFIGURATIONS: Readonly<Record<string, (settings: string) => string>> = {
  ...{ "+": top, webhook, endpoint, url },
  endpoints: (list) => webhook("enabled: true", list),
};

const ROWS = tableRows(String.raw`
+ destinations: [{ id: a, type: sms }] | .type | "sms" | webhook or
+ destinations: [{ id: a }] | .type | nothing | webhook or topic
+ destinations: [{ id: a, type: topic }] | .name | nothing | a name
+ destinations: [{ id: a, type: topic, name: A, endpoints: [] }] | .endpoints | an unknown setting | one of id, name, enabled, historical
+ destinations: [{ id: a, type: topic, name: A }, { id: a, type: topic, name: B }] | destinations[1].id | "a", as in destinations[0].id | no other destination
+ destinations: [{ id: a, type: topic, name: A, order: strict }] | .order | an unknown setting | one of id, name, enabled, historical
+ destinations: [{ id: a, type: topic, name: A, proxy: "http://p:1" }] | .proxy | an unknown setting | one of id, name, enabled, historical
webhook proxy: "http://proxy.example.com:3128/hook" | .proxy | "http://proxy.example.com:3128/(hidden)" | a URL with a port such as http://proxy.example.com:3128, or none
webhook proxy: "http://proxy.example.com:3128?a=b" | .proxy | "http://proxy.example.com:3128?(hidden)" | a URL with a port
webhook proxy: "http://proxy.example.com:3128#a" | .proxy | "http://proxy.example.com:3128#(hidden)" | a URL with a port
webhook proxy: "http://proxy.example.com" | .proxy | "http://proxy.example.com" | a URL with a port
webhook proxy: "http://proxy.example.com:0" | .proxy | "http://proxy.example.com:0" | a URL with a port
webhook proxy: "http://proxy.example.com:99999" | .proxy | "http://proxy.example.com:99999" | a URL with a port
webhook proxy: "http://:3128" | .proxy | "http://:3128" | a URL with a port
webhook proxy: "proxy.example.com:3128" | .proxy | "proxy.example.com:3128" | a URL with a port
webhook proxy: "socks5://proxy.example.com:1080" | .proxy | proxy.example.com:1080 | a URL with a port
webhook proxy: "http://hunter2@proxy.example.com:3128" | .proxy | "http://(hidden)@proxy.example.com:3128" | a URL with a port
webhook proxy: "http://me:@proxy.example.com:3128" | .proxy | "http://(hidden)@proxy.example.com:3128" | a URL with a port
webhook proxy: "http://:pw@proxy.example.com:3128" | .proxy | "http://(hidden)@proxy.example.com:3128" | a URL with a port
webhook proxy: "http://me:p@w@proxy.example.com:3128" | .proxy | "http://(hidden)@proxy.example.com:3128" | a URL with a port
webhook proxy: "http://me:p/w@proxy.example.com:3128" | .proxy | "http://(hidden)" | a URL with a port
webhook proxy: "http://me:p%w@proxy.example.com:3128" | .proxy | "http://(hidden)@proxy.example.com:3128" | a URL with a port
webhook proxy: "http://me:p%e4@proxy.example.com:3128" | .proxy | "http://(hidden)@proxy.example.com:3128" | a URL with a port
webhook proxy: "http://m%3Ae:pw@proxy.example.com:3128" | .proxy | "http://(hidden)@proxy.example.com:3128" | a URL with a port
webhook proxy: "http://me:p w@proxy.example.com:3128" | .proxy | "http://(hidden)@proxy.example.com:3128" | a URL with a port
webhook proxy: "http://me:pü@proxy.example.com:3128" | .proxy | "http://(hidden)@proxy.example.com:3128" | a URL with a port
webhook proxy: None | .proxy | (hidden) | or none
webhook proxy: false | .proxy | false | or none
+ delivery: { proxy: none } | delivery.proxy | (hidden) | a URL with a port such as http://proxy.example.com:3128
+ delivery: { proxyCa: nowhere.pem } | delivery.proxyCa | no such file | PEM file
endpoints [] | .endpoints | an empty list | at least 1
endpoints null | .endpoints | an empty list | at least 1
endpoints [{}] | .endpoints[0].url | nothing | a complete http or https URL
url /hook | .endpoints[0].url | "/(hidden)" | a complete http or https URL
url a.example.com/hook | .endpoints[0].url | "a.example.com/(hidden)" | a complete http or https URL
url http:a.example.com | .endpoints[0].url | "http:a.example.com" | a complete http or https URL
url https:///hook | .endpoints[0].url | "https:///(hidden)" | a complete http or https URL
url ftp://a.example.com/ | .endpoints[0].url | "ftp://a.example.com/" | a complete http or https URL
url http://a.example.com:99999/ | .endpoints[0].url | "http://a.example.com:99999/" | a complete http or https URL
url http://a.example.com/a b | .endpoints[0].url | "http://a.example.com/(hidden)" | a complete http or https URL
url https://u:pw@a.example.com/ | .endpoints[0].url | "https://(hidden)@a.example.com/" | a complete http or https URL
url https://@a.example.com/ | .endpoints[0].url | "https://@a.example.com/" | a complete http or https URL
url https://a.example.com:0/ | .endpoints[0].url | "https://a.example.com:0/" | a complete http or https URL
url https://a.example.com/#x | .endpoints[0].url | "https://a.example.com/(hidden)" | a complete http or https URL
url http://127.0.0.1:8080/ | .endpoints[0].url | 127.0.0.1 (loopback) | a public address
url http://0177.0.0.1/ | .endpoints[0].url | 127.0.0.1 (loopback) | a public address
url http://2130706433/ | .endpoints[0].url | 127.0.0.1 (loopback) | a public address
url http://10.1.2.3/ | .endpoints[0].url | 10.1.2.3 (private) | a public address
url http://169.254.169.254/ | .endpoints[0].url | 169.254.169.254 (link-local) | a public
url http://[::1]/ | .endpoints[0].url | ::1 (loopback) | a public address
url http://[::ffff:10.0.0.1]/ | .endpoints[0].url | ::ffff:a00:1 (private) | a public address
url http://localhost:8080/ | .endpoints[0].url | localhost (loopback) | a public address
endpoints [{ url: "https://a.example.com" }, { url: "https://A.example.com:443/" }] | .endpoints[1].url | as in destinations[0].endpoints[0].url | every URL of a destination at most once
endpoints [{ id: eu, url: "https://a.example.com" }, { id: eu, url: "https://b.example.com" }] | .endpoints[1].id | as in destinations[0].endpoints[0].id | an ID that no other endpoint of the destination has
endpoints [{ id: "2", url: "https://a.example.com" }] | .endpoints[0].id | "2" | of which the first is a letter
endpoints [{ id: EU, url: "https://a.example.com" }] | .endpoints[0].id | "EU" | lower-case letters, digits and dashes
webhook sharedSecret: "" | .sharedSecret | "" | not empty
webhook sharedSecret: 12345 | .sharedSecret | (hidden) | a string
webhook concurrency: 0 | .concurrency | 0 | from 1 to 10000
webhook payload: big | .payload | "big" | standard or full
webhook batch: true | .batch | true | a map
webhook batch: { calls: 1 } | .batch.calls | 1 | from 2 to 1000
webhook batch: { calls: 1001 } | .batch.calls | 1001 | from 2 to 1000
webhook batch: { bytes: 1023B } | .batch.bytes | "1023B" | from 1KiB to 8MiB
webhook batch: { bytes: 9MiB } | .batch.bytes | "9MiB" | from 1KiB to 8MiB
webhook batch: { wait: 0s } | .batch.wait | "0s" | from 1ms to 10s
webhook batch: { wait: 11s } | .batch.wait | "11s" | from 1ms to 10s
webhook batch: { format: list } | .batch.format | "list" | array or ndjson
webhook batch: { responses: some } | .batch.responses | "some" | whole or each
webhook batch: { size: 2 } | .batch.size | an unknown setting | one of calls
webhook auth: { type: oauth2, tokenUrl: "http://169.254.169.254/token", clientId: c, clientSecret: s } | .auth.tokenUrl | 169.254.169.254 (link-local) | a public address
webhook auth: { type: oauth2, tokenUrl: "http://localhost:1/", clientId: c, clientSecret: s } | .auth.tokenUrl | localhost (loopback) | a public address
webhook deliver: all | .deliver | "all" | any or every
webhook order: exact | .order | "exact" | loose or strict
webhook order: strict, onDeadLetter: stop | .onDeadLetter | "stop" | continue or hold
webhook onDeadLetter: hold | .onDeadLetter | hold | continue, because order is not strict
webhook order: loose, onDeadLetter: hold | .onDeadLetter | hold | continue, because order is not strict
webhook name: "" | .name | "" | a name
webhook standardWebhooks: true | .sharedSecret | nothing | which standardWebhooks requires
webhook standardWebhooks: true, sharedSecret: "whsec_" | .sharedSecret | whsec_ followed by something other than base64 | base64 after whsec_
webhook standardWebhooks: true, sharedSecret: "whsec_a" | .sharedSecret | whsec_ followed by something other than base64 | base64 after whsec_
webhook standardWebhooks: true, sharedSecret: "whsec_not base64" | .sharedSecret | whsec_ followed by something other than base64 | base64 after whsec_
webhook standardWebhooks: true, sharedSecret: "whsec_YWJj==" | .sharedSecret | whsec_ followed by something other than base64 | base64 after whsec_
webhook standardWebhooks: true, sharedSecret: a, previousSharedSecret: whsec_- | .previousSharedSecret | whsec_ followed by something other than base64 | base64 after whsec_
webhook signingKey: "whsk_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=" | .signingKey | a signing key | only the headers of Standard Webhooks
webhook previousSigningKey: "whsk_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=" | .previousSigningKey | a signing key | only the headers of Standard Webhooks
webhook standardWebhooks: true, sharedSecret: a, previousSigningKey: "whsk_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=" | .previousSigningKey | a signing key | signingKey is not set
webhook standardWebhooks: true, signingKey: "whsk_AAAA" | .signingKey | whsk_ followed by 3 bytes | a private key of Ed25519
webhook standardWebhooks: true, signingKey: s3cr3t | .signingKey | neither PEM nor | a private key of Ed25519
webhook standardWebhooks: true, signingKey: 5 | .signingKey | (hidden) | a private key of Ed25519
webhook tls: { key: k.pem } | .tls.key | no such file | PEM file
endpoint headers: { Host: x } | .endpoints[0].headers.Host | a header of the connection | may be added
endpoint headers: { connection: x } | .endpoints[0].headers.connection | a header of the connection | may be added
endpoint headers: { CONTENT-LENGTH: x } | .endpoints[0].headers.CONTENT-LENGTH | a header of the connection | may be added
endpoint headers: { Transfer-Encoding: x } | .endpoints[0].headers.Transfer-Encoding | a header of the connection | may be added
endpoint headers: { expect: x } | .endpoints[0].headers.expect | a header of the connection | may be added
endpoint headers: { upgrade: x } | .endpoints[0].headers.upgrade | a header of the connection | may be added
endpoint headers: { User-Agent: x } | .endpoints[0].headers.User-Agent | a header that Switchyard sets itself | may be added
endpoint headers: { content-type: x } | .endpoints[0].headers.content-type | a header that Switchyard sets itself | may be added
endpoint headers: { X-SIGNATURE: x } | .endpoints[0].headers.X-SIGNATURE | a header that Switchyard sets itself | may be added
endpoint headers: { x-switchyard-message-id: x } | .endpoints[0].headers.x-switchyard-message-id | a header that Switchyard sets itself | may be added
endpoint headers: { "a b": x } | .endpoints[0].headers["a b"] | HTTP does not allow | letters
endpoint headers: { "": x } | .endpoints[0].headers[""] | HTTP does not allow | letters
endpoint headers: { a: "x\ny" } | .endpoints[0].headers.a | HTTP does not allow | ASCII
endpoint headers: { a: "x\0" } | .endpoints[0].headers.a | HTTP does not allow | ASCII
endpoint headers: { a: "é" } | .endpoints[0].headers.a | HTTP does not allow | ASCII
endpoint headers: { a: " x" } | .endpoints[0].headers.a | HTTP does not allow | ASCII
endpoint headers: { a: 1 } | .endpoints[0].headers.a | a number | a string
endpoint headers: { a: x, A: y } | .endpoints[0].headers.A | other letter case | once
endpoint headers: [a] | .endpoints[0].headers | a list | a map
`).map(([row, path = "", ...texts]) => {
  const [word = "", ...settings] = row.split(" ");
  const yaml = CONFIGURATIONS[word]?.(settings.join(" "));
  return [row, yaml, path.replace(/^\./, "destinations[0]."), ...texts] as const;
});

const TWO = '[{ url: "https://a.example.com/" }, { url: "https://b.example.com/" }]';
const six = `[${[1, 2, 3, 4, 5, 6].map((n) => `{ url: "https://a.example.com/${n}" }`).join()}]`;
test.each([
  [
    "a topic name that is too long",
    `kafka: { brokers: [a:1], topicPrefix: ${"p".repeat(200)} }
destinations: [{ id: ${"d".repeat(39)}, type: topic, name: A }]`,
    "destinations[0].id",
    "39 characters",
    "at most 38 characters",
  ],
  [
    "a topic with the name of one for the order of a destination",
    `kafka: { brokers: [a:1], topics: { calls: switchyard.order.a } }
destinations: [{ id: a, type: topic, name: A }]`,
    "kafka.topics.calls",
    "switchyard.order.a",
    "a name that no other topic has",
  ],
  [
    "six endpoints",
    webhook("enabled: true", six),
    "destinations[0].endpoints",
    "a list of 6",
    "at most 5",
  ],
  [
    "a header that Standard Webhooks needs",
    webhook(
      "standardWebhooks: true, sharedSecret: a",
      '[{ url: "https://a.example.com/", headers: { Webhook-Id: x } }]',
    ),
    "destinations[0].endpoints[0].headers.Webhook-Id",
    "a header of Standard Webhooks",
    "may be added",
  ],
  ...ROWS,
])("%s", (_name, yaml, path, found, expected) => {
  const reported = problems(yaml ?? "");
  expect(reported.map((problem) => pathText(problem.path))).toEqual([path]);
  expect(reported[0]?.found).toContain(found);
  expect(reported[0]?.expected).toContain(expected);
});

// A table of rejections proves nothing if everything is rejected.
test.each([
  ["the small one", SMALL],
  ["five endpoints", webhook("enabled: true", six.replace(/,\{[^}]*\}\]$/, "]"))],
  ["strict order", webhook("order: strict")],
  ["strict order that a dead letter holds", webhook("order: strict, onDeadLetter: hold")],
  ["strict order of calls that one of two endpoints must accept", webhook("order: strict", TWO)],
  [
    "strict order of calls that two endpoints must accept",
    webhook("order: strict, deliver: every", TWO),
  ],
  ["the defaults of the order", webhook("order: loose, onDeadLetter: continue")],
  ["query and port", url("http://a.example.com:8080/x?y=z")],
  ["an upper-case scheme", url("HTTPS://a.example.com/")],
  ["a public address", url("http://8.8.8.8/")],
  ["a proxy at a private address", webhook('proxy: "http://10.0.0.1:3128"')],
  ["a proxy with a port that is the default", webhook('proxy: "HTTPS://p:443/"')],
  ["a proxy with credentials", webhook('proxy: "http://a-b:%C3%A9:!$&()*+,;=_~.@[::1]:1"')],
  ["no proxy", webhook("proxy: none")],
  ["headers", endpoint('headers: { X-Team: "a b", Authorization: "Bearer x", Empty: "" }')],
  ["equal delays", top("delivery: { retryDelays: [10s, 10s] }")],
  [
    "a private address that is allowed",
    `${url("http://10.1.2.3/")}\ndelivery: { allowNetworks: [10.0.0.0/8] }`,
  ],
  ["localhost allowed", `${url("http://localhost/")}\ndelivery: { allowNetworks: [127.0.0.0/8] }`],
  ["empty sections", top("sources:\ndestinations:\ndelivery:\nlog:")],
  [
    "the same name twice",
    top("destinations: [{ id: a, type: topic, name: A }, { id: b, type: topic, name: A }]"),
  ],
])("%s is accepted", (_name, yaml) => {
  expect(problems(yaml)).toEqual([]);
  expect(config(yaml).kafka.brokers).toEqual(["kafka-1:9092"]);
});

test.each([
  ["proxy.example.com:3128", "start with http:// or https://"],
  ["http://proxy.example.com:3128/hook", "end with the port"],
  ["http://me:p/w@proxy.example.com:3128", "percent-encode"],
  ["http://me@proxy.example.com:3128", "write user:password@"],
  ["http://me:p%w@proxy.example.com:3128", "percent-encoded"],
  ["http://proxy.example.com", "add the port"],
  ["http://proxy.example.com:99999", "check the host and the port"],
])("the proxy %s is rejected with a hint", (proxy, hint) => {
  expect(problems(webhook(`proxy: "${proxy}"`))[0]?.hint).toContain(hint);
});

test("dead letters that hold users of a loose order are rejected with a hint", () => {
  const [problem] = problems(webhook("onDeadLetter: hold"));
  expect(problem?.hint).toBe("set order: strict, or remove onDeadLetter");
});
