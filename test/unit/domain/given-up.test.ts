import { expect, test } from "vitest";

import { deadLetterOf, shortLetter, tooLarge } from "../../../src/domain/given-up.ts";
import type { SourceId } from "../../../src/domain/ids.ts";
import type { OutgoingRecord } from "../../../src/domain/record.ts";
import { topicNames } from "../../../src/domain/topics.ts";
import { routeRecord } from "../../../src/route/route-record.ts";
import { createRouting } from "../../../src/route/routing.ts";
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
  const letter = deadLetterOf("route", { record, reason: "undecodable", error: "why" }, TOPIC, 17);
  expect(letter.outgoing).toMatchObject({ topic: TOPIC, key: record.key, value: record.value });
  expect(headerTexts(letter.outgoing)).toEqual({
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

test("a call of which copies are refused becomes one dead letter that names the topics", () => {
  const call = { type: "identify", userId: "u" };
  const batch = [aRecord(call), aRecord(call, { offset: 43 })].flatMap((record) => {
    const routed = routeRecord(record, routing, 0);
    return routed.kind === "routed" ? [routed] : [];
  });
  const copies = batch.flatMap(({ records }) => records);
  const refused = new Map<OutgoingRecord, string>();
  for (const copy of copies.slice(4)) refused.set(copy, "over 1 MiB");
  const letters = tooLarge(batch, refused);
  expect(letters).toHaveLength(1);
  expect(letters[0]).toMatchObject({
    reason: "too-large",
    error: "too large for sw.deliveries.b, sw.deliveries.c: over 1 MiB",
    record: { offset: 43 },
  });
});

test("a dead letter that is itself too large keeps where the record stands", async () => {
  const record = await asFetched(
    aRecord(Buffer.alloc(500), {
      key: Buffer.alloc(100),
      headers: [["big", Buffer.alloc(1_000)]],
    }),
  );
  const letter = deadLetterOf(
    "route",
    { record, reason: "unknown-schema", error: "why" },
    TOPIC,
    17,
  );
  const short = shortLetter(letter, TOPIC, 18, 1_200);
  expect(short.outgoing).toMatchObject({ key: record.key, value: null });
  expect(headerTexts(short.outgoing)).toHaveProperty("big");
  const shorter = shortLetter(short, TOPIC, 18, 1_000);
  expect(shorter.outgoing).toMatchObject({ key: record.key, value: null });
  expect(headerTexts(shorter.outgoing)).not.toHaveProperty("big");
  const bare = shortLetter(shorter, TOPIC, 18, 0);
  expect(bare.outgoing).toMatchObject({ key: null, value: null });
  expect(headerTexts(bare.outgoing)).toMatchObject({
    "switchyard-reason": "unknown-schema",
    "switchyard-error": "why; its 500 bytes are too large for this topic and not kept here",
    "switchyard-topic": "calls",
    "switchyard-partition": "3",
    "switchyard-offset": "42",
  });
  expect(headerTexts(bare.outgoing)).not.toHaveProperty("big");
});
