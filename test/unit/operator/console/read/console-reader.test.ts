// What the console reads from topics, on a Kafka in memory, with the records that stages write.

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Delivery, deliveryHeaders } from "../../../../../src/domain/delivery.ts";
import type { DestinationId } from "../../../../../src/domain/ids.ts";
import type { SchemaRef } from "../../../../../src/domain/known-schemas.ts";
import { configuredTopics } from "../../../../../src/operator/connect/connection.ts";
import type { Query } from "../../../../../src/operator/console/ports.ts";
import type { KafkaQueryName } from "../../../../../src/operator/console/query-view.ts";
import { createConsoleReader } from "../../../../../src/operator/console/read/console-reader.ts";
import { marksOf } from "../../../../../src/operator/replay/replay-marks.ts";
import type { Lookup } from "../../../../../src/registry/port.ts";
import { encoded, framed } from "../../../../support/build/avro.ts";
import { config } from "../../../../support/build/config-source.ts";
import { clockDriver } from "../../../../support/clock/clock-driver.ts";
import { ManualClock } from "../../../../support/clock/manual-clock.ts";
import { createPrng } from "../../../../support/clock/prng.ts";
import { MemoryCluster } from "../../../../support/memory-kafka/memory-kafka.ts";
import { deadLetterRecord } from "../../../../support/worlds/replay-world.ts";
import { foundSchema, scriptedSchemas } from "../../../../support/worlds/scripted-schemas.ts";

const SECRET = "hunter2-of-the-header";
const HOUR = 3_600_000;
const EVERYTHING: Query = {
  ...{ destination: null, reason: null, isReplayed: null, messageId: "", isUser: null },
  sinceMs: HOUR,
};
const signal = new AbortController().signal;

interface Given {
  readonly payloads?: boolean;
  /** The result of the registry; if absent, no registry is configured. */
  readonly respond?: (ref: SchemaRef) => Lookup;
}

function yaml({ payloads = false }: Given): string {
  return `
kafka: { brokers: [kafka-1:9092] }
defaultSource: web
sources: [{ id: web, destinations: [hook, still, sheet] }]
destinations:
  - id: hook
    type: webhook
    sharedSecret: a-secret-of-24-characters
    endpoints: [{ url: "https://a.example.com/path?key=${SECRET}", headers: { X-Api-Key: ${SECRET} } }]
  - { id: still, type: webhook, paused: true, endpoints: [{ url: "https://b.example.com/" }] }
  - id: sheet
    type: topic
    name: Sheet
    filters:
      - { name: no tests, if: "event = 'Tested'", drop: true }
      - { name: no emails, dropProperties: { properties: [email] } }
attempts: { enabled: true }
console: { showPayloads: ${payloads} }
`;
}

/** Calls are written at their own time. The cluster's clock has the current time. */
function world(given: Given = {}) {
  const { respond } = given;
  const clock = new ManualClock(1_800_000_000_000);
  vi.setSystemTime(clock.nowMs());
  const cluster = new MemoryCluster({ clock, random: createPrng(5) });
  const read = config(yaml(given));
  const topics = configuredTopics(read);
  const all = [topics.calls, topics.deadLetters, topics.deadLetterReplays, topics.audiences];
  for (const name of [...all, topics.attempts]) cluster.createTopic(name, 1);
  for (const { id } of read.destinations) cluster.createTopic(topics.deliveries(id), 1);
  const kafka = cluster.connect();
  const reader = createConsoleReader({
    current: () => ({ config: read, hash: "0123456789ab" }),
    load: () => ({ kind: "invalid", problems: [], files: [] }),
    admins: [],
    useKafka: (work) => work(kafka),
    ...(respond !== undefined && { openSchemas: async () => scriptedSchemas(respond) }),
  });
  const append = (topic: string, key: string, value: object | null, headers = noHeaders()) => {
    const isBytes = value === null || Buffer.isBuffer(value);
    const bytes = isBytes ? value : Buffer.from(JSON.stringify(value));
    return cluster.append({ topic, key: Buffer.from(key), value: bytes, headers });
  };
  const finish = clockDriver(clock).during;
  const ask = <Name extends KafkaQueryName>(name: Name, query: Partial<Query> = {}) =>
    finish(reader.read(name, { ...EVERYTHING, ...query }, signal));
  return {
    ...{ cluster, topics, reader, append, finish, ask },
    call: (over: object) => append(topics.calls, "u-1", { type: "track", event: "E", ...over }),
  };
}

function noHeaders(): ReturnType<typeof deliveryHeaders> {
  return [];
}

beforeEach(() => vi.useFakeTimers({ toFake: ["Date"] }));
afterEach(() => vi.useRealTimers());

test("replayed dead letters differ from those that wait, and each can be asked for", async () => {
  const { ask, cluster, topics } = world();
  const failedAtMs = Date.now();
  const deadLetters = ["m-1", "m-2"].map((id) => {
    const messageId = id as Delivery["messageId"];
    const destination = "hook" as DestinationId;
    const given = deadLetterRecord({ messageId, destination }, { failedAtMs });
    return cluster.append({ ...given, topic: topics.deadLetters });
  });
  const mark = { replay: "r", by: "p", atMs: failedAtMs };
  for (const record of marksOf(topics.deadLetterReplays, deadLetters.slice(0, 1), mark)) {
    cluster.append(record);
  }
  const all = await ask("dead-letters");
  expect(all).toMatchObject({ total: 2, replayed: 1, isCut: false });
  expect(all.counts).toEqual([{ destination: "hook", reason: "rejected", count: 2, replayed: 1 }]);
  expect(all.samples.map(({ messageId, replayedAt }) => [messageId, replayedAt])).toEqual([
    ["m-2", null],
    ["m-1", new Date(failedAtMs).toISOString()],
  ]);
  // Values are user data.
  expect(all.samples.map(({ payload }) => payload)).toEqual([null, null]);
  const waiting = await ask("dead-letters", { isReplayed: false });
  expect(waiting.samples.map(({ messageId }) => messageId)).toEqual(["m-2"]);
  const replayed = await ask("dead-letters", { isReplayed: true });
  expect(replayed.samples.map(({ messageId }) => messageId)).toEqual(["m-1"]);
  const others = await ask("dead-letters", { destination: "still" });
  expect(others.total).toBe(0);
});

test("the calls of a user are found by user id and by anonymous id, refused ones, too", async () => {
  const { ask, call } = world();
  call({ messageId: "m-1", userId: "ada" });
  call({ messageId: "m-2", userId: "bob" });
  call({ messageId: "m-3", anonymousId: "ada" });
  call({ messageId: "m-4", userId: "ada", event: 7 });
  call({ messageId: "m-5", userId: "ada", type: "track", event: "Ordered" });
  const isWanted = (id: string) => id === "ada";
  const reported = await ask("calls", { isUser: isWanted });
  expect(new Set(reported.calls.map(({ messageId, type }) => `${messageId} ${type}`))).toEqual(
    new Set([
      "m-1 track",
      "m-3 track",
      "switchyard.calls/0/3 not a call (invalid-call)",
      "m-5 track",
    ]),
  );
  expect(reported).toMatchObject({ scanned: 5, isCut: false });
  // Names of events are user data.
  expect(reported.calls.every(({ event }) => event === null)).toBe(true);
});

test("the latest calls are those of all users, at most twenty", async () => {
  const { ask, call } = world();
  for (let index = 0; index < 25; index += 1)
    call({ messageId: `m-${index}`, userId: `u${index}` });
  const view = await ask("calls", {});
  expect(view.calls).toHaveLength(20);
  expect(view.calls.every(({ event }) => event === null)).toBe(true);
});

test("events are reported where payloads may be", async () => {
  const { ask, call } = world({ payloads: true });
  call({ messageId: "m-1", userId: "ada", event: "Ordered" });
  const reported = await ask("calls", { isUser: () => true });
  expect(reported.calls).toMatchObject([{ event: "Ordered", source: "web" }]);
});

test.each([false, true])(
  "requests have no secret, and a body with payloads: %s",
  async (payloads) => {
    const { ask, call } = world({ payloads });
    call({ messageId: "m-1", userId: "ada", event: "Ordered" });
    const reported = await ask("call", { messageId: "m-1" });
    const [hook, still, sheet, ...none] = reported.requests;
    expect(none).toEqual([]);
    expect(hook).toMatchObject({
      destination: "hook",
      endpoint: "hook[1] a.example.com",
      method: "POST",
      origin: "https://a.example.com",
      note: null,
    });
    const headers = new Map(hook?.headers);
    expect(headers.get("X-Api-Key")).toBeNull();
    expect(headers.get("X-Signature")).toMatch(/^[\da-f]{40}$/);
    expect(hook?.bodyBytes).toBeGreaterThan(20);
    if (payloads) expect(JSON.parse(hook?.body ?? "")).toMatchObject({ event: "Ordered" });
    else expect(hook?.body).toBeNull();
    expect(still?.note).toBe(
      "no request yet: it stays in the queue, because the destination is paused",
    );
    expect(sheet?.note).toBe("receives no requests: its topic is read by other consumers");
    expect(JSON.stringify(reported)).not.toContain(SECRET);
    expect(JSON.stringify(reported).includes("Ordered")).toBe(payloads);
  },
);

test("a call's view names the reason, the filter and the changed properties, but no value", async () => {
  const { ask, call } = world();
  call({ messageId: "m-1", userId: "ada", event: "Tested" });
  call({ messageId: "m-2", userId: "ada", properties: { email: "ada@example.com" } });
  call({ messageId: "m-3", userId: "ada", integrations: { All: false, Sheet: true } });
  const routed = async (messageId: string) => {
    const view = await ask("call", { messageId });
    expect(JSON.stringify(view)).not.toContain("ada@example.com");
    return view.decisions.map(({ destination, gets, reason, text }) =>
      [destination, gets ? "gets it" : "skipped", reason, text].join(" | "),
    );
  };
  const connected =
    "by-default | the source is connected to it, and integrations do not exclude it";
  const [hook, still] = ["hook", "still"].map((id) => `${id} | gets it | ${connected}`);
  expect(await routed("m-1")).toEqual([
    hook,
    still,
    'sheet | skipped | filtered | the filter "no tests" drops the call',
  ]);
  expect(await routed("m-2")).toEqual([
    hook,
    still,
    `sheet | gets it | ${connected}; its rules change properties.email`,
  ]);
  expect((await routed("m-3"))[0]).toBe(
    "hook | skipped | all-false | integrations exclude All, and do not name Webhooks",
  );
});

test.each([false, true])(
  "a call's attempts have their responses with payloads: %s",
  async (payloads) => {
    const { ask, append, call, topics } = world({ payloads });
    call({ messageId: "m-1", userId: "ada" });
    append(topics.attempts, "m-1", attemptRecord("m-1", "hook"));
    const { steps } = await ask("call", { messageId: "m-1" });
    const attempt = steps.find(({ kind }) => kind === "attempt");
    expect(attempt?.text).toContain("503");
    expect(attempt?.text.includes("of Ada")).toBe(payloads);
  },
);

const AVRO = {
  type: "record",
  name: "Call",
  fields: ["type", "event", "user_id", "message_id"].map((name) => ({ name, type: "string" })),
};
const avroCall = (id: number) =>
  framed(id, encoded(AVRO, { type: "track", event: "Ordered", user_id: "ada", message_id: "m-1" }));

test("a call with a schema of the registry is read by it, its requests and its user, too", async () => {
  const unknown = { kind: "unknown", error: "the registry does not know schema 8" } as const;
  const respond = (ref: SchemaRef) => (ref === 7 ? foundSchema(AVRO) : unknown);
  const { ask, append, topics } = world({ payloads: true, respond });
  append(topics.calls, "ada", avroCall(7));
  append(topics.calls, "ada", avroCall(8));
  const reported = await ask("call", { messageId: "m-1" });
  expect(reported.steps.map(({ text }) => text)).toContainEqual(
    expect.stringMatching(/^received: track "Ordered" from web/),
  );
  expect(reported.steps.map(({ text }) => text)).toContainEqual(
    expect.stringMatching(/^not a call: unknown-schema, .*schema 8/),
  );
  const [hook] = reported.requests;
  expect(JSON.parse(hook?.body ?? "")).toMatchObject({ event: "Ordered", userId: "ada" });
  const isWanted = (id: string) => id === "ada";
  const ofUser = await ask("calls", { isUser: isWanted });
  expect(ofUser.calls).toMatchObject([{ messageId: "m-1", event: "Ordered" }]);
  expect(ofUser.scanned).toBe(2);
});

test("while the registry does not respond, a call with a schema is reported without its words", async () => {
  const { ask, append, topics } = world({
    respond: () => ({ kind: "outage", error: "the registry refuses connections" }),
  });
  append(topics.calls, "ada", avroCall(7));
  const reported = await ask("call", { messageId: "m-1" });
  expect(reported.steps).toMatchObject([
    { text: expect.stringMatching(/^not a call: schema not known/) },
  ]);
  expect(reported.requests).toEqual([]);
});

test("of a call that is not there nothing is reported", async () => {
  const { ask } = world();
  const reported = await ask("call", { messageId: "m-9" });
  expect(reported).toMatchObject({ steps: [], finalStates: [], requests: [] });
});

function attemptRecord(messageId: string, destination: string, over: object = {}) {
  const at = new Date(Date.now()).toISOString();
  const request = { endpoint: `${destination}[1] a.example.com`, outcome: "retry", status: 503 };
  return {
    ...{ time: at, messageId, destination, attempt: 2, firstAttemptAt: at, decision: "retry" },
    requests: [{ ...request, cause: null, durationMs: 20, phases: {}, response: "of Ada" }],
    next: [{ retryDelay: "10m", at, endpoint: null }],
    ...over,
  };
}

test.each([false, true])(
  "the last attempts of a destination, with responses: %s",
  async (payloads) => {
    const { ask, append, topics } = world({ payloads });
    append(topics.attempts, "m-1", attemptRecord("m-1", "hook"));
    append(topics.attempts, "m-2", attemptRecord("m-2", "still"));
    append(
      topics.attempts,
      "m-3",
      attemptRecord("m-3", "hook", { decision: "accepted", next: [] }),
    );
    append(topics.attempts, "m-4", attemptRecord("hook", "still"));
    const { isOn, isCut, attempts } = await ask("attempts", { destination: "hook" });
    expect([isOn, isCut]).toEqual([true, false]);
    const byId = new Map(attempts.map((each) => [each.messageId, each]));
    expect([...byId.keys()].sort()).toEqual(["m-1", "m-3"]);
    expect(byId.get("m-1")).toMatchObject({ decision: "retry", tone: "warn", attempt: 2 });
    expect(byId.get("m-1")?.retryAt).not.toBeNull();
    expect(byId.get("m-3")).toMatchObject({ tone: "good", retryAt: null });
    const text = byId.get("m-1")?.text ?? "";
    expect(text).toMatch(/^hook\[1\] a\.example\.com 503 in 20 ms/);
    // A response may repeat data from the request.
    expect(text.includes("of Ada")).toBe(payloads);
  },
);

test("what Kafka rejects is said to be of Kafka", async () => {
  const { ask, cluster, topics, finish } = world();
  await finish(cluster.connect().admin.deleteTopics([topics.audiences]));
  await expect(ask("audiences")).rejects.toThrow(
    "Kafka cannot be read: The topic switchyard.audiences does not exist.",
  );
});

test("without the topic of attempts it is said that there is none", async () => {
  const { ask, cluster, topics, finish } = world();
  const kafka = cluster.connect();
  await finish(kafka.admin.deleteTopics([topics.attempts]));
  expect(await ask("attempts", { destination: "hook" })).toMatchObject({
    isOn: false,
    attempts: [],
  });
});

test("audiences are reported with members over time and their last syncs", async () => {
  const { ask, append, topics } = world();
  const claim = { id: "vip", name: "VIP", key: "vip", partition: 0, first: 0, claim: null };
  const now = { openSyncId: null, last: null, awaitingApproval: null, members: 0 };
  append(topics.audiences, "vip", { ...claim, ...now });
  const last = { syncId: "s-1", endedAtMs: Date.now() };
  const awaitingApproval = { syncId: "s-2", removals: 3, sinceMs: Date.now() };
  append(topics.audiences, "vip", {
    ...claim,
    ...now,
    claim: 0,
    members: 5,
    last,
    awaitingApproval,
  });
  const [vip, ...others] = await ask("audiences");
  expect(others).toEqual([]);
  const at = new Date(last.endedAtMs).toISOString();
  expect(vip).toMatchObject({
    ...{
      id: "vip",
      members: 5,
      awaitingApproval: {
        syncId: "s-2",
        removals: 3,
        since: at,
        command: "switchyard audience approve vip",
      },
    },
    syncs: [{ syncId: "s-1", endedAt: at, members: 5 }],
  });
  expect(vip?.history?.values.members.at(-1)).toBe(5);
});

test("a look says what is known of Kafka where no process is asked", async () => {
  const { reader, finish } = world();
  const { report, healthProblems, configured, counters } = await finish(reader.pollOnce(signal));
  expect(report.kafkaError).toBeNull();
  expect(report.destinations.map(({ destination }) => destination)).toContain("hook");
  expect(configured.get("hook")).toMatchObject({ kind: "webhook", sources: ["web"] });
  expect(configured.get("sheet")?.kind).toBe("topic");
  expect(configured.get("other")).toBeUndefined();
  expect(healthProblems.map(({ text }) => text).join()).toContain("No processes are known");
  expect(counters.size).toBe(0);
});

test("a configuration that cannot be read has no text", async () => {
  expect(world().reader.configuration()).toEqual({ yaml: null, hash: "" });
});
