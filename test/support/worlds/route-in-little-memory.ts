/**
 * Routes calls to destinations with a different secret each, in this process, and prints the number of deliveries. The
 * brokers acknowledge writes after 50 ms. In a process with little memory, this succeeds only if the stage writes
 * deliveries before it has created all of them.
 *
 *   node route-in-little-memory.ts CALLS DESTINATIONS CALL-BYTES
 */

import type { SourceId } from "../../../src/domain/ids.ts";
import { startRoute } from "../../../src/router/route/stage.ts";
import { aSource, aTopicDestination } from "../build/calls.ts";
import { clockDriver } from "../clock/clock-driver.ts";
import { ManualClock } from "../clock/manual-clock.ts";
import { createPrng } from "../clock/prng.ts";
import { MemoryCluster } from "../memory-kafka/memory-kafka.ts";
import { trackCall } from "./route-world.ts";
import { stageProcess } from "./stage-process.ts";
import { groups, topics } from "./stage-world.ts";

const [CALLS = 0, DESTINATIONS = 0, BYTES = 0] = process.argv.slice(2).map(Number);
const never = new AbortController().signal;
const clock = new ManualClock();
const cluster = new MemoryCluster({ clock, random: createPrng(1) });
cluster.createTopic(topics.calls, 1);
for (let number = 0; number < CALLS; number += 1) {
  const call = trackCall(number, { properties: { filler: "x".repeat(BYTES) } });
  const value = Buffer.from(JSON.stringify(call));
  cluster.append({ topic: topics.calls, partition: 0, key: null, value, headers: [] });
}
const ids = Array.from({ length: DESTINATIONS }, (_, index) => `d${index}`);
const destinations = ids.map((id) =>
  aTopicDestination(id, {
    map: [
      {
        ...{ action: "hash", path: "userId", algorithm: "hmac-sha256", normalize: "none" },
        ...{ secret: `a secret of ${id}`, sources: null, if: null },
      },
    ],
  }),
);
let written = 0;
const { deps } = stageProcess(cluster, clock);
const producer = {
  ...deps.producer,
  send: async (records: readonly unknown[]) => {
    await clock.sleep(50, never);
    written += records.length;
    return [];
  },
};
const config = {
  ...{ topics, groups, sources: [aSource("web", ids)], destinations },
  ...{ defaultSource: "web" as SourceId, drainLimitMs: 10_000 },
};
await startRoute({ ...deps, producer }, config);
await clockDriver(clock).until(() => written === CALLS * DESTINATIONS);
process.stdout.write(`${written}`);
process.exit(0);
