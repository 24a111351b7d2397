// The record of an attempt: each row of its table, its schema, and data that it must not contain.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parseAttemptRecord } from "../../../../src/domain/attempt-record.ts";
import { ByteText } from "../../../../src/domain/byte-text.ts";
import { endpointNames } from "../../../../src/domain/endpoint-name.ts";
import type { MessageId } from "../../../../src/domain/ids.ts";
import type { Attempted } from "../../../../src/router/deliver/attempt.ts";
import { attemptWriter } from "../../../../src/router/deliver/attempt-record.ts";
import {
  type Decision,
  decide,
  type EndpointResult,
} from "../../../../src/router/deliver/decide.ts";
import type { Phases, SendResult, UnitName } from "../../../../src/router/destinations/port.ts";
import {
  deliveryOf,
  resultAt,
  webhookDestination,
} from "../../../support/build/webhook-destination.ts";
import { schemaProblems } from "../../../support/project/json-schema.ts";
import { ROOT } from "../../../support/project/tracked-texts.ts";

const SCHEMA = JSON.parse(
  readFileSync(join(ROOT, "schemas/attempt-record.schema.json"), "utf8"),
) as Record<string, unknown>;
const URLS = ["https://crm.example.com:8443/secret/hook?token=t0", "http://10.0.0.7/other"];
const DESTINATION = webhookDestination({ urls: URLS });
const NAMES = endpointNames(DESTINATION);
const [FIRST, SECOND] = DESTINATION.endpoints.map(({ key }) => key);
const NOW_MS = Date.UTC(2026, 2, 1, 9, 30, 20, 7);
const POLICY = { retryDelaysMs: [10_000, 30_000], retryWindowMs: 3_600_000 };
const BATCH: UnitName = { id: "0b35c5ba-6a5c-5f3c-9d0a-1c2d3e4f5a6b", calls: 100 };
const REUSED: Phases = { sentMs: 0.31, headMs: 20.02 };

const TIMEOUT = { kind: "no-response", cause: "timeout", durationMs: 5_000 } as const;

function responseOf(status: number, phases: Phases = REUSED): SendResult {
  return { kind: "response", status, retryAfter: null, durationMs: 21.26, phases };
}

function textOf(attempted: Attempted, write = attemptWriter(DESTINATION)): string {
  const out = new ByteText(8);
  write(attempted, out);
  return out.bytes.toString("utf8", 0, out.length);
}

function recordOf(
  results: readonly EndpointResult[],
  {
    deliver = "any",
    decision,
    batch = null,
  }: { deliver?: "any" | "every"; decision?: Decision; batch?: UnitName | null } = {},
  given: Parameters<typeof deliveryOf>[0] = {},
) {
  const delivery = deliveryOf({ firstAttemptAtMs: NOW_MS - 1_000, ...given });
  const decided = decision ?? decide(delivery, deliver, NAMES, results, POLICY, NOW_MS);
  const text = textOf({
    delivery,
    results,
    decision: decided,
    names: NAMES,
    batch,
    endedAtMs: NOW_MS,
  });
  const json = JSON.parse(text) as Record<string, unknown>;
  expect(schemaProblems(SCHEMA, json)).toEqual([]);
  return { text, json, read: parseAttemptRecord(Buffer.from(text)) };
}

function resultOf(endpoint: typeof FIRST, result: EndpointResult["result"]): EndpointResult {
  if (endpoint === undefined) throw new Error("the destination has two endpoints");
  return resultAt(endpoint, result, NOW_MS);
}

test("an accepted attempt, as people see it", () => {
  const { json } = recordOf([resultOf(FIRST, responseOf(204))]);
  expect(json).toEqual({
    time: "2026-03-01T09:30:20.007Z",
    messageId: "m-1",
    destination: "crm",
    attempt: 1,
    firstAttemptAt: "2026-03-01T09:30:19.007Z",
    decision: "accepted",
    requests: [
      {
        endpoint: "crm[1] crm.example.com:8443",
        outcome: "accepted",
        status: 204,
        durationMs: 21.3,
        phases: { firstByteMs: 19.7, bodyMs: 1.2 },
      },
    ],
  });
});

test.each<[string, SendResult, object]>([
  [
    "a new connection by name, with TLS",
    responseOf(200, {
      ...{ openedMs: 0.2, isName: true, isSecure: true, lookedUpMs: 3.2, connectedMs: 8.2 },
      ...{ securedMs: 15.4, sentMs: 15.5, headMs: 20 },
    }),
    { dnsMs: 3, connectMs: 5, tlsMs: 7.2, firstByteMs: 4.5, bodyMs: 1.3 },
  ],
  [
    "a connection that never came about",
    { ...TIMEOUT, phases: { openedMs: 1, isName: false, isSecure: true } },
    { connectMs: 4_999 },
  ],
  ["a response that never came", { ...TIMEOUT, phases: { sentMs: 1 } }, { firstByteMs: 4_999 }],
  [
    "a name that was not found",
    { kind: "no-response", cause: "dns", durationMs: 2, phases: { openedMs: 0, isName: true } },
    { dnsMs: 2 },
  ],
])("phases: %s", (_name, result, phases) => {
  expect(recordOf([resultOf(FIRST, result)]).json.requests).toMatchObject([{ phases }]);
});

test.each<[EndpointResult["result"], object]>([
  [responseOf(200), { outcome: "accepted", status: 200 }],
  [responseOf(503), { outcome: "retry", status: 503 }],
  [responseOf(410), { outcome: "rejected", status: 410 }],
  [
    { ...TIMEOUT, cause: "tls-expired" },
    { outcome: "retry", cause: "tls-expired" },
  ],
  [{ kind: "skipped" }, { outcome: "skipped" }],
])("%j says %j", (result, said) => {
  const other = resultOf(SECOND, responseOf(500));
  expect(recordOf([resultOf(FIRST, result), other]).json.requests).toMatchObject([said, {}]);
});

test("a scheduled for retry attempt says where it waits and until when", () => {
  const { read } = recordOf([resultOf(FIRST, responseOf(503)), resultOf(SECOND, responseOf(500))]);
  expect(read).toMatchObject({
    decision: "retry",
    next: [{ retryDelay: "10s", atMs: NOW_MS + 10_000, endpoint: null }],
  });
});

test("with every, each part has a wait of its own", () => {
  const results = [resultOf(FIRST, responseOf(503)), resultOf(SECOND, responseOf(200))];
  expect(recordOf(results, { deliver: "every" }).read?.next).toEqual([
    { retryDelay: "10s", atMs: NOW_MS + 10_000, endpoint: "crm[1] crm.example.com:8443" },
  ]);
});

test("what is abandoned has no next attempt", () => {
  const results = [resultOf(FIRST, responseOf(410)), resultOf(SECOND, responseOf(404))];
  expect(recordOf(results).json).toMatchObject({ decision: "rejected" });
  expect(recordOf(results).json).not.toHaveProperty("next");
});

test.each([0, 2])("a delivery that is suppressed after %i attempts got no other one", (attempt) => {
  const decision: Decision = { name: "suppressed", outputs: [] };
  const { json } = recordOf([], { decision }, { attempt });
  expect(json).toMatchObject({ decision: "suppressed", attempt, requests: [] });
});

test("an id of odd characters is written whole", () => {
  const messageId = 'a"b\\c\u0007é\u202e' as MessageId;
  const { read } = recordOf([resultOf(FIRST, responseOf(500))], {}, { messageId });
  expect(read).toMatchObject({ messageId });
});

test.each([200, 503])("an endpoint that was changed during its %i has its old name", (status) => {
  const changed = webhookDestination({ urls: ["https://elsewhere.example.com/"] });
  const text = textOf(acceptedAt(responseOf(status)), attemptWriter(changed));
  const read = parseAttemptRecord(Buffer.from(text));
  expect(read?.requests).toMatchObject([{ endpoint: "crm[1] crm.example.com:8443", status }]);
});

test("the head of a rejected response is there when it was kept", () => {
  const kept = [Buffer.from('{"error":"'), Buffer.from('no\u001b[2J"}')];
  const { read } = recordOf([resultOf(FIRST, responseOf(410, { ...REUSED, kept }))]);
  expect(read?.requests[0]?.response).toBe('{"error":"no\u001b[2J"}');
  expect(recordOf([resultOf(FIRST, responseOf(410))]).json.requests).not.toMatchObject([
    { response: "" },
  ]);
});

test("nothing secret is in it: neither path nor query of a URL, nor the shared secret", () => {
  const { text } = recordOf([resultOf(FIRST, responseOf(503)), resultOf(SECOND, responseOf(500))]);
  expect(text).not.toMatch(/secret|token|t0|s3cr3t|other/);
});

/** An accepted first attempt. */
function acceptedAt(
  result: SendResult,
  delivery: Parameters<typeof deliveryOf>[0] = {},
  endedAtMs = NOW_MS,
  batch: UnitName | null = null,
): Attempted {
  const decision: Decision = { name: "accepted", outputs: [] };
  const results = [resultOf(FIRST, result)];
  return { delivery: deliveryOf(delivery), results, decision, names: NAMES, endedAtMs, batch };
}

test("times and durations are written as JSON.stringify writes them, whatever the record before was", () => {
  const times = [0, 1, 9, 10, 99, 100, 999, 1_000, 3_600_000].map((ms) => NOW_MS + ms);
  const durations = [0, 0.04, 0.05, 0.96, 1, 9.95, 10, 12.34, 100, 4_999.99];
  const tenths = (ms: number) => Math.round(ms * 10) / 10;
  const write = attemptWriter(DESTINATION);
  for (const at of [...times, ...times, Date.UTC(10_000, 0), Date.UTC(10_000, 0) + 1]) {
    for (const durationMs of durations) {
      for (const firstAtMs of [null, at - 700]) {
        const headMs = durationMs / 2 + 0.3;
        const result = { ...responseOf(200, { sentMs: 0.3, headMs }), durationMs };
        const messageId = `m-${at}` as MessageId;
        const given = { messageId, firstAttemptAtMs: firstAtMs };
        expect(textOf(acceptedAt(result, given, at), write)).toBe(
          JSON.stringify({
            time: new Date(at).toISOString(),
            messageId,
            destination: "crm",
            attempt: 1,
            firstAttemptAt: new Date(firstAtMs ?? at).toISOString(),
            decision: "accepted",
            requests: [
              {
                endpoint: "crm[1] crm.example.com:8443",
                outcome: "accepted",
                status: 200,
                durationMs: tenths(durationMs),
                phases: {
                  firstByteMs: tenths(headMs - 0.3),
                  bodyMs: tenths(Math.max(0, durationMs - headMs)),
                },
              },
            ],
          }),
        );
      }
    }
  }
});

test("a batch is named, and each record names its own", () => {
  const write = attemptWriter(DESTINATION);
  for (const batch of [BATCH, { ...BATCH, calls: 7 }, null, BATCH]) {
    const read: unknown = JSON.parse(textOf(acceptedAt(responseOf(200), {}, NOW_MS, batch), write));
    expect(read).toMatchObject(batch === null ? { decision: "accepted" } : { batch });
    expect(Object.hasOwn(read as object, "batch")).toBe(batch !== null);
  }
  const { json, read } = recordOf([resultOf(FIRST, responseOf(503))], { batch: BATCH });
  expect(json).toMatchObject({ decision: "retry", batch: BATCH });
  expect(read).toMatchObject({ batch: BATCH });
});

test.each([[200], [503]])("what is written after %i takes nothing of what was begun", (status) => {
  const messageId = "odd\u0007" as MessageId;
  const read = parseAttemptRecord(
    Buffer.from(textOf(acceptedAt(responseOf(status), { messageId }))),
  );
  expect(read).toMatchObject({ messageId, requests: [{ status }] });
});
