import { createHmac } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { MessageId } from "../../../../src/domain/ids.ts";
import type { Content } from "../../../../src/router/destinations/port.ts";
import { sharedRequest } from "../../../../src/router/destinations/webhook/request.ts";
import { parseContent } from "../../../../src/router/stage/content.ts";
import {
  eachResponse,
  messageIds,
  type Payload,
  parsePayloads,
  verify,
  verifyStandard,
} from "../../../../src/sdk/webhooks/index.ts";
import { recordValue } from "../../../support/build/record-value.ts";
import { deliveryOf, webhookDestination } from "../../../support/build/webhook-destination.ts";

const AT = "2026-11-21T08:00:00.000Z";

function seen(userId: string): Payload {
  return { version: 1, type: "track", userId, event: "Seen", properties: {}, timestamp: AT };
}

const CALLS = [seen("a"), seen("b"), seen("line\nbreak")];
const AS_LIST = JSON.stringify(CALLS);
const AS_LINES = CALLS.map((call) => `${JSON.stringify(call)}\n`).join("");
const NDJSON = { "content-type": "application/x-ndjson" };
const JSON_TYPE = { "content-type": "application/json" };

describe("parsePayloads", () => {
  test.each<[string, string, Readonly<Record<string, string>>, readonly Payload[]]>([
    ["a list", AS_LIST, { ...JSON_TYPE, "x-switchyard-batch": "3" }, CALLS],
    ["a list without headers", AS_LIST, {}, CALLS],
    ["lines", AS_LINES, { ...NDJSON, "x-switchyard-batch": "3" }, CALLS],
    ["lines of which only the type says so", AS_LINES, NDJSON, CALLS],
    ["a type with parameters", AS_LINES, { "Content-Type": "Application/x-ndjson; q=1" }, CALLS],
    ["lines whose type a proxy changed", AS_LINES, { "X-Switchyard-Batch": "3" }, CALLS],
    ["lines without the last newline", AS_LINES.trimEnd(), NDJSON, CALLS],
    ["a list of one", JSON.stringify([seen("a")]), { "x-switchyard-batch": "1" }, [seen("a")]],
    ["one line", `${JSON.stringify(seen("a"))}\n`, NDJSON, [seen("a")]],
    ["a single request", JSON.stringify(seen("a")), JSON_TYPE, [seen("a")]],
    ["an empty list", "[]", {}, []],
  ])("%s", (_, body, headers, calls) => {
    expect(parsePayloads(body, headers)).toEqual(calls);
    expect(parsePayloads(Buffer.from(body), new Headers(headers))).toEqual(calls);
  });

  test.each<[string, string, Readonly<Record<string, string>>]>([
    [
      "call 2 of 2: track: event is not a string",
      JSON.stringify([seen("a"), { ...seen("b"), event: 5 }]),
      {},
    ],
    ["call 2 of 2: the body is not JSON", `${JSON.stringify(seen("a"))}\n{"version":1,\n`, NDJSON],
    ["call 1 of 2: the body is not a JSON object", JSON.stringify([null, seen("b")]), {}],
    ["the body has 3 calls", AS_LIST, { "x-switchyard-batch": "4" }],
    ["the body has 3 calls", AS_LINES, { ...NDJSON, "x-switchyard-batch": "2" }],
    ["the body is not JSON", AS_LIST.slice(0, -1), {}],
    ["the body is not JSON", AS_LINES, JSON_TYPE],
    ["type is not one of", "{}", JSON_TYPE],
  ])("the error says %s", (part, body, headers) => {
    expect(() => parsePayloads(body, headers)).toThrow(
      expect.objectContaining({ name: "PayloadError", message: expect.stringContaining(part) }),
    );
  });
});

test.each(["array", "ndjson"] as const)("what is sent as %s is verified and read", (format) => {
  const destination = webhookDestination({
    ...{ sharedSecret: "s3cr3t", standardWebhooks: true, messageIdHeader: true, payload: "full" },
    batch: { calls: 100, bytes: 65_536, waitMs: 250, format, responses: "each" },
  });
  const ids = ["m-1", "a,b", "☕\n"];
  const unit = ids.map((messageId) => {
    const text = JSON.stringify({ type: "track", userId: "u", event: "line\nbreak ☕" });
    const { content } = parseContent(recordValue(text)) as { readonly content: Content };
    return { delivery: deliveryOf({ messageId: messageId as MessageId }), content, text };
  });
  const nowMs = Date.UTC(2026, 2, 1);
  const { body, headers: sent } = sharedRequest(destination, unit, nowMs);
  const headers = new Headers(sent.map(([name, value]): [string, string] => [name, value]));
  expect(verify(body, headers.get("x-signature"), "s3cr3t")).toBe(true);
  expect(verifyStandard(body, headers, "s3cr3t", { nowMs })).toBe(true);
  expect(verifyStandard(body.subarray(1), headers, "s3cr3t", { nowMs })).toBe(false);
  expect(parsePayloads(body, headers)).toMatchObject(
    ids.map((messageId) => ({ type: "track", event: "line\nbreak ☕", messageId })),
  );
  expect(messageIds(headers)).toEqual(["m-1", "a%2Cb", "%E2%98%95%0A"]);
});

test.each([AS_LIST, AS_LINES])("one signature covers the whole body", (body) => {
  const signature = createHmac("sha1", "s3cr3t").update(body).digest("hex");
  expect(verify(body, signature, "s3cr3t")).toBe(true);
  expect(verify(body.replace('"b"', '"c"'), signature, "s3cr3t")).toBe(false);
});

test.each<[Readonly<Record<string, string>>, readonly string[] | null]>([
  [{ "X-Switchyard-Message-Id": "a,b%2Cc,d", "X-Switchyard-Batch": "3" }, ["a", "b%2Cc", "d"]],
  [{ "X-Switchyard-Message-Id": "a", "X-Switchyard-Batch": "1" }, ["a"]],
  [{ "X-Switchyard-Message-Id": "a,b", "X-Switchyard-Batch": "3" }, null],
  [{ "X-Switchyard-Message-Id": "a,b" }, ["a,b"]],
  [{ "X-Switchyard-Batch": "3" }, null],
  [{}, null],
])("the message IDs of %o are %o", (headers, ids) => {
  expect(messageIds(headers)).toEqual(ids);
  expect(messageIds(new Headers(headers))).toEqual(ids);
});

describe("eachResponse", () => {
  test("has one status for each call", () => {
    const failed = new Map([
      [0, { status: 503 }],
      [2, { status: 422, error: "no such plan" }],
    ]);
    expect(eachResponse(CALLS, failed)).toBe(
      '[{"status":503},{"status":200},{"status":422,"error":"no such plan"}]',
    );
    expect(eachResponse(CALLS)).toBe('[{"status":200},{"status":200},{"status":200}]');
  });

  test("omits the errors rather than to be longer than Switchyard reads", () => {
    const calls = Array.from({ length: 1_000 }, () => null);
    const failures = (error: string) =>
      new Map(calls.map((_, index) => [index, { status: 503, error }]));
    expect(JSON.parse(eachResponse(calls, failures("é".repeat(100))))[999]).toHaveProperty("error");
    const short = eachResponse(calls, failures("é".repeat(200)));
    expect(JSON.parse(short)).toEqual(calls.map(() => ({ status: 503 })));
  });

  test.each([
    [3, 503],
    [-1, 503],
    [0.5, 503],
    [0, 0],
    [0, 99.5],
    [0, 600],
  ])("call %d with the status %d is an error", (index, status) => {
    expect(() => eachResponse(CALLS, new Map([[index, { status }]]))).toThrow(RangeError);
  });
});
