// The end of a hand-over, for connections that are still in the kernel's queue.

import { once } from "node:events";
import { connect } from "node:net";
import { setImmediate as otherWork } from "node:timers/promises";
import { expect, test } from "vitest";

import { SERVER_TIMES, startServer } from "../../src/router/ingest/server.ts";

const HAND_OVER_MS = 200;
const CONNECTIONS = 20;

const SETTINGS = {
  host: "127.0.0.1",
  port: 0,
  tls: null,
  corsOrigins: [],
  keepAliveTimeoutMs: 620_000,
  connectionLimits: { all: 100, perAddress: 100 },
  reusePort: false,
  times: SERVER_TIMES,
};

test("connections that wait when the handover ends are taken over, not reset", async () => {
  const server = await startServer(
    SETTINGS,
    async () => null,
    () => undefined,
  );
  const stopped = server.stop(HAND_OVER_MS, 100);
  const connections = Array.from({ length: CONNECTIONS }, async () => {
    const socket = connect(server.port, "127.0.0.1");
    // Rejects when the connection is reset.
    await once(socket, "close");
  });
  // The connections have been requested. Now the process is busy until the hand-over is over.
  await otherWork();
  const fromMs = performance.now();
  while (performance.now() - fromMs < HAND_OVER_MS);
  await stopped;
  const ends = await Promise.allSettled(connections);
  expect(ends.filter(({ status }) => status === "rejected")).toEqual([]);
});
