/**
 * Measures how soon deliveries continue when a program is killed and restarted immediately, with ten destinations and
 * the default session timeout, for which the groups wait for the dead member.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { stringify } from "yaml";
import type { OutgoingRecord } from "../../src/domain/record.ts";
import { topicNames } from "../../src/domain/topics.ts";
import { startKafka } from "../../tools/kafka/start.ts";
import { testKafka } from "../support/worlds/test-kafka.ts";
import { Member } from "./member.ts";
import { startProxy } from "./proxy.ts";
import { startReceiver } from "./receiver.ts";
import { replyTo } from "./scripts.ts";

const DESTINATIONS = 10;
const TIMES = 3;
const GOAL_S = 15;
const PREFIX = "takeover.";
const OK = { kind: "status", status: 200, retryAfterSeconds: null, afterMs: 0 } as const;
const topics = topicNames(PREFIX);

/** Returns a table. */
export async function measureTakeover(say: (line: string) => void): Promise<string> {
  const directory = mkdtempSync(join(tmpdir(), "switchyard-takeover-"));
  await using stack = new AsyncDisposableStack();
  stack.defer(() => rmSync(directory, { recursive: true, force: true }));
  const paths = Array.from({ length: DESTINATIONS }, (_each, index) => `/d${index}`);
  const seen = new Map<string, () => void>();
  const receiver = stack.use(
    await startReceiver(
      () => replyTo([OK], null),
      ({ path }) => seen.get(path)?.(),
    ),
  );
  /** For each path, the milliseconds until its next request. */
  const untilAllSeen = (sinceMs: number) =>
    Promise.all(
      paths.map(
        (path) =>
          new Promise<number>((resolve) => {
            seen.set(path, () => resolve(Date.now() - sinceMs));
          }),
      ),
    );
  const proxy = stack.use(await startProxy());
  const broker = stack.use(await startKafka({ private: true, fronts: [proxy.address], log: say }));
  proxy.leadTo(broker.behind[0] ?? "");
  const config = configuration(paths, receiver.baseUrl);
  const options = { name: "program", stages: "route,deliver,delay", directory, config, proxy };
  const member = stack.use(new Member(options, say));
  await member.start();
  await member.ready();
  const kafka = testKafka({ brokers: broker.brokers });
  stack.defer(() => kafka.close());
  const over = new AbortController();
  const publishing = publishCalls(kafka.producer(), over.signal);
  const rows: string[] = [];
  for (let time = 1; time <= TIMES; time += 1) {
    await untilAllSeen(0);
    // Waits until the groups have committed and the members are idle.
    await sleep(5_000);
    say(`SIGKILL ${time}`);
    await member.kill();
    const killedAtMs = Date.now();
    const waits = untilAllSeen(killedAtMs);
    await member.start();
    rows.push(row(time, await waits));
  }
  over.abort();
  await publishing;
  const title = `seconds from SIGKILL, and a start at once, to the next delivery; ${DESTINATIONS} destinations, session timeout 10 s; goal ${GOAL_S} s`;
  return [title, "time   first   median   last", ...rows].join("\n");
}

async function publishCalls(
  producer: { send(records: readonly OutgoingRecord[]): Promise<unknown> },
  signal: AbortSignal,
): Promise<void> {
  for (let count = 1; !signal.aborted; count += 1) {
    const user = `u${count % 50}`;
    const call = { type: "track", messageId: `m${count}`, userId: user, event: "Order Completed" };
    const value = Buffer.from(JSON.stringify(call));
    await producer.send([{ topic: topics.calls, key: Buffer.from(user), value, headers: [] }]);
    await sleep(20);
  }
}

function row(time: number, waitsMs: readonly number[]): string {
  const sorted = [...waitsMs].sort((a, b) => a - b);
  const at = (index: number) => ((sorted[index] ?? Number.NaN) / 1_000).toFixed(1);
  return `${time}      ${at(0)}     ${at(Math.floor(sorted.length / 2))}      ${at(sorted.length - 1)}`;
}

function configuration(paths: readonly string[], baseUrl: string): string {
  const ids = paths.map((path) => path.slice(1));
  return stringify({
    kafka: { brokers: ["overridden:1"], topicPrefix: PREFIX, partitions: 3, replicationFactor: 1 },
    sources: [{ id: "web", writeKey: "k", destinations: ids }],
    defaultSource: "web",
    destinations: ids.map((id) => ({
      id,
      type: "webhook",
      endpoints: [{ url: `${baseUrl}/${id}` }],
    })),
    delivery: { allowNetworks: ["127.0.0.0/8"] },
    admin: { host: "127.0.0.1", port: 1 },
  });
}
