import { describe, expect, test } from "vitest";

import { type AnalyticsOptions, readOptions } from "../../../../src/sdk/client/options.ts";

const NOTHING = { endpoint: undefined, debug: undefined };

test("the defaults", () => {
  expect(readOptions("k", {}, NOTHING)).toMatchObject({
    url: "http://localhost:8080/v1/batch",
    flushAt: 20,
    flushAfterMs: 5_000,
    attemptsMax: 10,
    requestTimeoutMs: 10_000,
    queue: { callsMax: 10_000, maxBytes: 33_554_432 },
    debug: false,
    debugPayloads: false,
  });
});

test.each([
  [{ flushAt: 1 }, 1],
  [{ size: 250 }, 250],
  [{ flushAt: 7, size: 7 }, 7],
])("%j: a batch has %i calls", (options, flushAt) => {
  expect(readOptions("k", options, NOTHING).flushAt).toBe(flushAt);
});

test.each<[string, Record<string, unknown>]>([
  ["size", { flushAt: 20, size: 10 }],
  ["flushAt", { flushAt: 0 }],
  ["flushAt", { flushAt: 1.5 }],
  ["flushAt", { flushAt: "20" }],
  ["size", { size: -1 }],
  ["flushAfter", { flushAfter: -1 }],
  ["flushAfter", { flushAfter: 2 ** 31 }],
  ["attemptsMax", { attemptsMax: 0 }],
  ["requestTimeoutMs", { requestTimeoutMs: Number.NaN }],
  ["queueCallsMax", { flushAt: 20, queueCallsMax: 19 }],
  ["queueBytesMax", { queueBytesMax: 500 * 1_024 - 1 }],
  ["endpoint", { endpoint: "" }],
  ["endpoint", { endpoint: "ingest.example.com" }],
  ["endpoint", { endpoint: "ftp://ingest.example.com" }],
  ["endpoint", { endpoint: "https://user:pass@ingest.example.com" }],
  ["endpoint", { endpoint: "https://ingest.example.com?key=1" }],
  ["onError", { onError: "log" }],
  ["flushInterval", { flushInterval: 10_000 }],
])("an error names %s: %j", (field, options) => {
  expect(() => readOptions("k", options as AnalyticsOptions, NOTHING)).toThrow(
    expect.objectContaining({ name: "ValidationError", field }),
  );
});

test.each(["", "a:b", "a\nb", null, 5])("%j is no write key", (writeKey) => {
  expect(() => readOptions(writeKey, {}, NOTHING)).toThrow(
    expect.objectContaining({ field: "writeKey" }),
  );
});

test.each([
  [{ writeKey: "k" }, {}, /the write key is the first argument.*new Analytics\(writeKey, \{/],
  ["k", { writeKey: "k" }, /no option writeKey; here it is the first argument/],
  ["k", { host: "https://a.example" }, /no option host; here it is endpoint/],
  ["k", { maxEventsInBatch: 15 }, /here it is flushAt/],
  ["k", { flushInterval: 10_000 }, /here it is flushAfter/],
  ["k", { maxRetries: 3 }, /here it is attemptsMax/],
  ["k", { httpRequestTimeout: 1_000 }, /here it is requestTimeoutMs/],
  ["k", { nonsense: 1 }, /no option nonsense; the options are flushAt/],
])("%j and %j, as another library has it, are rejected with our way", (key, options, message) => {
  expect(() => readOptions(key, options as AnalyticsOptions, NOTHING)).toThrow(message);
});

describe("environment", () => {
  test.each([
    ["https://a.example", undefined, "https://a.example/v1/batch"],
    ["https://a.example/", undefined, "https://a.example/v1/batch"],
    ["https://a.example/base//", undefined, "https://a.example/base/v1/batch"],
    ["https://a.example", "https://b.example", "https://b.example/v1/batch"],
    ["", undefined, "http://localhost:8080/v1/batch"],
  ])("SWITCHYARD_ENDPOINT %j and the option %j give %s", (variable, endpoint, url) => {
    const settings = readOptions("k", { endpoint }, { ...NOTHING, endpoint: variable });
    expect(settings.url).toBe(url);
  });

  test.each([
    ["analytics", true, false],
    ["express,analytics", true, false],
    ["analytics:*", true, false],
    ["*", true, false],
    ["analytics,analytics:payload", true, true],
    ["analyticsish", false, false],
    ["", false, false],
  ])("DEBUG=%s", (debug, isOn, withPayloads) => {
    const settings = readOptions("k", {}, { ...NOTHING, debug });
    expect([settings.debug, settings.debugPayloads]).toEqual([isOn, withPayloads]);
  });

  test("the options win over DEBUG", () => {
    const settings = readOptions("k", { debug: false }, { ...NOTHING, debug: "analytics" });
    expect(settings.debug).toBe(false);
  });
});
