/**
 * Starts local brokers as Java processes for a single test, bench or chaos run, which may stop, kill and
 * freeze each of them. Java is used even if a Docker engine is available.
 *
 * The brokers end when this process ends, however that happens.
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

/** A broker that can be killed with SIGKILL, or stopped with SIGTERM, so that it first hands over its partitions. */
export class ClusterBroker extends GuardedProgram {
  readonly id: number;
  /** `host:port` for clients. */
  readonly address: string;
  /** `host:port` of the plaintext listener. */
  readonly plaintext: string;
  /** `host:port` of the listener behind each of its proxies, in the order of the proxies. */
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
  /** `host:port` of each broker, for clients. */
  readonly brokers: readonly string[];
  readonly nodes: readonly ClusterBroker[];
  /** Reads leaders over the plaintext listeners. */
  readonly look: ClusterLook;
  /** The directory of Apache Kafka's jars, including the console clients. */
  readonly jars: string;
}

export interface ClusterOptions extends Partial<ClusterPlan> {
  readonly signal?: AbortSignal;
  /** Called with a line for each long step. */
  readonly log?: Progress;
}

/** Returns when all brokers respond and see each other. */
export async function startCluster(options: ClusterOptions = {}): Promise<LocalCluster> {
  await using stack = new AsyncDisposableStack();
  const started = stack.use(await startNodes(options));
  // This loads our driver, which modifies kafkajs in the whole process. It is therefore not imported for a single
  // broker.
  const { ClusterLook } = await import("./cluster-look.ts");
  const look = new ClusterLook(started.nodes.map(({ plaintext }) => plaintext));
  await look.untilKnown(started.brokers.length);
  const parts = stack.move();
  return { ...started, look, [Symbol.asyncDispose]: () => parts.disposeAsync() };
}

/** Returns when each broker responds. */
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
    // Keep the logs of brokers that failed, but nothing if the start was interrupted.
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
