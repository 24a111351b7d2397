// The values of a configuration: defaults, variables, and the environment.
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: it is the configuration's own syntax.

import { expect, test } from "vitest";
import { placeAt } from "../../../src/base/settings/config-path.ts";
import { pathText } from "../../../src/base/settings/problem.ts";
import { durationText, parseDuration } from "../../../src/base/settings/scalars.ts";
import { variableName, variables } from "../../../src/config/environment.ts";
import { SETTINGS } from "../../../src/config/settings.ts";
import { endpointKey } from "../../../src/domain/destination.ts";
import { config, parse, problemPaths, problems, SMALL } from "../../support/build/config-source.ts";

const LIMIT = { callsPerSecond: null, correctClock: true };
const WEB = { id: "web", writeKeys: ["k1"], destinations: ["hook"], ...LIMIT };

const WEBHOOK = { kind: "webhook", isAttempted: true, getsDeletions: true };
const CONSOLE = {
  ...{ host: "127.0.0.1", port: 9_465, token: null },
  ...{ readOnly: true, showPayloads: false, adminAddresses: [] },
};

const NOTHING_MORE = { registry: null, include: [] };

const url = "https://a.example.com/";

test("everything that is omitted has its default", () => {
  expect(config(SMALL)).toEqual({
    kafka: {
      brokers: ["kafka-1:9092"],
      topicPrefix: "switchyard.",
      topics: {},
      onCorruptBatch: { calls: "stop", audienceSyncs: "stop", deletionRequests: "stop" },
      tls: null,
      sasl: null,
      partitions: 6,
      replicationFactor: null,
      maxMessageBytes: null,
      sessionTimeoutMs: 10_000,
      createTopics: true,
      startTimeoutMs: 60_000,
    },
    ...NOTHING_MORE,
    audit: { enabled: true },
    attempts: { enabled: false, retentionMs: 3 * 86_400_000, responseBytes: null },
    operatorEvents: { enabled: false, webhook: null },
    tracing: null,
    ...{ sources: [WEB], defaultSource: null },
    audiences: [],
    audienceDefaults: {
      ...{ source: null, integrations: null, consent: null },
      ...{ approvalShare: null, approvalMinimum: null },
    },
    audience: { stateDir: "./state" },
    ingest: {
      host: "::",
      port: 8080,
      tls: null,
      handoverMs: 5_000,
      corsOrigins: [],
      maxInFlightBytes: 64 * 1_024 * 1_024,
      maxUnauthenticatedBytes: 8 * 1_024 * 1_024,
      minBodyBytesPerSecond: 1_024,
      ...{ maxConnections: 10_000, maxConnectionsPerAddress: 1_000 },
      keepAliveTimeoutMs: 620_000,
    },
    consent: { required: false },
    destinations: [
      {
        ...WEBHOOK,
        id: "hook",
        name: "Webhooks",
        paused: false,
        enabled: true,
        historical: true,
        ...{ partitions: null, passHeaders: null },
        ...{ consent: null, filters: [], map: [] },
        sharedSecret: null,
        ...{ previousSharedSecret: null, signingKey: null, previousSigningKey: null },
        endpoints: [{ key: endpointKey(url), url, headers: [] }],
        payload: "standard",
        ...{ deliver: "any", order: "loose", onDeadLetter: "continue" },
        concurrency: 64,
        requestsPerSecond: null,
        auth: null,
        messageIdHeader: true,
        attemptHeader: false,
        traceparent: false,
        standardWebhooks: false,
        ...{ batch: null, tls: null, proxy: null },
      },
    ],
    delivery: {
      timeoutMs: 5_000,
      retryWindowMs: 14_400_000,
      retryDelaysMs: [10_000, 30_000, 120_000, 300_000, 900_000, 1_800_000, 3_600_000],
      ...{ allowNetworks: [], connectionMaxAgeMs: 60_000 },
      ...{ ca: null, proxy: null, proxyCa: null },
    },
    admin: { host: "::", port: 9_464, reload: false },
    console: CONSOLE,
    metrics: { destinations: "full" },
    log: { level: "info", attempts: 1 },
  });
});

test.each([
  ["0ms", 0],
  ["250ms", 250],
  ["5s", 5_000],
  ["1.5s", 1_500],
  ["0.1s", 100],
  ["2m", 120_000],
  ["1.5h", 5_400_000],
  ["4h", 14_400_000],
  ["7d", 604_800_000],
  ["5", null],
  ["5 s", null],
  ["-5s", null],
  ["1e3ms", null],
  ["0.5ms", null],
  ["5S", null],
  ["1h30m", null],
  ["", null],
])("the duration %s is %s ms", (text, ms) => {
  expect(parseDuration(text)).toBe(ms);
});

test.each([
  [1, "1ms"],
  [1_500, "1500ms"],
  [90_000, "90s"],
  [120_000, "2m"],
  [86_400_000, "1d"],
])("%i ms is written %s", (ms, text) => {
  expect(durationText(ms)).toBe(text);
});

test("brokers may be a text with commas", () => {
  const both = config('kafka: { brokers: "a:1, b:2" }').kafka.brokers;
  expect(both).toEqual(["a:1", "b:2"]);
});

test("tls may be a flag", () => {
  const none = { ca: null, cert: null, key: null, serverName: null };
  expect(config("kafka: { brokers: [a:1], tls: true }").kafka.tls).toEqual(none);
  expect(config("kafka: { brokers: [a:1], tls: {} }").kafka.tls).toEqual(none);
  expect(config("kafka: { brokers: [a:1], tls: false }").kafka.tls).toBeNull();
});

test.each([
  ["${NAME}", { NAME: "v" }, "v"],
  ["a-${NAME}-b-${NAME}", { NAME: "v" }, "a-v-b-v"],
  ["x${NAME}", { NAME: "" }, "x"],
  ["${NAME:-d}", {}, "d"],
  ["${NAME:-d}", { NAME: "" }, "d"],
  ["${NAME:-d}", { NAME: "v" }, "v"],
  ["x${NAME:-}", {}, "x"],
  ["$${NAME}", { NAME: "v" }, "${NAME}"],
  ["$NAME", { NAME: "v" }, "$NAME"],
  ["${NAME}", { NAME: "${OTHER}", OTHER: "x" }, "${OTHER}"],
  ["${NAME}", { NAME: 'a", id: b }' }, 'a", id: b }'],
  ["${NAME}", { NAME: "[a, b]\n- c: d" }, "[a, b]\n- c: d"],
])("%s with %j is %s", (written, env, text) => {
  const yaml = `kafka: { brokers: [a:1] }\nsources: [{ id: web, writeKey: ${JSON.stringify(written)} }]`;
  expect(config(yaml, env).sources[0]?.writeKeys).toEqual([text]);
});

test.each([
  ["${NAME}", "${NAME}", "the variable NAME to be set"],
  ["${}", "without a variable's name", "${NAME:-default}"],
  ["${9X}", "without a variable's name", "${NAME:-default}"],
  ["${NAME-default}", "without a variable's name", "${NAME:-default}"],
  ["secret${", "without a variable's name", "${NAME:-default}"],
  ["${NAME:-${secret}}", "${ in the default of ${NAME}", "a default without variables"],
  ["${NAME:-x$${secret}}", "${ in the default of ${NAME}", "a default without variables"],
])("%s is a problem", (written, found, expected) => {
  const reported = problems(`${SMALL}\ndefaultSource: ${JSON.stringify(written)}`);
  expect(reported.map(({ path }) => pathText(path))).toEqual(["defaultSource"]);
  expect(reported[0]?.found).toContain(found);
  expect(reported[0]?.found).not.toContain("secret");
  expect(reported[0]?.expected).toContain(expected);
});

test("a variable can be a number, a flag, a list", () => {
  const yaml = 'kafka: { brokers: "${B}", partitions: "${P}", createTopics: "${C}" }';
  const { kafka } = config(yaml, { B: "a:1,b:2", P: "12", C: "false" });
  expect(kafka).toMatchObject({ brokers: ["a:1", "b:2"], partitions: 12, createTopics: false });
});

test("the environment wins over the file", () => {
  const { kafka, delivery, log, admin, defaultSource } = config(SMALL, {
    SWITCHYARD_KAFKA_BROKERS: "x:1, y:2",
    SWITCHYARD_KAFKA_TOPIC_PREFIX: "other.",
    SWITCHYARD_KAFKA_TOPICS_CALLS: "raw",
    SWITCHYARD_KAFKA_PARTITIONS: "3",
    SWITCHYARD_KAFKA_CREATE_TOPICS: "false",
    SWITCHYARD_KAFKA_SASL_MECHANISM: "plain",
    SWITCHYARD_KAFKA_SASL_USERNAME: "u",
    SWITCHYARD_KAFKA_SASL_PASSWORD: "p",
    SWITCHYARD_KAFKA_TLS: "true",
    SWITCHYARD_DELIVERY_RETRY_DELAYS: "1s,2s",
    SWITCHYARD_DELIVERY_ALLOW_NETWORKS: "127.0.0.0/8,::1/128",
    SWITCHYARD_ADMIN_PORT: "0",
    SWITCHYARD_LOG_LEVEL: "debug",
    SWITCHYARD_DEFAULT_SOURCE: "web",
    SWITCHYARD_ADMIN_HOST: "",
  });
  expect(kafka).toMatchObject({
    brokers: ["x:1", "y:2"],
    topicPrefix: "other.",
    topics: { calls: "raw" },
    partitions: 3,
    createTopics: false,
    sasl: { mechanism: "plain", username: "u", password: "p" },
    tls: { ca: null, cert: null, key: null },
  });
  expect(delivery.retryDelaysMs).toEqual([1_000, 2_000]);
  expect(delivery.allowNetworks.map(({ text }) => text)).toEqual(["127.0.0.0/8", "::1/128"]);
  expect(log.level).toBe("debug");
  expect(admin).toEqual({ host: "::", port: 0, reload: false });
  expect(defaultSource).toBe("web");
});

test("an override takes the place of a missing variable", () => {
  const yaml = 'kafka: { brokers: "${NOWHERE}" }';
  expect(config(yaml, { SWITCHYARD_KAFKA_BROKERS: "a:1" }).kafka.brokers).toEqual(["a:1"]);
});

test("an override takes the place of a list that lacks a variable", () => {
  const yaml = `${SMALL}delivery: { retryDelays: ["\${NOWHERE}"] }`;
  const { retryDelaysMs } = config(yaml, { SWITCHYARD_DELIVERY_RETRY_DELAYS: "1s,2s" }).delivery;
  expect(retryDelaysMs).toEqual([1_000, 2_000]);
});

test.each([
  ["- kafka", { SWITCHYARD_KAFKA_BROKERS: "a:1" }, "(file)"],
  [`${SMALL}delivery: [{ retryWindow: 1h }]`, { SWITCHYARD_DELIVERY_TIMEOUT: "4s" }, "delivery"],
  [`${SMALL}delivery: true`, { SWITCHYARD_DELIVERY_TIMEOUT: "4s" }, "delivery"],
  ["kafka: { brokers: [a:1], tls: on }", { SWITCHYARD_KAFKA_TLS_CA: "ca.pem" }, "kafka.tls"],
])("a variable takes no place inside what is no map: %s", (yaml, env, path) => {
  expect(problemPaths(yaml, env)).toEqual([path]);
});

test.each(["", "delivery:", "delivery: {}"])("a variable sets inside a section: %j", (more) => {
  const env = { SWITCHYARD_DELIVERY_TIMEOUT: "4s" };
  expect(config(`${SMALL}${more}`, env).delivery.timeoutMs).toBe(4_000);
});

test("a variable sets inside a section that is a flag", () => {
  const env = { SWITCHYARD_KAFKA_TLS_CA: "ca.pem" };
  // The file is read, but there are no files in this test.
  expect(problemPaths("kafka: { brokers: [a:1], tls: true }", env)).toEqual(["kafka.tls.ca"]);
});

test("a wrong variable is named, a secret one without its value", () => {
  const [problem] = problems(SMALL, { SWITCHYARD_KAFKA_PARTITIONS: "many" });
  expect(problem).toMatchObject({ found: '"many" in SWITCHYARD_KAFKA_PARTITIONS' });
});

// A variable contains a list as a string with commas. Checks across settings also see its entries.
test.each([
  ["delivery: { retryDelays: '${LIST}' }", { LIST: "60s, 10s" }, "delivery.retryDelays[1]"],
  ["", { SWITCHYARD_DELIVERY_RETRY_DELAYS: "60s,10s" }, "delivery.retryDelays[1]"],
  ["sources: [{ id: a, destinations: '${LIST}' }]", { LIST: "crm" }, "sources[0].destinations[0]"],
  [
    "sources: [{ id: a, writeKeys: '${LIST}' }, { id: b, writeKey: k }]",
    { LIST: "j,k" },
    "sources[1].writeKey",
  ],
  ["sources: [{ id: a, destinations: '${LIST}' }]", {}, "sources[0].destinations"],
])("%s with %j has one problem", (more, env, path) => {
  expect(problemPaths(`kafka: { brokers: [a:1] }\n${more}`, env)).toEqual([path]);
});

test("networks of a variable open private addresses to endpoints", () => {
  const yaml = SMALL.replace("https://a.example.com/", "http://127.0.0.1/");
  const opened = { SWITCHYARD_DELIVERY_ALLOW_NETWORKS: "10.0.0.0/8, 127.0.0.0/8" };
  expect(problems(yaml)).toHaveLength(1);
  expect(problems(yaml, opened)).toEqual([]);
  expect(
    problems(`${yaml}delivery: { allowNetworks: "\${NETS}" }`, { NETS: "::1,127.0.0.0/8" }),
  ).toEqual([]);
});

test("an unknown SWITCHYARD_ variable is a warning, known ones are not", () => {
  const env = { SWITCHYARD_KAFKA_BROKER: "a:1", SWITCHYARD_CONFIG: "x", SWITCHYARD_ENDPOINT: "y" };
  const parsed = parse(SMALL, { ...env, SWITCHYARD_KAFKA_BROKERS: "b:2", HOME: "/" });
  expect(parsed).toMatchObject({
    warnings: [
      "the environment variable SWITCHYARD_KAFKA_BROKER is ignored, because there is no such setting",
    ],
  });
});

test("what is most likely a mistake is a warning", () => {
  const yaml = `
kafka: { brokers: [a:1], sasl: { mechanism: plain, username: u, password: p } }
destinations:
  - id: hook
    type: webhook
    previousSharedSecret: old
    endpoints: [{ url: "https://a.example.com/" }]
`;
  expect(parse(yaml)).toMatchObject({
    warnings: [
      "destinations[0]: no source names hook, so it gets no calls",
      "destinations[0]: previousSharedSecret has no effect without standardWebhooks",
      "kafka.sasl: without kafka.tls the password crosses the network in plain text",
    ],
  });
});

test("a batch has defaults, and the IDs of a large one do not fit a header", () => {
  const hook = (id: string, settings: string) =>
    `  - { id: ${id}, type: webhook, endpoints: [{ url: "https://a.example.com/" }], ${settings} }`;
  const yaml = `
kafka: { brokers: [a:1] }
sources: [{ id: web, destinations: [a, b, c] }]
destinations:
${hook("a", "batch: {}")}
${hook("b", "messageIdHeader: true, batch: { calls: 221 }")}
${hook("c", "messageIdHeader: true, batch: { calls: 222, bytes: 1MiB, wait: 1s, format: ndjson, responses: each }")}
`;
  const parsed = parse(yaml);
  expect(parsed).toMatchObject({
    warnings: [expect.stringContaining("destinations[2]: messageIdHeader has no effect")],
  });
  expect(parsed).toMatchObject({
    config: {
      destinations: [
        { batch: { calls: 100, bytes: 524_288, waitMs: 250, format: "array", responses: "whole" } },
        { batch: { calls: 221 } },
        {
          batch: {
            calls: 222,
            bytes: 1_048_576,
            waitMs: 1_000,
            format: "ndjson",
            responses: "each",
          },
        },
      ],
    },
  });
});

test("a disabled destination that a source names is a reminder: what it does not get is lost to it", () => {
  const yaml = `
kafka: { brokers: [a:1] }
sources: [{ id: web, destinations: [hook, files, on] }]
destinations:
  - { id: hook, type: webhook, enabled: false, endpoints: [{ url: "https://a.example.com/" }] }
  - { id: files, type: topic, name: Files, enabled: false }
  - { id: on, type: webhook, endpoints: [{ url: "https://b.example.com/" }] }
`;
  expect(parse(yaml)).toMatchObject({
    warnings: [],
    reminders: [
      "destinations[0]: hook is disabled: calls and deletions are skipped and not delivered later; with `paused: true` they would wait",
      "destinations[1]: files is disabled: calls to it are skipped and not delivered later",
    ],
  });
});

test("each setting has a variable of its own", () => {
  const names = variables(SETTINGS).map(({ name }) => name);
  expect(names).toContain("SWITCHYARD_KAFKA_SASL_TOKEN_URL");
  expect(new Set(names).size).toBe(names.length);
  // Two settings whose names differ only in notation would share a variable.
  expect(variableName(["a", "bC"])).toBe(variableName(["a", "b", "c"]));
});

test("every default is valid", () => {
  const found: unknown[] = [];
  const context = { problems: [], warnings: [], origins: new Map(), readFile: () => NO_FILE };
  for (const { path, setting } of variables(SETTINGS)) {
    if (setting === null || setting.fallback === undefined) continue;
    const place = placeAt(context, path);
    found.push(setting.decode(undefined, place));
  }
  expect(found.length).toBeGreaterThan(10);
  expect(context.problems).toEqual([]);
});

const NO_FILE = { kind: "unreadable", why: "no files here" } as const;

test.each([
  ["all", 1],
  ["failures", 0],
  ["1%", 0.01],
  ["12.5%", 0.125],
  ["100%", 1],
])("log.attempts: %s", (given, share) => {
  expect(config(`${SMALL}\nlog: { attempts: "${given}" }`).log.attempts).toBe(share);
});
