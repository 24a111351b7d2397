// Invalid settings of a destination: the path, the value that was found, and the expected value, row by row.

import { expect, test } from "vitest";

import { pathText } from "../../../src/settings/problem.ts";
import { config, problems, SMALL } from "../../support/build/config-source.ts";

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

const URL_PATH = "destinations[0].endpoints[0].url";
const HEADERS = "destinations[0].endpoints[0].headers";
const HTTP_URL = "a complete http or https URL";
const six = `[${[1, 2, 3, 4, 5, 6].map((n) => `{ url: "https://a.example.com/${n}" }`).join()}]`;

type Row = readonly [name: string, yaml: string, path: string, found: string, expected: string];

const ROWS: readonly Row[] = [
  [
    "type",
    top("destinations: [{ id: a, type: sms }]"),
    "destinations[0].type",
    '"sms"',
    "webhook or",
  ],
  [
    "no type",
    top("destinations: [{ id: a }]"),
    "destinations[0].type",
    "nothing",
    "webhook or topic",
  ],
  [
    "topic without name",
    top("destinations: [{ id: a, type: topic }]"),
    "destinations[0].name",
    "nothing",
    "a name",
  ],
  [
    "a topic with endpoints",
    top("destinations: [{ id: a, type: topic, name: A, endpoints: [] }]"),
    "destinations[0].endpoints",
    "an unknown setting",
    "one of id, name, enabled, historical",
  ],
  [
    "same destination id",
    top("destinations: [{ id: a, type: topic, name: A }, { id: a, type: topic, name: B }]"),
    "destinations[1].id",
    '"a", as in destinations[0].id',
    "no other destination",
  ],
  [
    "a topic name that is too long",
    `kafka: { brokers: [a:1], topicPrefix: ${"p".repeat(200)} }
destinations: [{ id: ${"d".repeat(39)}, type: topic, name: A }]`,
    "destinations[0].id",
    "39 characters",
    "at most 38 characters",
  ],
  [
    "no endpoints",
    webhook("enabled: true", "[]"),
    "destinations[0].endpoints",
    "an empty list",
    "at least 1",
  ],
  [
    "endpoints absent",
    webhook("enabled: true", "null"),
    "destinations[0].endpoints",
    "an empty list",
    "at least 1",
  ],
  [
    "six endpoints",
    webhook("enabled: true", six),
    "destinations[0].endpoints",
    "a list of 6",
    "at most 5",
  ],
  ["no url", webhook("enabled: true", "[{}]"), URL_PATH, "nothing", HTTP_URL],
  ["relative URL", url("/hook"), URL_PATH, '"/(hidden)"', HTTP_URL],
  ["no scheme", url("a.example.com/hook"), URL_PATH, '"a.example.com/(hidden)"', HTTP_URL],
  ["no slashes", url("http:a.example.com"), URL_PATH, '"http:a.example.com"', HTTP_URL],
  ["no host", url("https:///hook"), URL_PATH, '"https:///(hidden)"', HTTP_URL],
  ["ftp", url("ftp://a.example.com/"), URL_PATH, '"ftp://a.example.com/"', HTTP_URL],
  [
    "port of a URL",
    url("http://a.example.com:99999/"),
    URL_PATH,
    '"http://a.example.com:99999/"',
    HTTP_URL,
  ],
  [
    "a blank",
    url("http://a.example.com/a b"),
    URL_PATH,
    '"http://a.example.com/(hidden)"',
    HTTP_URL,
  ],
  [
    "user-info",
    url("https://u:pw@a.example.com/"),
    URL_PATH,
    '"https://(hidden)@a.example.com/"',
    HTTP_URL,
  ],
  [
    "an empty user name",
    url("https://@a.example.com/"),
    URL_PATH,
    '"https://@a.example.com/"',
    HTTP_URL,
  ],
  ["port 0", url("https://a.example.com:0/"), URL_PATH, '"https://a.example.com:0/"', HTTP_URL],
  [
    "fragment",
    url("https://a.example.com/#x"),
    URL_PATH,
    '"https://a.example.com/(hidden)"',
    HTTP_URL,
  ],
  ["loopback", url("http://127.0.0.1:8080/"), URL_PATH, "127.0.0.1 (loopback)", "a public address"],
  ["octal", url("http://0177.0.0.1/"), URL_PATH, "127.0.0.1 (loopback)", "a public address"],
  ["decimal", url("http://2130706433/"), URL_PATH, "127.0.0.1 (loopback)", "a public address"],
  ["private", url("http://10.1.2.3/"), URL_PATH, "10.1.2.3 (private)", "a public address"],
  [
    "metadata",
    url("http://169.254.169.254/"),
    URL_PATH,
    "169.254.169.254 (link-local)",
    "a public",
  ],
  ["IPv6 loopback", url("http://[::1]/"), URL_PATH, "::1 (loopback)", "a public address"],
  [
    "mapped",
    url("http://[::ffff:10.0.0.1]/"),
    URL_PATH,
    "::ffff:a00:1 (private)",
    "a public address",
  ],
  [
    "localhost",
    url("http://localhost:8080/"),
    URL_PATH,
    "localhost (loopback)",
    "a public address",
  ],
  [
    "same URL twice",
    webhook(
      "enabled: true",
      '[{ url: "https://a.example.com" }, { url: "https://A.example.com:443/" }]',
    ),
    "destinations[0].endpoints[1].url",
    "as in destinations[0].endpoints[0].url",
    "every URL of a destination at most once",
  ],
  ["empty secret", webhook('sharedSecret: ""'), "destinations[0].sharedSecret", '""', "not empty"],
  [
    "numeric secret",
    webhook("sharedSecret: 12345"),
    "destinations[0].sharedSecret",
    "(hidden)",
    "a string",
  ],
  [
    "concurrency 0",
    webhook("concurrency: 0"),
    "destinations[0].concurrency",
    "0",
    "from 1 to 10000",
  ],
  ["payload", webhook("payload: big"), "destinations[0].payload", '"big"', "standard or full"],
  ...(
    [
      ["batch: true", "", "true", "a map"],
      ["batch: { calls: 1 }", ".calls", "1", "from 2 to 1000"],
      ["batch: { calls: 1001 }", ".calls", "1001", "from 2 to 1000"],
      ["batch: { bytes: 1023B }", ".bytes", '"1023B"', "from 1KiB to 8MiB"],
      ["batch: { bytes: 9MiB }", ".bytes", '"9MiB"', "from 1KiB to 8MiB"],
      ["batch: { wait: 0s }", ".wait", '"0s"', "from 1ms to 10s"],
      ["batch: { wait: 11s }", ".wait", '"11s"', "from 1ms to 10s"],
      ["batch: { format: list }", ".format", '"list"', "array or ndjson"],
      ["batch: { responses: some }", ".responses", '"some"', "whole or each"],
      ["batch: { size: 2 }", ".size", "an unknown setting", "one of calls"],
    ] as const
  ).map(
    ([settings, place, found, expected]) =>
      [settings, webhook(settings), `destinations[0].batch${place}`, found, expected] as const,
  ),
  ["deliver", webhook("deliver: all"), "destinations[0].deliver", '"all"', "any or every"],
  ["name", webhook('name: ""'), "destinations[0].name", '""', "a name"],
  [
    "signing nothing",
    webhook("standardWebhooks: true"),
    "destinations[0].sharedSecret",
    "nothing",
    "because standardWebhooks",
  ],
  ...["whsec_", "whsec_a", "whsec_not base64", "whsec_YWJj=="].map(
    (secret) =>
      [
        `the Standard Webhooks secret ${secret}`,
        webhook(`standardWebhooks: true, sharedSecret: ${JSON.stringify(secret)}`),
        "destinations[0].sharedSecret",
        "whsec_ followed by something other than base64",
        "base64 after whsec_",
      ] as const,
  ),
  [
    "the previous Standard Webhooks secret",
    webhook("standardWebhooks: true, sharedSecret: a, previousSharedSecret: whsec_-"),
    "destinations[0].previousSharedSecret",
    "whsec_ followed by something other than base64",
    "base64 after whsec_",
  ],
  [
    "a header that Standard Webhooks needs",
    webhook(
      "standardWebhooks: true, sharedSecret: a",
      '[{ url: "https://a.example.com/", headers: { Webhook-Id: x } }]',
    ),
    `${HEADERS}.Webhook-Id`,
    "a header of Standard Webhooks",
    "may be added",
  ],
  [
    "cert missing",
    webhook("tls: { key: k.pem }"),
    "destinations[0].tls.key",
    "no such file",
    "PEM file",
  ],

  ...["Host", "connection", "CONTENT-LENGTH", "Transfer-Encoding", "expect", "upgrade"].map(
    (name) =>
      [
        `header ${name}`,
        endpoint(`headers: { ${name}: x }`),
        `${HEADERS}.${name}`,
        "a header of the connection",
        "may be added",
      ] as const,
  ),
  ...["User-Agent", "content-type", "X-SIGNATURE", "x-switchyard-message-id"].map(
    (name) =>
      [
        `header ${name}`,
        endpoint(`headers: { ${name}: x }`),
        `${HEADERS}.${name}`,
        "a header that Switchyard sets itself",
        "may be added",
      ] as const,
  ),
  [
    "header name",
    endpoint('headers: { "a b": x }'),
    `${HEADERS}["a b"]`,
    "HTTP does not allow",
    "letters",
  ],
  [
    "header name empty",
    endpoint('headers: { "": x }'),
    `${HEADERS}[""]`,
    "HTTP does not allow",
    "letters",
  ],
  [
    "header line break",
    endpoint('headers: { a: "x\\ny" }'),
    `${HEADERS}.a`,
    "HTTP does not allow",
    "ASCII",
  ],
  [
    "header NUL",
    endpoint('headers: { a: "x\\0" }'),
    `${HEADERS}.a`,
    "HTTP does not allow",
    "ASCII",
  ],
  [
    "header not ASCII",
    endpoint('headers: { a: "é" }'),
    `${HEADERS}.a`,
    "HTTP does not allow",
    "ASCII",
  ],
  [
    "header blank first",
    endpoint('headers: { a: " x" }'),
    `${HEADERS}.a`,
    "HTTP does not allow",
    "ASCII",
  ],
  ["header number", endpoint("headers: { a: 1 }"), `${HEADERS}.a`, "a number", "a string"],
  [
    "header twice",
    endpoint("headers: { a: x, A: y }"),
    `${HEADERS}.A`,
    "other letter case",
    "once",
  ],
  ["headers a list", endpoint("headers: [a]"), HEADERS, "a list", "a map"],
];

test.each(ROWS)("%s", (_name, yaml, path, found, expected) => {
  const reported = problems(yaml);
  expect(reported.map((problem) => pathText(problem.path))).toEqual([path]);
  expect(reported[0]?.found).toContain(found);
  expect(reported[0]?.expected).toContain(expected);
});

// A table of rejections proves nothing if everything is rejected.
test.each([
  ["the small one", SMALL],
  ["five endpoints", webhook("enabled: true", six.replace(/,\{[^}]*\}\]$/, "]"))],
  ["query and port", url("http://a.example.com:8080/x?y=z")],
  ["an upper-case scheme", url("HTTPS://a.example.com/")],
  ["a public address", url("http://8.8.8.8/")],
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
