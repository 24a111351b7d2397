// Which record a replay writes for a dead letter: the table of replay.ts, row by row.

import { expect, test } from "vitest";
import { type Delivery, deliveryHeaders } from "../../../../src/domain/delivery.ts";
import type { DestinationId, EndpointKey, EndpointRef } from "../../../../src/domain/ids.ts";
import { readDeadLetter } from "../../../../src/operator/replay/dead-letter-record.ts";
import { cancellationOf, replayOf } from "../../../../src/operator/replay/replayed-record.ts";
import { orderKey, readFact } from "../../../../src/router/order/facts.ts";
import { headerTexts } from "../../../support/build/calls.ts";
import { suppressing } from "../../../support/build/suppressions.ts";
import {
  deliveryOf,
  refsOf,
  webhookDestination,
} from "../../../support/build/webhook-destination.ts";
import {
  DELIVERIES,
  type DeadLetterSpec,
  deadLetterRecord,
  topics,
} from "../../../support/worlds/replay-world.ts";

const crm = webhookDestination({ urls: ["http://a.test/", "http://b.test/"], deliver: "every" });
const other = webhookDestination({ id: "other" as DestinationId });
const TARGETS = { topics, destinations: [other, crm] };
const KEY = crm.endpoints[0]?.key as EndpointKey;
const [REF] = refsOf(crm) as [EndpointRef];

function decide(spec: DeadLetterSpec, delivery: Partial<Delivery> = {}) {
  const outgoing = deadLetterRecord(delivery, spec);
  const record = { ...outgoing, partition: 0, offset: 3, timestampMs: 5 };
  return replayOf(readDeadLetter(record, topics), TARGETS);
}

type Spec = Required<DeadLetterSpec>;
const by = (stage: Spec["stage"], reason: Spec["reason"], topic: string) => ({
  ...{ stage, reason, topic, headers: [] },
});
const DELAYED: DeadLetterSpec = {
  stage: "delay",
  reason: "unknown-destination",
  topic: "sw.delays.10s",
};
const SYNC: DeadLetterSpec = {
  stage: "audience",
  reason: "invalid-sync",
  topic: topics.audienceSyncs,
};
const GONE = { destination: "gone" as DestinationId };
const OTHERS_GONE = { accepted: refsOf(crm) };
const NO_ENDPOINT = { endpoint: "eu,0123456789abcdef" as EndpointRef };

test.each<[string, string, DeadLetterSpec, Partial<Delivery>?]>([
  ["a rejected delivery", DELIVERIES, {}],
  ["an expired one", DELIVERIES, { reason: "expired" }],
  ["one that the delay stage dead-lettered", DELIVERIES, DELAYED],
  ["one of an endpoint that is there", DELIVERIES, {}, { endpoint: REF }],
  ["one that lacks its headers", DELIVERIES, { reason: "invalid-call", headers: [] }],
  ["a call", topics.calls, by("route", "unknown-source", topics.calls)],
  [
    "a deletion request",
    topics.deletionRequests,
    by("deletion", "invalid-deletion", topics.deletionRequests),
  ],
  ["an unreadable sync", topics.audienceSyncs, by("audience", "undecodable", topics.audienceSyncs)],
])("%s is written to %s, key and value as they were", (_what, topic, spec, delivery) => {
  expect(decide(spec, delivery)).toMatchObject({
    kind: "replay",
    outgoing: { topic, key: Buffer.from("u"), value: Buffer.from('{"type":"track"}') },
  });
});

test.each<[string, string, DeadLetterSpec, Partial<Delivery>?]>([
  ["a part of a sync", "Send it again", SYNC],
  ["what has no value", "no value", { reason: "too-large", value: null }],
  ["another destination", "the destination gone is not configured", {}, GONE],
  ["another endpoint", "the endpoint crm[eu] was removed", {}, NO_ENDPOINT],
  ["one that all that are left accepted", "had not accepted it were removed", {}, OTHERS_GONE],
  ["a delivery that names nobody", "do not name a", { topic: "sw.delays.10s", headers: [] }],
  ["a record of a strange topic", "other.calls", { stage: "route", topic: "other.calls" }],
  [
    "a dead letter's dead letter",
    "is not a topic of this configuration",
    { stage: "route", topic: topics.deadLetters },
  ],
  ["a record from nowhere", "do not name the topic", { stage: "route", topic: "" }],
])("rejected: %s, because %s", (_what, why, spec, delivery) => {
  expect(decide(spec, delivery)).toEqual({ kind: "refused", why: expect.stringContaining(why) });
});

test("a delivery keeps what it is, and forgets what happened to it", () => {
  const decided = decide(
    {},
    {
      endpoint: REF,
      attempt: 9,
      firstAttemptAtMs: 1,
      retryCount: 8,
      dueAtMs: 2,
      notBeforeMs: 3,
      retryTopic: DELIVERIES,
      rejected: [KEY],
      lastOutcome: `${KEY}=404`,
    },
  );
  if (decided.kind !== "replay") throw new Error(decided.why);
  expect(headerTexts(decided.outgoing)).toEqual({
    "switchyard-message-id": "m-1",
    "switchyard-source": "web",
    "switchyard-destination": "crm",
    "switchyard-timestamp": `${Date.UTC(2026, 2, 1, 9, 30, 15, 250)}`,
    "switchyard-received-at": `${Date.UTC(2026, 2, 1, 9, 30, 16)}`,
    "switchyard-endpoint": REF,
  });
});

const PLACE = ["switchyard-queue-place", Buffer.from("q:2/41")] as const;
const blocking = { headers: [...deliveryHeaders(deliveryOf()), PLACE] };

test("a delivery that blocks its user keeps its place in the queue, and does not wait for the queue", () => {
  const decided = decide(blocking);
  if (decided.kind !== "replay") throw new Error(decided.why);
  expect(headerTexts(decided.outgoing)).toMatchObject({ "switchyard-queue-place": "q:2/41" });
  expect(decided.outgoing.topic).toBe("sw.retries.crm");
});

type Now = Parameters<typeof webhookDestination>[0] | "topic" | "removed";

function destinationsNow(changed: Now) {
  const topic = { id: crm.id, name: "CRM", kind: "topic", isAttempted: false } as never;
  const now = typeof changed === "string" ? topic : webhookDestination(changed);
  return changed === "removed" ? [] : [now];
}

function decideBlocking(changed: Now) {
  const destinations = destinationsNow(changed);
  const outgoing = deadLetterRecord({}, { ...blocking, value: OF_U1 });
  const record = { ...outgoing, partition: 0, offset: 3, timestampMs: 5 };
  return (suppressions = suppressing()) =>
    replayOf(readDeadLetter(record, topics), { topics, destinations, suppressions });
}

test.each([
  ["is strict", { order: "strict" }],
  ["is loose now", { order: "loose" }],
  ["is disabled now", { enabled: false, order: "strict" }],
] as const)("if its destination %s, it is written to its retry topic, with its place", (_, now) => {
  const decided = decideBlocking(now)();
  if (decided.kind !== "replay") throw new Error(decided.why);
  expect(decided.outgoing.topic).toBe("sw.retries.crm");
  expect(headerTexts(decided.outgoing)).toMatchObject({ "switchyard-queue-place": "q:2/41" });
  expect(decideBlocking(now)(suppressing("u1")).kind).toBe("replay");
});

test("if others read its destination's queue now, it is written there, without its place", () => {
  const decide = decideBlocking("topic");
  const decided = decide();
  if (decided.kind !== "replay") throw new Error(decided.why);
  expect(decided.outgoing.topic).toBe("sw.deliveries.crm");
  expect(headerTexts(decided.outgoing)).not.toHaveProperty("switchyard-queue-place");
});

test("if its destination does not exist any more, it is rejected", () => {
  const why = "the destination crm is not configured";
  expect(decideBlocking("removed")()).toEqual({ kind: "refused", why });
});

test.each(["topic", "removed"] as const)(
  "if its destination is %s now, nobody waits for it, and that of a suppressed user is skipped",
  (now) => {
    const why = "its user is suppressed";
    expect(decideBlocking(now)(suppressing("u1"))).toEqual({ kind: "skipped", why });
  },
);

function cancel(spec: DeadLetterSpec, now: Now = {}) {
  const record = { ...deadLetterRecord({}, spec), partition: 0, offset: 3, timestampMs: 5 };
  const targets = { topics, destinations: destinationsNow(now) };
  return cancellationOf(readDeadLetter(record, topics), targets);
}

test("if a dead letter that blocks its user is canceled, its delivery is settled", () => {
  const canceled = cancel(blocking);
  if (canceled?.kind !== "replay") throw new Error("it blocks its user");
  const { topic, key, value } = canceled.outgoing;
  expect(topic).toBe("sw.order.crm");
  expect(`${value}`).toBe('{"messageId":"m-1"}');
  const fact = { kind: "settled", key: orderKey({ key: Buffer.from("u") }), offset: 41 };
  expect(readFact({ key, value })).toEqual({ line: "q:2", fact, isThere: true });
});

test.each([["topic"], ["removed"]] as const)(
  "if its destination is %s now, it cannot be canceled",
  (now) => {
    expect(cancel(blocking, now)).toBeNull();
  },
);

test("one that blocks nobody cannot be canceled", () => {
  expect(cancel({})).toBeNull();
});

test("a delivery goes to the destination that it failed at, and says so from then on", () => {
  const decided = decide({ topic: DELIVERIES }, { destination: "gone" as Delivery["destination"] });
  if (decided.kind !== "replay") throw new Error(decided.why);
  expect(decided.outgoing.topic).toBe(DELIVERIES);
  expect(headerTexts(decided.outgoing)).toMatchObject({ "switchyard-destination": "crm" });
});

test("producers' headers go along, on either way; a call keeps no header of ours", () => {
  const foreign = ["trace", Buffer.from("t-1")] as const;
  const own = ["switchyard-message-id", Buffer.from("m-9")] as const;
  const delivery = decide({ headers: [foreign, own, own] });
  const call = decide({ stage: "route", topic: topics.calls, headers: [foreign, own] });
  if (delivery.kind !== "replay" || call.kind !== "replay") throw new Error("refused");
  expect(delivery.outgoing.headers.map(([name]) => name)).toEqual([
    "switchyard-destination",
    "switchyard-message-id",
    "trace",
  ]);
  expect(call.outgoing.headers).toEqual([foreign]);
});

const SUPPRESSED = "its user is suppressed";
const OF_U1 = '{"type":"track","event":"e","userId":"u1"}';
const OF_NOBODY = '{"type":"track","event":"e","anonymousId":"a"}';
const suppressions = suppressing("u1");
const HASH = suppressions.headerOf({ type: "track", userId: "u1", previousId: null });

test.each<[string, DeadLetterSpec, Partial<Delivery>, boolean]>([
  ["a delivery of the user", { value: OF_U1 }, {}, true],
  ["one whose rules removed the user ID", { value: OF_NOBODY }, { userHash: HASH }, true],
  ["a delivery that blocks the user", { value: OF_U1, ...blocking }, {}, false],
  ["one of somebody else", { value: OF_NOBODY }, {}, false],
  ["a call", { ...by("route", "unknown-source", topics.calls), value: OF_U1 }, {}, true],
  [
    "a deletion request",
    { ...by("deletion", "invalid-deletion", topics.deletionRequests), value: OF_U1 },
    {},
    false,
  ],
])("%s, while the user is suppressed", (_what, spec, delivery, isSkipped) => {
  const outgoing = deadLetterRecord(delivery, spec);
  const record = { ...outgoing, partition: 0, offset: 3, timestampMs: 5 };
  const deadLetter = readDeadLetter(record, topics);
  const replay = replayOf(deadLetter, { ...TARGETS, suppressions });
  expect(replay).toMatchObject(
    isSkipped ? { kind: "skipped", why: SUPPRESSED } : { kind: "replay" },
  );
  expect(replayOf(deadLetter, { ...TARGETS, suppressions: suppressing() }).kind).toBe("replay");
});
