// The section `ingest`: the values that it accepts, and the problems for other values.

import { expect, test } from "vitest";
import { parseSize, sizeText } from "../../../src/base/settings/scalars.ts";
import { config, problemPaths, SMALL } from "../../support/build/config-source.ts";

const given = (ingest: string) => `${SMALL}\ningest: ${ingest}\n`;

test("omitted, it listens on port 8080 with the defaults", () => {
  expect(config(SMALL).ingest).toEqual({
    host: "::",
    port: 8_080,
    tls: null,
    handoverMs: 5_000,
    corsOrigins: [],
    maxInFlightBytes: 64 * 1_024 * 1_024,
    maxUnauthenticatedBytes: 8 * 1_024 * 1_024,
    minBodyBytesPerSecond: 1_024,
    maxConnections: 10_000,
    keepAliveTimeoutMs: 620_000,
    maxConnectionsPerAddress: 1_000,
  });
});

test("everything can be given, also by the environment", () => {
  const yaml = given(
    '{ host: "::1", port: 0, handover: 0s, corsOrigins: ["https://a.example.com"], maxInFlightBytes: 1MiB, maxUnauthenticatedBytes: 64KiB, minBodyBytesPerSecond: 0B, keepAliveTimeout: 75s, maxConnections: 9, maxConnectionsPerAddress: 3 }',
  );
  expect(config(yaml).ingest).toEqual({
    host: "::1",
    port: 0,
    tls: null,
    handoverMs: 0,
    corsOrigins: ["https://a.example.com"],
    maxInFlightBytes: 1_048_576,
    maxUnauthenticatedBytes: 65_536,
    minBodyBytesPerSecond: 0,
    maxConnections: 9,
    keepAliveTimeoutMs: 75_000,
    maxConnectionsPerAddress: 3,
  });
  const env = { SWITCHYARD_INGEST_PORT: "81", SWITCHYARD_INGEST_CORS_ORIGINS: "*, http://b:3000" };
  expect(config(SMALL, env).ingest).toMatchObject({
    port: 81,
    corsOrigins: ["*", "http://b:3000"],
  });
});

test.each([
  ["{ port: 70000 }", "ingest.port"],
  ["{ handover: 16s }", "ingest.handover"],
  ["{ keepAliveTimeout: 0s }", "ingest.keepAliveTimeout"],
  ["{ maxInFlightBytes: 64 }", "ingest.maxInFlightBytes"],
  ["{ maxInFlightBytes: 1KiB }", "ingest.maxInFlightBytes"],
  ["{ maxInFlightBytes: 64MB }", "ingest.maxInFlightBytes"],
  ['{ corsOrigins: ["a.example.com"] }', "ingest.corsOrigins[0]"],
  ['{ corsOrigins: ["https://a.example.com/"] }', "ingest.corsOrigins[0]"],
  ['{ corsOrigins: ["ftp://a.example.com"] }', "ingest.corsOrigins[0]"],
  ["{ tls: { cert: nowhere.pem, key: nowhere.pem } }", "ingest.tls.cert"],
  ["{ tls: {} }", "ingest.tls.cert"],
  ["{ tls: true }", "ingest.tls"],
  ["{ bytesInHands: 1MiB }", "ingest.bytesInHands"],
])("%s is a problem of %s", (ingest, path) => {
  expect(problemPaths(given(ingest))).toContain(path);
});

test.each([
  ["1B", 1],
  ["64KiB", 65_536],
  ["1.5MiB", 1_572_864],
  ["1GiB", 1_073_741_824],
  ["64", null],
  ["64kb", null],
  ["1.3B", null],
  ["-1KiB", null],
])("%s is %s bytes", (text, bytes) => {
  expect(parseSize(text)).toBe(bytes);
  if (bytes !== null && !text.includes(".")) expect(sizeText(bytes)).toBe(text);
});
