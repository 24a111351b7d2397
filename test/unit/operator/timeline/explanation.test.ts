// What `explain` shows about the first step of the deliver stage: the decision of `prepare`, even if no request is
// made. If a setting changes the decision, nothing has to be changed here.

import picocolors from "picocolors";
import { expect, test } from "vitest";
import { deliveryHeaders } from "../../../../src/domain/delivery.ts";
import type { OutgoingRecord } from "../../../../src/domain/record.ts";
import { type FirstStep, firstStep } from "../../../../src/operator/timeline/explanation.ts";
import { explanationText } from "../../../../src/operator/timeline/explanation-text.ts";
import { deliveryOf, webhookDestination } from "../../../support/build/webhook-destination.ts";

const NOW_MS = 1_772_357_415_250;
const POLICY = { retryDelaysMs: [10_000, 30_000], retryWindowMs: 14_400_000, proxy: null };
const VALUE = '{"type":"track","userId":"u1","event":"e"}';

function copyOf(value: string, headers = deliveryHeaders(deliveryOf())): OutgoingRecord {
  return { topic: "t", key: null, value: Buffer.from(value), headers };
}

test("an attempt has a request for each endpoint", () => {
  const destination = webhookDestination({ urls: ["http://a.test/", "http://b.test/"] });
  const step = firstStep(destination, copyOf(VALUE), POLICY, NOW_MS);
  expect(step).toMatchObject({
    kind: "attempt",
    requests: [{ url: "http://a.test/" }, { url: "http://b.test/" }],
  });
});

test.each([
  ["a value that is no call", copyOf("[]"), "invalid-call", "this is a list"],
  ["a header that is missing", copyOf(VALUE, []), "invalid-call", "the header switchyard-"],
])("%s becomes a dead letter, with the sentence", (_name, copy, reason, error) => {
  const step = firstStep(webhookDestination(), copy, POLICY, NOW_MS);
  expect(step).toEqual({ kind: "dead-letter", reason, error: expect.stringContaining(error) });
});

test("a paused destination's call waits in the queue", () => {
  const step = firstStep(webhookDestination({ paused: true }), copyOf(VALUE), POLICY, NOW_MS);
  expect(step).toEqual({ kind: "wait", reason: "paused" });
});

const WHERE = { topic: "sw.deliveries.crm", key: null, value: null, headers: [] };

/** Returns the lines below the destination's topic. */
function linesOf(
  first: FirstStep,
  order: "loose" | "strict" = "loose",
  key = "u1",
): readonly string[] {
  const explained = {
    destination: webhookDestination({ order }),
    reason: "by-default" as const,
    filter: null,
    changed: [],
    copy: { ...WHERE, key: Buffer.from(key) },
    first,
  };
  const read = {
    kind: "call" as const,
    namedBy: "defaultSource" as const,
    times: { timestampMs: NOW_MS, receivedAtMs: NOW_MS },
  };
  const call = { type: "identify", userId: "u1", anonymousId: null, messageId: null };
  const explanation = { kind: "call", read: { ...read, call, source: { id: "web" } } };
  const text = explanationText(
    { ...explanation, destinations: [explained] } as unknown as Parameters<
      typeof explanationText
    >[0],
    1,
    picocolors.createColors(false),
  );
  return text.trimEnd().split("\n").slice(7);
}

test.each([
  [
    { kind: "dead-letter", reason: "rejected", error: "it is too large" },
    "    no request, but a dead letter (rejected): it is too large",
  ],
  [{ kind: "retry", delayMs: 10_000 }, "    no request yet: it is retried after 10 s"],
  [
    { kind: "wait", reason: "paused" },
    "    no request yet: it stays in the queue, because the destination is paused",
  ],
] as const)("%j is printed", (first, line) => {
  expect(linesOf(first)).toEqual([line]);
});

test("with a strict order it is shown that a call with a key waits", () => {
  const first = { kind: "retry", delayMs: 10_000 } as const;
  const retried = linesOf(first);
  const waits = "    it waits behind earlier deliveries of the same user that await retry";
  expect(linesOf(first, "strict")).toEqual([waits, ...retried]);
  expect(linesOf(first, "strict", "")).toEqual(retried);
});

test.each([
  ["http://me:pw@proxy.example.com:3128", null, "proxy.example.com:3128"],
  ["http://proxy.example.com:3128", "https://me:pw@other.example.com:443", "other.example.com:443"],
  ["http://proxy.example.com:3128", "none", null],
  [null, null, null],
])("with delivery.proxy %s and proxy %s, a request goes through %s", (common, own, proxy) => {
  const destination = webhookDestination({ proxy: own });
  const step = firstStep(destination, copyOf(VALUE), { ...POLICY, proxy: common }, NOW_MS);
  expect(step).toMatchObject({ kind: "attempt", requests: [{ proxy }] });
  const through = proxy === null ? "" : `, through the proxy ${proxy}`;
  expect(linesOf(step)[0]).toBe(`    endpoint crm[1] receiver.test${through}`);
  expect(JSON.stringify(step)).not.toContain("me:pw");
});
