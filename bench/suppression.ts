/**
 * `bench suppression`: what one million suppressed users cost a process, and how long after a suppression the last
 * attempt for its user starts, while the user's calls are delivered at an even rate.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { suppressionRecord } from "../src/router/suppression/suppression-record.ts";
import { markdown, quantile, runOnce } from "./measure.ts";
import { PIPELINE } from "./program.ts";
import { startReceiver } from "./receiver.ts";
import { Workbench } from "./workbench.ts";

const USERS = 1_000_000;
const CALLS_PER_SECOND = 500;
/** Users whose calls are delivered, and who are suppressed one after the other. */
const WATCHED = 100;
const EVERY_MS = 200;
const AFTER_MS = 15_000;

interface Cost {
  readonly known: number;
  readonly startMs: number;
  readonly cpuMs: number;
  readonly usedMb: number;
  readonly emptyNs: number;
  readonly fullNs: number;
}

/** An ID as long as a UUID. */
export function suppressedId(number: number): string {
  return `suppressed-${`${number}`.padStart(25, "0")}`;
}

function watchedId(number: number): string {
  return `watched-${number}`;
}

export async function benchSuppression(brokers: string, rounds: number): Promise<string> {
  await using bench = new Workbench(brokers);
  const topic = bench.topics.suppressions;
  await bench.create([topic], { partitions: 1 });
  const suppressed = (userId: string) =>
    suppressionRecord(topic, { userId, suppressedAtMs: Date.now(), reason: null });
  await bench.fill(USERS, (number) => suppressed(suppressedId(number)));
  const costs: Cost[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const argv = ["--expose-gc", "bench/suppression-work.ts", brokers, topic];
    costs.push(await runOnce<Cost>({ name: "the follower", argv }));
  }
  const delays = await untilLastAttempt(bench, (userId) => bench.send([suppressed(userId)]));
  const table = markdown(
    costs.map(({ known, startMs, cpuMs, usedMb, emptyNs, fullNs }) => ({
      "suppressed users": `${known}`,
      "read in s": (startMs / 1_000).toFixed(2),
      "CPU s": (cpuMs / 1_000).toFixed(2),
      MB: usedMb.toFixed(1),
      "µs per other call": (fullNs / 1_000).toFixed(3),
      "µs if nobody is suppressed": (emptyNs / 1_000).toFixed(3),
    })),
  );
  const at = (share: number) => quantile(delays, share).toFixed(0);
  return `${table}\n\nFrom the acknowledgment of a suppression to the last attempt that started, for ${WATCHED} users and ${CALLS_PER_SECOND} calls a second: median ${at(0.5)} ms, p99 ${at(0.99)} ms, max ${Math.max(...delays).toFixed(0)} ms. Goals: one million users in 2 s and 60 MB, 0.2 µs per other call, and a p99 below 2 s.`;
}

/** Milliseconds for each watched user; 0 if the last attempt started before the acknowledgment. */
async function untilLastAttempt(
  bench: Workbench,
  suppress: (userId: string) => Promise<unknown>,
): Promise<readonly number[]> {
  using receiver = await startReceiver({ journal: true });
  await using program = await bench.start({
    stages: PIPELINE,
    destinations: [{ id: "crm", url: receiver.url }],
  });
  const acknowledgedAtMs = new Map<string, number>();
  const seconds = (WATCHED * EVERY_MS + AFTER_MS) / 1_000;
  const posting = bench.post(CALLS_PER_SECOND * seconds, CALLS_PER_SECOND, (number) => {
    const userId = watchedId(number % WATCHED);
    const call = { type: "track", event: "E", userId, messageId: `${userId}/${number}` };
    const value = Buffer.from(JSON.stringify(call));
    return { topic: bench.topics.calls, key: Buffer.from(userId), value, headers: [] };
  });
  await receiver.untilCount(CALLS_PER_SECOND);
  for (let number = 0; number < WATCHED; number += 1) {
    const userId = watchedId(number);
    await suppress(userId);
    acknowledgedAtMs.set(userId, performance.timeOrigin + performance.now());
    await sleep(EVERY_MS);
  }
  await posting;
  await sleep(1_000);
  const lastAtMs = new Map<string, number>();
  for (const [messageId, atMs] of await receiver.journal()) {
    const [userId = ""] = messageId.split("/");
    lastAtMs.set(userId, Math.max(atMs, lastAtMs.get(userId) ?? 0));
  }
  await program.stop();
  return [...acknowledgedAtMs].map(([userId, atMs]) => {
    return Math.max(0, (lastAtMs.get(userId) ?? 0) - atMs);
  });
}
