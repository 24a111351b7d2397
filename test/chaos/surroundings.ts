/**
 * The brokers of a run, and the proxies between each program and the brokers. The connections of one program can be cut
 * without affecting the others.
 *
 *   one broker       a proxy for each program
 *   three brokers    for each program, a proxy per broker; these are cut and held together
 */

import { type LocalCluster, startCluster } from "../../tools/kafka/cluster.ts";
import { startKafka } from "../../tools/kafka/start.ts";
import type { Prng } from "../support/clock/prng.ts";
import { type BrokerProxy, joinProxies, startProxy } from "./proxy.ts";

const BROKERS = 3;

/** A broker that can be killed and restarted. */
export interface MortalBroker {
  kill(): Promise<void>;
  /** Resolves when the broker responds. */
  restart(): Promise<void>;
}

export interface Surroundings extends AsyncDisposable {
  /** Addresses of the brokers without proxies. */
  readonly brokers: readonly string[];
  /** One proxy for each program. */
  readonly proxies: readonly BrokerProxy[];
  readonly broker: MortalBroker;
  /** Null if there is only one broker. */
  readonly cluster: LocalCluster | null;
}

export async function oneBroker(
  programs: number,
  say: (line: string) => void,
): Promise<Surroundings> {
  await using stack = new AsyncDisposableStack();
  const proxies = await Promise.all(Array.from({ length: programs }, startProxy));
  for (const proxy of proxies) stack.use(proxy);
  const fronts = proxies.map(({ address }) => address);
  const broker = stack.use(await startKafka({ private: true, fronts, log: say }));
  proxies.forEach((proxy, index) => {
    proxy.leadTo(broker.behind[index] ?? "");
  });
  const parts = stack.move();
  return {
    brokers: broker.brokers,
    proxies,
    broker,
    cluster: null,
    [Symbol.asyncDispose]: () => parts.disposeAsync(),
  };
}

export async function threeBrokers(
  programs: number,
  random: Prng,
  say: (line: string) => void,
): Promise<Surroundings> {
  await using stack = new AsyncDisposableStack();
  const rows: BrokerProxy[][] = [];
  for (let node = 0; node < BROKERS; node += 1) {
    const row = await Promise.all(Array.from({ length: programs }, startProxy));
    for (const proxy of row) stack.use(proxy);
    rows.push(row);
  }
  const fronts = rows.map((row) => row.map(({ address }) => address));
  const cluster = stack.use(await startCluster({ brokers: BROKERS, fronts, log: say }));
  cluster.nodes.forEach(({ behind }, node) => {
    behind.forEach((target, program) => {
      rows[node]?.[program]?.leadTo(target);
    });
  });
  const parts = stack.move();
  return {
    brokers: cluster.brokers,
    proxies: Array.from({ length: programs }, (_each, program) =>
      joinProxies(rows.flatMap((row) => row[program] ?? [])),
    ),
    broker: anyOf(cluster, random),
    cluster,
    [Symbol.asyncDispose]: () => parts.disposeAsync(),
  };
}

function anyOf({ nodes }: LocalCluster, random: Prng): MortalBroker {
  let victim = nodes[0];
  return {
    kill: async () => {
      victim = random.pick(nodes);
      await victim.kill();
    },
    restart: async () => {
      await victim?.start();
    },
  };
}
