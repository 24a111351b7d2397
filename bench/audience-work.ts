/**
 * Runs the real audience stage once on a real Kafka: a first sync, the same sync again, and a sync in which 1 % of the
 * members are new and 1 % are missing. This is a separate process, so that its memory can be measured.
 *
 *   node bench/audience-work.ts <brokers> <topic prefix> <members> <state directory>
 */

import { monitorEventLoopDelay } from "node:perf_hooks";
import { systemClock } from "../src/base/runtime/clock.ts";
import { createMetrics } from "../src/base/telemetry/instruments.ts";
import { createLog } from "../src/base/telemetry/log.ts";
import type { SourceId } from "../src/domain/ids.ts";
import { groupNames, topicNames } from "../src/domain/topics.ts";
import { startAudience } from "../src/router/audience/stage.ts";
import { levelStores } from "../src/router/audience/store/owned-store.ts";
import { createMeter } from "./measure.ts";
import { benchKafka } from "./workbench.ts";

const [brokers = "", prefix = "", count = "", directory = ""] = process.argv.slice(2);
const members = Number(count);
const topics = topicNames(prefix);
const kafka = benchKafka(brokers);
const writing = kafka.producer();
const PIECE = 5_000;

let onEnded: (() => void) | null = null;
const log = createLog("info", {
  write: (line) => {
    if (line.includes('"audience.sync.ended"')) onEnded?.();
  },
});

const stage = await startAudience(
  {
    kafka,
    producer: kafka.producer(),
    stores: levelStores(directory),
    clock: systemClock,
    log,
    metrics: createMetrics(),
    onFatal: (error) => {
      throw error;
    },
  },
  {
    topics,
    groups: groupNames(prefix),
    audiences: [],
    audienceDefaults: {
      source: null,
      integrations: null,
      approvalShare: null,
      approvalMinimum: null,
    },
    defaultSource: "bench" as SourceId,
    maxBytes: 8 * 1_024 * 1_024,
    drainLimitMs: 10_000,
  },
);
await stage.joined;

const percent = Math.floor(members / 100);
const results = [
  await sync("first", 0),
  await sync("unchanged", 0),
  await sync("1 % in, 1 % out", percent),
];
await stage[Symbol.asyncDispose]();
await kafka.close();
process.stdout.write(`${JSON.stringify({ results })}\n`);

/** Writes a sync of `members` users, starting with the number `from`, and measures until the sync has ended. */
async function sync(name: string, from: number) {
  const ended = new Promise<void>((resolve) => {
    onEnded = resolve;
  });
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  const meter = createMeter();
  meter.start();
  const audienceId = "bench";
  await send({ type: "begin", audienceId, audienceName: "Bench", syncId: name });
  for (let at = from; at < from + members; at += PIECE) {
    const size = Math.min(PIECE, from + members - at);
    const userIds = Array.from({ length: size }, (_, index) => userId(at + index));
    await send({ type: "members", audienceId, syncId: name, userIds });
  }
  await send({ type: "end", audienceId, syncId: name, count: members });
  await ended;
  delay.disable();
  const measured = meter.stop(members);
  return { name, ...measured, delayP99Ms: delay.percentile(99) / 1e6 };
}

/** Returns an ID of 16 hex digits. The IDs are not in order, as in real exports. */
function userId(number: number): string {
  const mixed = (BigInt(number) * 0x9e3779b97f4a7c15n) & 0xffffffffffffffffn;
  return mixed.toString(16).padStart(16, "0");
}

async function send(value: object): Promise<void> {
  await writing.send([
    {
      topic: topics.audienceSyncs,
      partition: 0,
      key: Buffer.from("bench"),
      value: Buffer.from(JSON.stringify(value)),
      headers: [],
    },
  ]);
}
