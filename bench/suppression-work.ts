/**
 * Follows the topic `suppressions` as a process does, and measures what that costs. This is a separate process, so that
 * its memory can be measured.
 *
 *   node --expose-gc bench/suppression-work.ts <brokers> <topic>
 */

import { randomBytes } from "node:crypto";
import { systemClock } from "../src/base/runtime/clock.ts";
import { createMetrics } from "../src/base/telemetry/instruments.ts";
import { createLog } from "../src/base/telemetry/log.ts";
import { FollowedSuppressions } from "../src/router/suppression/follow-suppressions.ts";
import { KnownSuppressions } from "../src/router/suppression/known-suppressions.ts";
import { suppressedId } from "./suppression.ts";
import { benchKafka } from "./workbench.ts";

const LOOKUPS = 2_000_000;
const OTHERS = 10_000;

const [brokers = "", topic = ""] = process.argv.slice(2);
const kafka = benchKafka(brokers);
const others = Array.from({ length: OTHERS }, (_, at) => ({
  type: "track",
  userId: `other-${at}-${at * 7_919}`,
  previousId: null,
}));

function memoryMb(): number {
  for (let times = 0; times < 4; times += 1) globalThis.gc?.();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return (heapUsed + arrayBuffers) / 1e6;
}

/** Nanoseconds per call that matches nobody. */
function nsPerCall(suppressions: KnownSuppressions): number {
  let matching = 0;
  const matchAll = () => {
    for (let at = 0; at < LOOKUPS; at += 1) {
      const call = others[at % OTHERS];
      if (call !== undefined && suppressions.matches(call)) matching += 1;
    }
  };
  matchAll();
  const startedAtMs = performance.now();
  matchAll();
  const ns = ((performance.now() - startedAtMs) * 1e6) / LOOKUPS;
  if (matching > 0) throw new Error(`${matching} calls of others matched`);
  return ns;
}

const emptyNs = nsPerCall(new KnownSuppressions(randomBytes(4).readInt32LE()));
const beforeMb = memoryMb();
const startedAtMs = performance.now();
const usedBefore = process.cpuUsage();
const followed = new FollowedSuppressions(
  {
    kafka,
    producer: kafka.producer(),
    clock: systemClock,
    log: createLog("warn"),
    metrics: createMetrics(),
    randomBytes,
  },
  { topic, needsKey: false },
);
await followed.read;
const startMs = performance.now() - startedAtMs;
const { user, system } = process.cpuUsage(usedBefore);
const usedMb = memoryMb() - beforeMb;
const { suppressions } = followed;
const known = suppressions.size;
if (!suppressions.isSuppressed(suppressedId(known - 1))) throw new Error("a user does not match");
const result = {
  known,
  startMs,
  cpuMs: (user + system) / 1_000,
  usedMb,
  emptyNs,
  fullNs: nsPerCall(suppressions),
};
followed[Symbol.dispose]();
await kafka.close();
process.stdout.write(`${JSON.stringify(result)}\n`);
