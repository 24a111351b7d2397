import { expect, test } from "vitest";

import {
  deadLetterOf,
  short,
  shortDeadLetter,
  tooLarge,
} from "../../../src/domain/dead-letter-records.ts";
import type { SourceId } from "../../../src/domain/ids.ts";
import type { OutgoingRecord, RecordHeaders } from "../../../src/domain/record.ts";
import { topicNames } from "../../../src/domain/topics.ts";
import { routeRecord } from "../../../src/router/route/route-record.ts";
import { createRouting } from "../../../src/router/route/routing.ts";
import { aRecord, aSource, aTopicDestination, headerTexts } from "../../support/build/calls.ts";
import { asFetched } from "../../support/build/record-batches.ts";

const TOPIC = "sw.dead-letters";
const routing = createRouting(
  [aSource("web", ["a", "b", "c"])],
  "web" as SourceId,
  ["a", "b", "c"].map((id) => aTopicDestination(id)),
  topicNames("sw."),
);

test("a dead letter is the record, its own headers and why", async () => {
  const record = await asFetched(
    aRecord(Buffer.from("broken"), {
      key: Buffer.from("k"),
      headers: [
        ["trace", Buffer.from("1")],
        ["switchyard-destination", Buffer.from("forged")],
      ],
    }),
  );
  const deadLetter = deadLetterOf(
    "route",
    { record, reason: "undecodable", error: "why" },
    TOPIC,
    17,
  );
  expect(deadLetter.outgoing).toMatchObject({ topic: TOPIC, key: record.key, value: record.value });
  expect(headerTexts(deadLetter.outgoing)).toEqual({
    trace: "1",
    "switchyard-stage": "route",
    "switchyard-reason": "undecodable",
    "switchyard-error": "why",
    "switchyard-failed-at": "17",
    "switchyard-topic": "calls",
    "switchyard-partition": "3",
    "switchyard-offset": "42",
  });
});

test("a call of which copies are rejected becomes one dead letter that names the topics", () => {
  const call = { type: "identify", userId: "u" };
  const batch = [aRecord(call), aRecord(call, { offset: 43 })].flatMap((record) => {
    const routed = routeRecord(record, routing, 0);
    return routed.kind === "routed" ? [routed] : [];
  });
  const copies = batch.flatMap(({ records }) => records);
  const refused = new Map<OutgoingRecord, string>();
  for (const copy of copies.slice(4)) refused.set(copy, "over 1 MiB");
  const deadLetters = tooLarge(batch, refused);
  expect(deadLetters).toHaveLength(1);
  expect(deadLetters[0]).toMatchObject({
    reason: "too-large",
    error: "too large for sw.deliveries.b, sw.deliveries.c: over 1 MiB",
    record: { offset: 43 },
  });
});

/** Returns the records that are written in turn, if each of them is rejected. */
async function cuts(value: number, key: number, headers: RecordHeaders) {
  const keyBytes = Buffer.alloc(key);
  const given = aRecord(Buffer.alloc(value), { key: keyBytes, headers });
  const record = await asFetched(given);
  const why = { record, reason: "unknown-schema", error: "why" } as const;
  const whole = deadLetterOf("route", why, TOPIC, 17);
  const written: OutgoingRecord[] = [];
  let next = shortDeadLetter(whole, whole.outgoing, TOPIC, 18);
  for (; next !== null; next = shortDeadLetter(whole, next, TOPIC, 18)) written.push(next);
  return written.map((deadLetter) => ({
    value: deadLetter.value?.length ?? null,
    key: deadLetter.key?.length ?? null,
    headers: deadLetter.headers
      .map(([name]) => name)
      .filter((name) => !name.startsWith("switchyard-")),
    error: headerTexts(deadLetter)["switchyard-error"],
  }));
}

const sized = (name: string, bytes: number) => [name, Buffer.alloc(bytes)] as const;
const CUT = "why; to fit into this topic, the dead letter was written without";

test("headers of a dead letter that is too large go before its value, the largest first", async () => {
  const headers = [sized("a", 10), sized("big", 3_000_000), sized("half", 500_000), sized("b", 20)];
  expect(await cuts(149, 36, headers)).toEqual([
    {
      value: 149,
      key: 36,
      headers: ["a", "half", "b"],
      error: `${CUT} the header "big" (3000003 bytes)`,
    },
    {
      value: 149,
      key: 36,
      headers: ["a", "b"],
      error: `${CUT} 2 headers (3500007 bytes; the largest is "big")`,
    },
    {
      value: 149,
      key: 36,
      headers: [],
      error: `${CUT} 4 headers (3500039 bytes; the largest is "big")`,
    },
    {
      value: 149,
      key: null,
      headers: [],
      error: `${CUT} 4 headers (3500039 bytes; the largest is "big") and the key (36 bytes)`,
    },
    {
      value: null,
      key: 36,
      headers: [],
      error: `${CUT} 4 headers (3500039 bytes; the largest is "big") and the value (149 bytes)`,
    },
    {
      value: null,
      key: null,
      headers: [],
      error: `${CUT} 4 headers (3500039 bytes; the largest is "big") and the value (149 bytes) and the key (36 bytes)`,
    },
  ]);
});

test("a value that is too large alone goes, and headers that fit come back", async () => {
  const deadLetters = await cuts(2_000_000, 36, [sized("trace", 100), sized("huge", 1_100_000)]);
  expect(deadLetters.map(({ value, key, headers }) => ({ value, key, headers }))).toEqual([
    { value: 2_000_000, key: 36, headers: [] },
    { value: 2_000_000, key: null, headers: [] },
    { value: null, key: 36, headers: ["trace"] },
    { value: null, key: 36, headers: [] },
    { value: null, key: null, headers: [] },
  ]);
});

test("a value that just fits keeps itself, and a key that is too large goes before it", async () => {
  const [first] = await cuts(1_040_000, 36, [sized("trace", 5_000), sized("more", 5_001)]);
  expect(first).toMatchObject({ value: 1_040_000, key: 36, headers: ["trace"] });
  const deadLetters = await cuts(149, 3_000_000, [sized("trace", 100)]);
  expect(deadLetters.find(({ key }) => key === null)).toMatchObject({
    value: 149,
    headers: ["trace"],
    error: `${CUT} the key (3000000 bytes)`,
  });
});

test("a header of our prefix that no stage has written does not stay", async () => {
  const { topic, partition, offset } = aRecord(Buffer.from("x"));
  const whole = {
    key: null,
    value: Buffer.from("x"),
    headers: [sized("switchyard-forged", 3_000_000), sized("switchyard-message-id", 36)],
  };
  const cause = { stage: "deliver", reason: "rejected", error: "why", failedAtMs: 1 } as const;
  const deadLetter = short(cause, { topic, partition, offset }, whole, whole, TOPIC);
  expect(deadLetter?.value).toEqual(whole.value);
  const names = deadLetter?.headers.map(([name]) => name) ?? [];
  expect(names).toContain("switchyard-message-id");
  expect(names).not.toContain("switchyard-forged");
});
