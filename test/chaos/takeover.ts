/**
 * Measures how soon deliveries continue when a program is killed and restarted immediately, with ten destinations and
 * the default session timeout, for which the groups wait for the dead member.
 */

import type { DestinationId } from "../../src/domain/ids.ts";
import { startKafka } from "../../tools/kafka/start.ts";
import { type UsedKafka, useKafka } from "../support/kit/kafka.ts";
import { Ledger } from "../support/kit/ledger.ts";
import { Processes } from "../support/kit/processes.ts";
import { startReceiver } from "../support/kit/receiver.ts";
import { until } from "../support/kit/until.ts";

const DESTINATIONS = 10;
const TIMES = 3;
const GOAL_S = 15;
const COMMIT_LIMIT_MS = 60_000;
const PROGRAM = "switchyard";
const LOAD = { calls: 1, everyMs: 20 };

/** Returns a table. */
export async function measureTakeover(say: (line: string) => void): Promise<string> {
  await using stack = new AsyncDisposableStack();
  const ids = Array.from({ length: DESTINATIONS }, (_each, index) => `d${index}`);
  const seen = new Map<string, () => void>();
  const receiver = stack.use(
    await startReceiver(({ path }) => {
      seen.get(path)?.();
      return 200;
    }),
  );
  /** For each destination, the milliseconds until its next request. */
  const untilAllSeen = (sinceMs: number) => {
    const next = (id: string) =>
      new Promise<number>((resolve) => {
        seen.set(`/${id}`, () => resolve(Date.now() - sinceMs));
      });
    return Promise.all(ids.map(next));
  };
  const { brokers } = stack.use(await startKafka({ private: true, log: say }));
  const lifetime = (end: () => PromiseLike<void> | void) => stack.defer(end);
  const kafka = useKafka("takeover", { connection: { brokers }, lifetime });
  const processes = stack.use(new Processes());
  processes.configure(PROGRAM, configuration(kafka, ids, receiver.url));
  const start = () => processes.start(PROGRAM, { args: ["--stages", "route,deliver,delay"] });
  let program = start();
  await program.ready;
  await using _load = new Ledger(kafka.producer, kafka.topics.calls).load(LOAD);
  const rows: string[] = [];
  for (let time = 1; time <= TIMES; time += 1) {
    await untilAllSeen(0);
    await untilAllCommit(kafka, ids);
    say(`SIGKILL ${time}`);
    process.kill(program.pid, "SIGKILL");
    await program.ended;
    const waits = untilAllSeen(Date.now());
    program = start();
    rows.push(row(time, await waits));
  }
  const title = `seconds from SIGKILL, and a start at once, to the next delivery; ${DESTINATIONS} destinations, session timeout 10 s; goal ${GOAL_S} s`;
  return [title, "time   first   median   last", ...rows].join("\n");
}

/** Resolves when each group has committed further than now, so that its members have settled after the last start. */
async function untilAllCommit(
  { groups, committedBy }: UsedKafka,
  ids: readonly string[],
): Promise<void> {
  const committed = (id: string) =>
    committedBy(groups.deliver(id as DestinationId), `deliveries.${id}`);
  const before = await Promise.all(ids.map(committed));
  const haveAll = async () => {
    const now = await Promise.all(ids.map(committed));
    return now.every((count, at) => count > (before[at] ?? 0));
  };
  if (await until(haveAll, { limitMs: COMMIT_LIMIT_MS })) return;
  throw new Error(`not all groups have committed within ${COMMIT_LIMIT_MS} ms`);
}

function row(time: number, waitsMs: readonly number[]): string {
  const sorted = [...waitsMs].sort((a, b) => a - b);
  const at = (index: number) => ((sorted[index] ?? Number.NaN) / 1_000).toFixed(1);
  return `${time}      ${at(0)}     ${at(Math.floor(sorted.length / 2))}      ${at(sorted.length - 1)}`;
}

function configuration(
  { brokers, prefix }: { readonly brokers: readonly string[]; readonly prefix: string },
  ids: readonly string[],
  url: string,
): object {
  return {
    kafka: { brokers, topicPrefix: prefix, partitions: 3, replicationFactor: 1 },
    sources: [{ id: "web", writeKey: "k", destinations: ids }],
    defaultSource: "web",
    destinations: ids.map((id) => ({
      id,
      type: "webhook",
      endpoints: [{ url: `${url}/${id}` }],
    })),
    delivery: { allowNetworks: ["127.0.0.0/8"] },
    admin: { host: "127.0.0.1", port: 0 },
  };
}
