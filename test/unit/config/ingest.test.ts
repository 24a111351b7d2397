// The section `ingest`: what it takes, and what it says about what it does not.

import { expect, test } from "vitest";
import { pathText } from "../../../src/config/problem.ts";
import { parseSize, sizeText } from "../../../src/config/size.ts";
import { config, problems, SMALL } from "../../support/build/config-source.ts";

const given = (ingest: string) => `${SMALL}\ningest: ${ingest}\n`;

test("left out, it listens on port 8080 with the defaults", () => {
  expect(config(SMALL).ingest).toEqual({
    host: "::",
    port: 8_080,
    tls: null,
    handoverMs: 5_000,
    corsOrigins: [],
    bytesInHand: 64 * 1_024 * 1_024,
    bytesWithoutKey: 8 * 1_024 * 1_024,
    bodyBytesPerSecond: 1_024,
    connections: 10_000,
    connectionsPerAddress: 1_000,
  });
});

test("everything can be given, also by the environment", () => {
  const yaml = given(
    '{ host: "::1", port: 0, handover: 0s, corsOrigins: ["https://a.example.com"], bytesInHand: 1MiB, bytesWithoutKey: 64KiB, bodyBytesPerSecond: 0B, connections: 9, connectionsPerAddress: 3 }',
  );
  expect(config(yaml).ingest).toEqual({
    host: "::1",
    port: 0,
    tls: null,
    handoverMs: 0,
    corsOrigins: ["https://a.example.com"],
    bytesInHand: 1_048_576,
    bytesWithoutKey: 65_536,
    bodyBytesPerSecond: 0,
    connections: 9,
    connectionsPerAddress: 3,
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
  ["{ bytesInHand: 64 }", "ingest.bytesInHand"],
  ["{ bytesInHand: 1KiB }", "ingest.bytesInHand"],
  ["{ bytesInHand: 64MB }", "ingest.bytesInHand"],
  ['{ corsOrigins: ["a.example.com"] }', "ingest.corsOrigins[0]"],
  ['{ corsOrigins: ["https://a.example.com/"] }', "ingest.corsOrigins[0]"],
  ['{ corsOrigins: ["ftp://a.example.com"] }', "ingest.corsOrigins[0]"],
  ["{ tls: { cert: nowhere.pem, key: nowhere.pem } }", "ingest.tls.cert"],
  ["{ tls: {} }", "ingest.tls.cert"],
  ["{ tls: true }", "ingest.tls"],
  ["{ bytesInHands: 1MiB }", "ingest.bytesInHands"],
])("%s is a problem of %s", (ingest, path) => {
  expect(problems(given(ingest)).map((problem) => pathText(problem.path))).toContain(path);
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
