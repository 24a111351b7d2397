import { expect, test } from "vitest";
import type { EndpointNames } from "../../../../src/domain/endpoint-name.ts";
import type { EndpointKey, EndpointRef, MessageId, SourceId } from "../../../../src/domain/ids.ts";
import {
  acceptedText,
  attemptFields,
  sampling,
} from "../../../../src/router/deliver/attempt-line.ts";
import type { Decision } from "../../../../src/router/deliver/decide.ts";
import { deliveryOf, resultAt } from "../../../support/build/webhook-destination.ts";

const KEY = "0123456789abcdef" as EndpointKey;
const named = (name: string): EndpointNames =>
  new Map([[KEY, { id: "1", name, ref: "1" as EndpointRef }]]);
const NAMES = named("crm[1] hooks.example.com");
const ACCEPTED: Decision = { name: "accepted", outputs: [] };
const RESULT = { kind: "response", status: 204, retryAfter: null, durationMs: 12.6 } as const;

function attempted(messageId: string, source = "web") {
  const delivery = deliveryOf({
    messageId: messageId as MessageId,
    source: source as SourceId,
    attempt: 2,
  });
  const results = [resultAt(KEY, RESULT)];
  return { delivery, results, decision: ACCEPTED, names: NAMES, endedAtMs: 0, batch: null };
}

test.each(["m-1", "a b", "!#[]~", "{}:,'"])(
  "the text of an accepted attempt with the id %j is its fields as JSON",
  (messageId) => {
    const text = acceptedText(attempted(messageId));
    expect(`{${text}}`).toBe(JSON.stringify(attemptFields(attempted(messageId))));
  },
);

test.each(['"', "\\", "\n", "\u001b[31m", "\u007f", "\u009b", "\u202e", "é", "☕", "\ud800"])(
  "an id with %j has no such text, whosever it is",
  (odd) => {
    expect(acceptedText(attempted(`m${odd}1`))).toBeNull();
    expect(acceptedText(attempted("m-1", `web${odd}`))).toBeNull();
    expect(acceptedText({ ...attempted("m-1"), names: named(odd) })).toBeNull();
  },
);

test("an attempt of another kind has none either", () => {
  const one = attempted("m-1");
  const failed = resultAt(KEY, { kind: "no-response", cause: "reset", durationMs: 1 });
  const others = [
    { ...one, decision: { ...ACCEPTED, name: "retry" } },
    { ...one, results: [...one.results, ...one.results] },
    { ...one, results: [resultAt(KEY, { kind: "skipped" })] },
    { ...one, results: [failed] },
  ] as readonly (typeof one)[];
  for (const other of others) expect(acceptedText(other)).toBeNull();
});

test.each([
  [1, 1_000],
  [0, 0],
  [0.01, 10],
  [0.125, 125],
  [0.001, 1],
])("of 1,000 accepted attempts, a share of %d writes %i lines", (share, lines) => {
  const isSampled = sampling(share);
  const written = Array.from({ length: 1_000 }, () => isSampled()).filter((each) => each);
  expect(written).toHaveLength(lines);
});

test("they are spread evenly", () => {
  const isSampled = sampling(0.25);
  expect(Array.from({ length: 8 }, () => isSampled())).toEqual([
    ...[false, false, false, true],
    ...[false, false, false, true],
  ]);
});
