/**
 * The scenarios of Kafka's `consumer_test.py`: a group of three verifiable consumers reads six partitions while a producer
 * writes. After each step the group must settle: each live member owns partitions, and what was acknowledged before is
 * consumed. `consumer-laws.ts` judges the rest. Session timeouts and quiet faults are those of Kafka's tests.
 */

import type { ChildProcess } from "node:child_process";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";

import { Kafka as KafkajsClient, logLevel } from "kafkajs";
import type { Kafka } from "../../src/kafka/port.ts";
import type { LocalCluster } from "../../tools/kafka/cluster.ts";
import { OFFSETS_TOPIC } from "../../tools/kafka/cluster-look.ts";
import { spawnGuarded } from "../../tools/kafka/guarded-process.ts";
import { until } from "../support/kit/until.ts";
import { testKafka } from "../support/worlds/test-kafka.ts";
import { judge, type Line, type Place } from "./consumer-laws.ts";

const PARTITIONS = 6;
/** Longer than every session timeout. */
const LIMIT_MS = 90_000;
/** The producer writes a record to each partition, and then waits for this long. */
const WRITE_EVERY_MS = 10;

export interface Client {
  readonly name: string;
  /** To be followed by flags of Java's verifiable consumer; or the reason why it cannot run. */
  readonly command: readonly string[] | string;
}

const SCRIPT = `${import.meta.dirname}/verifiable-consumer.ts`;
export const OURS: Client = { name: "Switchyard", command: [process.execPath, SCRIPT, "ours"] };
export const KAFKAJS: Client = { name: "kafkajs", command: [process.execPath, SCRIPT, "kafkajs"] };

interface Scenario {
  readonly sessionS?: number;
  /** The members have instance IDs. */
  readonly isStatic?: true;
  readonly isQuiet?: true;
  readonly run: (group: Group, cluster: LocalCluster) => Promise<void>;
}

const STATIC = { sessionS: 60, isStatic: true } as const;

export const SCENARIOS: Readonly<Record<string, Scenario>> = {
  "rolling bounce": { run: (group) => group.bounce([0], [1], [2]) },
  "bounce of all at once": { run: (group) => group.bounce([0, 1, 2]) },
  "static bounce": { ...STATIC, isQuiet: true, run: (group) => group.bounce([1], [2]) },
  "fencing of a static member": {
    ...STATIC,
    run: async (group) => {
      group.note("crashed", 0);
      group.start(0);
      await group.until("end of the fenced member", () => !group.live.has(0));
    },
  },
  "one of three killed": { run: (group) => group.end(0, "SIGKILL") },
  "commit after revocation": { sessionS: 6, run: (group) => group.freeze(0) },
  "broker failure": {
    isQuiet: true,
    run: async (group, { nodes, look }) => {
      const coordinator = await look.coordinatorOf(group.name);
      const broker = nodes.find(({ id }) => id === coordinator);
      await broker?.kill();
      await group.settled();
      await broker?.start();
    },
  },
  "rolling bounce of brokers": {
    ...{ sessionS: 30, isQuiet: true },
    run: async (group, { nodes, look }) => {
      for (const broker of nodes) {
        await broker.stop();
        await broker.start();
        await look.untilInSync([group.name, OFFSETS_TOPIC]);
        await group.settled();
      }
    },
  },
};

/** Returns a text if the client cannot run the scenario. */
export async function runScenario(cluster: LocalCluster, client: Client, scenario: string) {
  const { sessionS = 10, isStatic, isQuiet, run } = SCENARIOS[scenario] as Scenario;
  if (typeof client.command === "string") return client.command;
  if (isStatic && [OURS, KAFKAJS].includes(client)) return "no static membership";
  const name = `${client.name}-${scenario}`.replaceAll(" ", "-");
  const kafka = testKafka({ brokers: cluster.brokers });
  await kafka.admin.create([{ name, partitions: PARTITIONS, replicationFactor: 3, config: {} }]);
  const flags = ["--bootstrap-server", cluster.brokers.join(), "--topic", name, "--group-id", name];
  const command = [...client.command, ...flags, "--session-timeout", `${sessionS * 1_000}`];
  const group = new Group(name, (instance) =>
    isStatic ? [...command, "--group-instance-id", `${instance}`] : command,
  );
  const stop = new AbortController();
  const writing = group.write(cluster.brokers, stop.signal);
  let lines: readonly Line[] = group.lines;
  const play = async () => {
    for (const instance of [0, 1, 2]) group.start(instance);
    await group.settled();
    group.note("fault");
    await run(group, cluster);
    await group.settled();
    stop.abort();
    await writing;
    await group.settled();
    lines = [...group.lines];
    await Promise.all([...group.live.keys()].map((member) => group.end(member, "SIGTERM")));
  };
  const stuck = await play().then(() => null, String);
  for (const child of group.live.values()) child.kill("SIGKILL");
  for (const broker of cluster.nodes) await broker.start();
  stop.abort();
  await writing;
  await cluster.look.untilInSync([name, OFFSETS_TOPIC]);
  const verdict = judge(lines, group.acknowledged, await readCommits(kafka, name), isQuiet);
  await kafka.close();
  if (stuck !== null) verdict.broken.set("stuck", stuck);
  return verdict;
}

class Group {
  /** Also the name of the topic. */
  readonly name: string;
  readonly lines: Line[] = [];
  readonly acknowledged: Place[] = [];
  /** By member, numbered in the order of their starts. A frozen one is not live. */
  readonly live = new Map<number, ChildProcess>();
  readonly #commandOf: (instance: number) => readonly string[];
  #started = 0;

  constructor(name: string, commandOf: (instance: number) => readonly string[]) {
    this.name = name;
    this.#commandOf = commandOf;
  }

  start(instance: number): void {
    const member = this.#started++;
    const child = spawnGuarded(null, this.#commandOf(instance), { output: ["pipe", "inherit"] });
    this.live.set(member, child);
    createInterface({ input: child.stdout as Readable }).on("line", (text) => {
      const atMs = performance.now();
      if (text.startsWith("{")) this.lines.push({ ...(JSON.parse(text) as Line), member, atMs });
    });
    child.once("close", () => {
      this.live.delete(member);
      this.note("exited", member);
    });
  }

  note(name: string, member = -1): void {
    this.lines.push({ name, member, atMs: performance.now() });
  }

  async bounce(...steps: readonly (readonly number[])[]): Promise<void> {
    for (const members of steps) {
      await Promise.all(members.map((member) => this.end(member, "SIGTERM")));
      for (const member of members) this.start(member);
      await this.settled();
    }
  }

  /** Returns when the process has ended. */
  async end(member: number, signal: "SIGTERM" | "SIGKILL"): Promise<void> {
    this.note(signal === "SIGTERM" ? "stopping" : "crashed", member);
    this.live.get(member)?.kill(signal);
    await this.until(`end of member ${member}`, () => !this.live.has(member));
  }

  /** Freezes a member until the others have settled. */
  async freeze(member: number): Promise<void> {
    const child = this.live.get(member) as ChildProcess;
    child.kill("SIGSTOP");
    this.live.delete(member);
    this.note("crashed", member);
    await this.settled().finally(() => child.kill("SIGCONT"));
    this.live.set(member, child);
  }

  async settled(): Promise<void> {
    const acknowledged = [...this.acknowledged];
    await this.until("settled group", () => {
      const { owners, unseen } = judge(this.lines, acknowledged);
      const isShared = new Set(owners.values()).size === this.live.size;
      return owners.size === PARTITIONS && isShared && unseen === 0;
    });
  }

  async until(what: string, holds: () => boolean): Promise<void> {
    if (await until(holds, { limitMs: LIMIT_MS, everyMs: 200 })) return;
    throw new Error(`no ${what} within ${LIMIT_MS} ms`);
  }

  /** Writes sequence numbers with an idempotent producer, which retries without a limit. */
  async write(brokers: readonly string[], over: AbortSignal): Promise<void> {
    const client = new KafkajsClient({ brokers: [...brokers], logLevel: logLevel.NOTHING });
    const producer = client.producer({ idempotent: true, maxInFlightRequests: 1 });
    const partitions = Array.from({ length: PARTITIONS }, (_, partition) => partition);
    await producer.connect();
    for (let sequence = 0; !over.aborted; sequence += 1) {
      const messages = partitions.map((partition) => ({ partition, value: `${sequence}` }));
      const written = await producer.send({ topic: this.name, acks: -1, messages });
      for (const { partition, baseOffset } of written)
        this.acknowledged.push([partition, Number(baseOffset)]);
      await sleep(WRITE_EVERY_MS);
    }
    await producer.disconnect();
  }
}

/** Reads the commits of a group on the topic of the same name from the log of offsets, where the coordinator keeps them. */
async function readCommits(kafka: Kafka, group: string): Promise<readonly Place[]> {
  const commits: Place[] = [];
  const name = Buffer.concat([Buffer.from([0, group.length]), Buffer.from(group)]);
  const names = Buffer.concat([name, name]);
  const each = { topic: OFFSETS_TOPIC, maxBytes: 1_000_000, signal: AbortSignal.timeout(LIMIT_MS) };
  for (const { partition, first, end } of await kafka.admin.offsets(OFFSETS_TOPIC))
    for await (const records of kafka.read({ ...each, partition, from: first, to: end }))
      for (const { key, value } of records) {
        // A version, the names of the group and the topic, and the partition; then a version and the offset.
        const place = Buffer.from(key ?? []).subarray(2);
        if (value === null || !place.subarray(0, -4).equals(names)) continue;
        const offset = Number(Buffer.from(value).readBigInt64BE(2));
        commits.push([place.readInt32BE(names.length), offset]);
      }
  return commits;
}
