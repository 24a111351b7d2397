// What no call, however unusual, may do to the body of its webhook.

import fc from "fast-check";
import { expect, test } from "vitest";
import type { MessageId } from "../../../../../src/domain/ids.ts";
import { readTimestamp } from "../../../../../src/domain/timestamp.ts";
import { payload } from "../../../../../src/router/destinations/webhook/payload.ts";
import { sharedRequest } from "../../../../../src/router/destinations/webhook/request.ts";
import { parseContent } from "../../../../../src/router/stage/content.ts";
import { costlyInputs } from "../../../../support/build/generated-inputs.ts";
import { recordValue } from "../../../../support/build/record-value.ts";
import {
  deliveryOf,
  unitOf,
  webhookDestination,
} from "../../../../support/build/webhook-destination.ts";

/** Each input is a whole call. */
const numRuns = costlyInputs(10);

const json = fc.dictionary(fc.string(), fc.jsonValue());
const call = fc.record(
  {
    type: fc.constantFrom("page", "screen", "identify", "track", "alias", "group", "delete"),
    userId: fc.string({ minLength: 1 }),
    previousId: fc.string({ minLength: 1 }),
    groupId: fc.string({ minLength: 1 }),
    event: fc.string({ minLength: 1 }),
    properties: json,
    traits: json,
    context: json,
    writeKey: fc.constant("WRITE-KEY"),
  },
  { requiredKeys: ["type", "userId", "previousId", "groupId", "event", "writeKey"] },
);
/** Fields that a full payload appends, including absent and unreadable ones. */
const optional = (value: fc.Arbitrary<unknown>) => fc.option(value, { nil: null });
const time = fc.constantFrom("2026-03-01T09:30:15.250Z", "2026-03-01 09:30+01:00", "soon", 1e12, 5);
const anyCall = fc
  .tuple(
    call,
    fc.record(
      {
        anonymousId: fc.string({ minLength: 1 }),
        name: optional(fc.string()),
        category: optional(fc.string()),
        integrations: optional(json),
        originalTimestamp: optional(time),
        sentAt: time,
      },
      { requiredKeys: [] },
    ),
  )
  .map(([fields, more]) => ({ ...fields, ...more }));
const APPENDED = [
  ...["properties", "traits", "anonymousId", "messageId", "category", "name", "groupId"],
  ...["previousId", "context", "integrations", "originalTimestamp", "sentAt", "receivedAt"],
];
const shape = fc.constantFrom("standard" as const, "full" as const);

test("JSON.stringify(JSON.parse(body)) gives the body back, and no write key is in it", () => {
  fc.assert(
    fc.property(call, shape, (given, as) => {
      const parsed = parseContent(recordValue(JSON.stringify(given)));
      if (parsed.kind === "refused") throw new Error(parsed.error);
      const body = payload(parsed.content, deliveryOf(), as);
      expect(JSON.stringify(JSON.parse(body))).toBe(body);
      expect(Object.hasOwn(JSON.parse(body), "writeKey")).toBe(false);
    }),
    { numRuns },
  );
});

test("a full body is the standard one, and then what it does not say yet, in its order", () => {
  fc.assert(
    fc.property(anyCall, (given) => {
      const parsed = parseContent(recordValue(JSON.stringify(given)));
      if (parsed.kind === "refused") throw new Error(parsed.error);
      const { content } = parsed;
      const bodies = (["standard", "full"] as const).map((as) => {
        return Object.entries(JSON.parse(payload(content, deliveryOf(), as)) as object);
      });
      const [standard = [], full = []] = bodies;
      expect(full.slice(0, standard.length)).toEqual(standard);
      const appended = full.slice(standard.length).map(([name]) => name);
      if (content.type === "delete") {
        expect(appended).toEqual([]);
        return;
      }
      const said = new Set(standard.map(([name]) => name));
      const iso = (value: unknown) => {
        const atMs = readTimestamp(value);
        return atMs === null ? null : new Date(atMs).toISOString();
      };
      const known: Readonly<Record<string, unknown>> = {
        ...content,
        messageId: "m-1",
        originalTimestamp: iso(content.originalTimestamp),
        sentAt: iso(content.sentAt),
        receivedAt: new Date(deliveryOf().receivedAtMs).toISOString(),
      };
      const expected = APPENDED.filter((name) => !said.has(name) && (known[name] ?? null) !== null);
      expect(appended).toEqual(expected);
      for (const [name, value] of full.slice(standard.length)) {
        expect(JSON.stringify(value)).toBe(JSON.stringify(known[name]));
      }
    }),
    { numRuns },
  );
});

test("every attempt sends the same bytes and the same signature", () => {
  fc.assert(
    fc.property(call, fc.nat({ max: 20 }), fc.nat(), (given, attempt, nowMs) => {
      const parsed = parseContent(recordValue(JSON.stringify(given)));
      if (parsed.kind === "refused") throw new Error(parsed.error);
      const first = sharedRequest(webhookDestination(), unitOf(parsed.content), 0);
      const later = sharedRequest(
        webhookDestination(),
        unitOf(parsed.content, deliveryOf({ attempt })),
        nowMs,
      );
      expect(later).toEqual(first);
    }),
    { numRuns },
  );
});

test("different message IDs are different in every header that has them", () => {
  const id = fc.string({ unit: fc.constantFrom(..."%2E5.,aü☕ /"), minLength: 1, maxLength: 5 });
  /** Another ID, in which some characters are already encoded. */
  const encoded = fc
    .constantFrom(...".,ü☕ %")
    .map(
      (character) => (text: string) =>
        text.replaceAll(
          character,
          `%${Buffer.from(character).toString("hex").match(/../g)?.join("%")}`.toUpperCase(),
        ),
    );
  const sent = (ids: readonly string[], given: Parameters<typeof webhookDestination>[0]) => {
    const unit = ids.map((each) => {
      const parsed = parseContent(recordValue('{"type":"identify","userId":"u"}'));
      if (parsed.kind === "refused") throw new Error(parsed.error);
      const [one] = unitOf(parsed.content, deliveryOf({ messageId: each as MessageId }));
      if (one === undefined) throw new Error("no delivery");
      return one;
    });
    const { headers } = sharedRequest(webhookDestination(given), unit, 1_800_000_000_000);
    return Object.fromEntries(headers);
  };
  const single = { messageIdHeader: true, standardWebhooks: true };
  const batch = {
    calls: 10,
    bytes: 1_000_000,
    waitMs: 0,
    format: "array",
    responses: "whole",
  } as const;
  fc.assert(
    fc.property(id, encoded, id, (one, encode, third) => {
      const other = encode(one);
      fc.pre(one !== other);
      const [a, b] = [sent([one], single), sent([other], single)];
      expect(a["X-Switchyard-Message-Id"]).not.toBe(b["X-Switchyard-Message-Id"]);
      expect(a["webhook-id"]).not.toBe(b["webhook-id"]);
      expect(a["webhook-id"]).toMatch(/^[!-~]+$/);
      const [c, d] = [
        sent([one, third], { ...single, batch }),
        sent([other, third], { ...single, batch }),
      ];
      expect(c["X-Switchyard-Message-Id"]).not.toBe(d["X-Switchyard-Message-Id"]);
      expect(c["webhook-id"]).not.toBe(d["webhook-id"]);
      expect(c["X-Switchyard-Message-Id"]?.split(",")).toHaveLength(2);
    }),
  );
});
