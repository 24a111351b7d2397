/**
 * Runs the ingest stage in a separate process with few files and sockets. It reports its port and, on request, how many
 * files and sockets it may still open.
 */

import { systemClock } from "../../../src/base/runtime/clock.ts";
import { spareDescriptors } from "../../../src/base/runtime/descriptors.ts";
import { createMetrics } from "../../../src/base/telemetry/instruments.ts";
import { createLog } from "../../../src/base/telemetry/log.ts";
import { startIngest } from "../../../src/router/ingest/stage.ts";
import { aSource } from "../build/calls.ts";
import { INGEST_LIMITS } from "../worlds/ingest-limits.ts";

const spareAtStart = spareDescriptors();
const producer = { send: () => Promise.resolve([]), close: () => Promise.resolve() };
const stage = await startIngest(
  { producer, clock: systemClock, log: createLog("error"), metrics: createMetrics() },
  {
    host: "127.0.0.1",
    port: 0,
    tls: null,
    corsOrigins: [],
    topic: "calls",
    sources: [aSource("web", [], { writeKeys: ["web-key"] })],
    ...INGEST_LIMITS,
    handoverMs: 0,
    drainLimitMs: 0,
  },
);
process.send?.({ port: stage.port, spareAtStart });
process.on("message", () => process.send?.({ spare: spareDescriptors() }));
