/**
 * Local brokers as Java processes, for one test, bench or chaos run alone, which may do anything to
 * them: each is stopped, killed and frozen alone, also where a Docker engine answers.
 *
 * They end with this process, however that ends.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { chooseJava } from "./choose.ts";
import type { ClusterLook } from "./cluster-look.ts";
import type { Progress } from "./download.ts";
import {
  BRIEF_OPTIONS,
  type ClusterNode,
  type ClusterPlan,
  prepareNodes,
  startBroker,
} from "./java.ts";
import { GuardedProgram } from "./java-process.ts";
import { NO_SECURITY } from "./security.ts";

/** It is killed by SIGKILL, stopped by SIGTERM, which hands its partitions over first. */
export class ClusterBroker extends GuardedProgram {
  readonly id: number;
  /** `host:port` for clients. */
  readonly address: string;
  /** `host:port` of its plaintext listener. */
  readonly plaintext: string;
  /** `host:port` of the listener behind each of its proxies, in their order. */
  readonly behind: readonly string[];

  constructor({ id, address, broker }: ClusterNode) {
    super((signal, onLaunch) => startBroker(broker, "guarded", signal, onLaunch));
    this.id = id;
    this.address = address;
    this.plaintext = broker.address;
    this.behind = broker.behind;
  }
}

export interface LocalCluster extends AsyncDisposable {
  /** `host:port` of each, for clients. */
  readonly brokers: readonly string[];
  readonly nodes: readonly ClusterBroker[];
  /** Who leads what, by plaintext listeners. */
  readonly look: ClusterLook;
  /** The directory of Apache Kafka's jars, console clients included. */
  readonly jars: string;
}

export interface ClusterOptions extends Partial<ClusterPlan> {
  readonly signal?: AbortSignal;
  /** Called with one line for each step that takes a while. */
  readonly log?: Progress;
}

/** Returns when all brokers answer and know each other. */
export async function startCluster(options: ClusterOptions = {}): Promise<LocalCluster> {
  await using stack = new AsyncDisposableStack();
  const started = stack.use(await startNodes(options));
  // It brings our driver, which changes kafkajs for the whole process: not where one broker is asked for.
  const { ClusterLook } = await import("./cluster-look.ts");
  const look = new ClusterLook(started.nodes.map(({ plaintext }) => plaintext));
  await look.untilKnown(started.brokers.length);
  const parts = stack.move();
  return { ...started, look, [Symbol.asyncDispose]: () => parts.disposeAsync() };
}

/** Returns when each of the brokers answers. */
export async function startNodes(options: ClusterOptions): Promise<Omit<LocalCluster, "look">> {
  const { signal = new AbortController().signal, log = () => undefined, ...more } = options;
  const base = { brokers: 3, security: NO_SECURITY, ports: [], fronts: [] };
  const plan: ClusterPlan = { ...base, javaOptions: BRIEF_OPTIONS, ...more };
  const choice = await chooseJava(signal, log);
  const many = plan.brokers === 1 ? "" : ` with ${plan.brokers} brokers`;
  log(`starting Apache Kafka${many} (Java)`);
  const directory = mkdtempSync(join(tmpdir(), "switchyard-kafka-"));
  let isUp = false;
  await using stack = new AsyncDisposableStack();
  stack.defer(() => {
    // The logs of brokers that failed stay, and nothing of those that were interrupted.
    if (isUp || signal.aborted) rmSync(directory, { recursive: true, force: true });
  });
  const nodes = await prepareNodes(choice, directory, plan, signal);
  const all = nodes.map((node) => stack.use(new ClusterBroker(node)));
  await Promise.all(all.map((node) => node.start(signal)));
  isUp = true;
  const parts = stack.move();
  return {
    brokers: nodes.map(({ address }) => address),
    nodes: all,
    jars: choice.jars,
    [Symbol.asyncDispose]: () => parts.disposeAsync(),
  };
}
