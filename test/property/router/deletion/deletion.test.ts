// Laws of deletions: never delete everything by accident, and never notify a destination that should not be notified.

import fc from "fast-check";
import { expect, test } from "vitest";
import { readDelivery } from "../../../../src/domain/delivery.ts";
import { topicNames } from "../../../../src/domain/topics.ts";
import { affected, listenersBySource } from "../../../../src/router/deletion/affected-sources.ts";
import { decideDeletion } from "../../../../src/router/deletion/deletion.ts";
import { parseRequest } from "../../../../src/router/deletion/request.ts";
import { aRecord, aSource, aTopicDestination, headerTexts } from "../../../support/build/calls.ts";
import { anyJson } from "../../../support/build/generated-calls.ts";
import { GENERATED_INPUTS } from "../../../support/build/generated-inputs.ts";
import { recordValue } from "../../../support/build/record-value.ts";
import { webhookDestination } from "../../../support/build/webhook-destination.ts";

const numRuns = GENERATED_INPUTS;
const TIME_LIMIT_MS = 300_000;
const topics = topicNames("sw.");
const SOURCES = ["s0", "s1", "s2"];
const DESTINATIONS = ["d0", "d1", "d2", "d3"];

const destinations = fc
  .array(fc.record({ isWebhook: fc.boolean(), enabled: fc.boolean() }), {
    minLength: DESTINATIONS.length,
    maxLength: DESTINATIONS.length,
  })
  .map((all) =>
    all.map(({ isWebhook, enabled }, index) =>
      isWebhook
        ? webhookDestination({ id: `d${index}`, enabled })
        : aTopicDestination(`d${index}`, { enabled }),
    ),
  );
const sources = fc
  .tuple(...SOURCES.map(() => fc.subarray(DESTINATIONS)))
  .map((all) => all.map((ids, index) => aSource(`s${index}`, ids)));
const sourceIds = fc.oneof(
  anyJson,
  fc.array(fc.oneof(fc.constantFrom(...SOURCES, "tv", "", 0, null), anyJson)),
);

test(
  "whatever sourceIds is, only a request without it is for every source and forgets",
  () => {
    const listeners = listenersBySource(
      SOURCES.map((id) => aSource(id, ["hook"])),
      [webhookDestination({ id: "hook" })],
      topics,
    );
    fc.assert(
      fc.property(sourceIds, (given) => {
        const record = aRecord({ userId: "u", sourceIds: given });
        const parsed = parseRequest(record);
        if (parsed.kind === "refused") {
          expect(parsed.reason).toBe("invalid-deletion");
          return;
        }
        expect(parsed.request.sourceIds).not.toBeNull();
        expect(parsed.request.sourceIds?.length).toBeGreaterThan(0);
        const named = (given as readonly unknown[]).map(String);
        const decided = decideDeletion(record, listeners, 0);
        if (decided.kind === "unusable") {
          expect(decided.reason).toBe("unknown-source");
          return;
        }
        expect(decided.forgets).toBeNull();
        for (const { outgoing } of decided.notifications) {
          expect(named).toContain(headerTexts(outgoing)["switchyard-source"]);
        }
      }),
      { numRuns },
    );
  },
  TIME_LIMIT_MS,
);

test(
  "no bytes throw, and a value that is not an object with a userId notifies no destination",
  () => {
    fc.assert(
      fc.property(fc.oneof(anyJson, fc.string()), (given) => {
        const value = typeof given === "string" ? given : JSON.stringify(given);
        const parsed = parseRequest(recordValue(value));
        if (parsed.kind === "refused") return;
        const { userId } = JSON.parse(value) as { readonly userId: unknown };
        expect(`${userId}`).toBe(parsed.request.userId);
        expect(parsed.request.userId).not.toBe("");
      }),
      { numRuns },
    );
  },
  TIME_LIMIT_MS,
);

test(
  "each enabled webhook of each affected source is notified, once, as a delivery",
  () => {
    fc.assert(
      fc.property(
        sources,
        destinations,
        fc.option(fc.subarray([...SOURCES, "tv"], { minLength: 1 })),
        fc.string({ minLength: 1 }),
        (all, configured, named, userId) => {
          const listeners = listenersBySource(all, configured, topics);
          const request = named === null ? { userId } : { userId, sourceIds: named };
          const decided = decideDeletion(aRecord(request), listeners, 0);
          const isKnown = named === null || named.some((id) => id !== "tv");
          expect(decided.kind).toBe(isKnown ? "deletion" : "unusable");
          if (decided.kind === "unusable") return;
          const expected = all
            .filter(({ id }) => named === null || named.includes(id))
            .flatMap(({ id, destinations: own }) =>
              configured
                .filter((one) => one.kind === "webhook" && one.enabled && own.includes(one.id))
                .map((one) => `${id} ${one.id}`),
            );
          const notified = decided.notifications.map(({ destination, outgoing }) => {
            const parsed = readDelivery({ headers: outgoing.headers });
            if (parsed.kind === "invalid") throw new Error(parsed.error);
            const value = JSON.parse(`${outgoing.value}`) as Record<string, unknown>;
            expect(Object.keys(value)).toEqual(["type", "userId", "timestamp", "messageId"]);
            expect(value).toMatchObject({ userId, messageId: parsed.delivery.messageId });
            expect(outgoing.topic).toBe(topics.deliveries(destination));
            return `${parsed.delivery.source} ${destination}`;
          });
          expect(notified.toSorted()).toEqual(expected.toSorted());
          expect(decided.forgets).toBe(named === null ? userId : null);
        },
      ),
      { numRuns },
    );
  },
  TIME_LIMIT_MS,
);

test("a source of any name is found by it, and by nothing else", () => {
  fc.assert(
    fc.property(fc.string({ minLength: 1 }), fc.string({ minLength: 1 }), (id, other) => {
      const listeners = listenersBySource([aSource(id, [])], [], topics);
      expect(affected([other], listeners).kind).toBe(id === other ? "affected" : "refused");
    }),
  );
});
