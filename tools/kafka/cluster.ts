/**
 * A local cluster for one test, bench or chaos run alone, which may do anything to its brokers. They
 * are Java processes, also where a Docker engine answers: each is stopped, killed and frozen alone.
 *
 * It ends with this process, however that ends.
 */

import type { ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { chooseJava } from "./choose.ts";
import { ClusterLook } from "./cluster-look.ts";
import { type ClusterNode, type ClusterPlan, prepareNodes } from "./cluster-nodes.ts";
import type { Progress } from "./download.ts";
import { killBroker, startBroker } from "./java.ts";
import { exited } from "./java-process.ts";
import { NO_SECURITY } from "./security.ts";

const STOP_LIMIT_MS = 30_000;

export interface ClusterBroker {
  readonly id: number;
  /** `host:port` for clients. */
  readonly address: string;
  /** `host:port` of the listener behind each of its proxies, in their order. */
  readonly behind: readonly string[];
  readonly isRunning: boolean;
  /** SIGKILL. Returns when it is gone. */
  kill(): Promise<void>;
  /** SIGTERM: it hands its partitions over first. Returns when it is gone. */
  stop(): Promise<void>;
  /** Starts it again: same address, same data. Returns when it answers. */
  start(): Promise<void>;
  freeze(): void;
  thaw(): void;
}

export interface LocalCluster extends AsyncDisposable {
  /** `host:port` of each, for clients. */
  readonly brokers: readonly string[];
  readonly nodes: readonly ClusterBroker[];
  /** Who leads what, by the plaintext listeners that brokers use among themselves. */
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
  const { signal = new AbortController().signal, log = () => undefined } = options;
  const { brokers = 3, security = NO_SECURITY, ports = [], fronts = [] } = options;
  const choice = await chooseJava(signal, log);
  log(`starting Apache Kafka with ${brokers} brokers (Java)`);
  const directory = mkdtempSync(join(tmpdir(), "switchyard-cluster-"));
  await using stack = new AsyncDisposableStack();
  stack.defer(() => rmSync(directory, { recursive: true, force: true }));
  const plan = { brokers, security, ports, fronts };
  const nodes = await prepareNodes(choice, directory, plan, signal);
  const all = nodes.map((node) => stack.use(new Node(node)));
  await Promise.all(all.map((node) => node.start(signal)));
  const look = new ClusterLook(nodes.map(({ broker }) => broker.address));
  await look.untilKnown(brokers);
  const parts = stack.move();
  return {
    brokers: nodes.map(({ address }) => address),
    nodes: all,
    look,
    jars: choice.jars,
    [Symbol.asyncDispose]: () => parts.disposeAsync(),
  };
}

class Node implements ClusterBroker, AsyncDisposable {
  readonly id: number;
  readonly address: string;
  readonly behind: readonly string[];
  readonly #broker: ClusterNode["broker"];
  #process: ChildProcess | null = null;

  constructor({ id, address, broker }: ClusterNode) {
    this.id = id;
    this.address = address;
    this.behind = broker.behind;
    this.#broker = broker;
  }

  get isRunning(): boolean {
    return this.#process !== null;
  }

  async start(signal = new AbortController().signal): Promise<void> {
    if (this.#process !== null) return;
    const onLaunch = (process: ChildProcess) => {
      this.#process = process;
    };
    await startBroker(this.#broker, "guarded", signal, onLaunch);
  }

  async kill(): Promise<void> {
    const process = this.#process;
    this.#process = null;
    if (process !== null) await killBroker(process);
  }

  async stop(): Promise<void> {
    const process = this.#process;
    if (process === null) return;
    // Without its controllers a broker waits for minutes to be let go.
    const limit = setTimeout(() => process.kill("SIGKILL"), STOP_LIMIT_MS);
    process.kill("SIGTERM");
    await exited(process);
    clearTimeout(limit);
    this.#process = null;
  }

  freeze(): void {
    this.#process?.kill("SIGSTOP");
  }

  thaw(): void {
    this.#process?.kill("SIGCONT");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }
}
