/**
 * The product that is drilled: `switchyard run` as people start it, with a destination and a
 * receiver of its own for each trouble, and two that have none.
 *
 *   destination         its endpoint      gets
 *   well                accepts           every call
 *   idle                accepts           nothing: no source is connected to it
 *   one of a trouble    as the trouble    every call
 */

import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { DestinationId } from "../../src/domain/ids.ts";
import {
  type GroupNames,
  groupNames,
  type TopicNames,
  topicNames,
} from "../../src/domain/topics.ts";
import { createKafka } from "../../src/kafka/kafka.ts";
import type { Kafka } from "../../src/kafka/port.ts";
import { createLog } from "../../src/telemetry/log.ts";
import { type LogLine, type Program, startProgram } from "../../tools/demo/program.ts";
import { freePort } from "../../tools/kafka/free-port.ts";
import { type Certificate, issue } from "../support/build/certificates.ts";
import { uniquePrefix } from "../support/build/prefix.ts";
import { settableClock } from "../support/clock/wrong-clock.ts";
import { withDisk } from "../support/script/small-disk.ts";

import { Receiver } from "./receiver.ts";
import { type CommandEnd, runCommand } from "./run-command.ts";

export const WELL = "well" as DestinationId;
export const IDLE = "idle" as DestinationId;
export const SOURCE = "web";
/** Short ones: what waits is to come back while somebody looks on. */
export const RETRY_DELAYS_MS = [2_000, 10_000, 30_000];
const TIMEOUT_MS = 2_000;
export const PARTITIONS = 2;
const DISK_SIZE = "12m";

/** A destination that a trouble needs; its settings are those of the configuration. */
export interface DestinationNeed {
  readonly id: DestinationId;
  readonly settings?: Readonly<Record<string, unknown>>;
  /** Its receiver speaks TLS. */
  readonly isTls?: boolean;
  /** The source has it only once `product.feed()` is called. */
  readonly isUnfed?: boolean;
}

export interface LoggedLine extends LogLine {
  readonly atMs: number;
}

export interface ProductOptions {
  readonly brokers: readonly string[];
  readonly destinations: readonly DestinationNeed[];
  /** Whether the state of audiences is on a small disk of its own; by default it is not. */
  readonly hasDisk?: boolean;
  /** Whether the clock of its program can be set (`setClock`). */
  readonly hasClock?: boolean;
  /** Settings of Kafka for the program and its commands; they win over all others. */
  readonly kafka?: Readonly<Record<string, unknown>>;
}

export class Product implements AsyncDisposable {
  readonly brokers: readonly string[];
  /** For those who write calls or delete topics. */
  readonly kafka: Kafka;
  readonly topics: TopicNames;
  readonly groups: GroupNames;
  readonly receivers: ReadonlyMap<DestinationId, Receiver>;
  /** Lines of its log, the oldest first. */
  readonly lines: readonly LoggedLine[];
  readonly #directory: string;
  readonly #needs: readonly DestinationNeed[];
  readonly #changed = new Map<DestinationId, Readonly<Record<string, unknown>>>();
  readonly #adminPort: number;
  readonly #hasDisk: boolean;
  readonly #hasClock: boolean;
  readonly #kafkaSettings: Readonly<Record<string, unknown>>;
  readonly #unfed: Set<DestinationId>;
  readonly #lines: LoggedLine[] = [];
  #program: Program | null = null;
  #other: Program | null = null;
  #startedAtMs = 0;

  private constructor(
    { brokers, destinations, hasDisk = false, hasClock = false, kafka = {} }: ProductOptions,
    receivers: ReadonlyMap<DestinationId, Receiver>,
    ca: Certificate,
    adminPort: number,
  ) {
    const prefix = uniquePrefix("drill");
    this.brokers = brokers;
    this.kafka = connect(brokers);
    this.topics = topicNames(prefix);
    this.groups = groupNames(prefix);
    this.receivers = receivers;
    this.lines = this.#lines;
    this.#needs = withOthers(destinations);
    this.#adminPort = adminPort;
    this.#hasDisk = hasDisk;
    this.#hasClock = hasClock;
    this.#kafkaSettings = kafka;
    this.#unfed = new Set(this.#needs.filter(({ isUnfed }) => isUnfed).map(({ id }) => id));
    this.#directory = mkdtempSync(join(tmpdir(), "switchyard-drill-"));
    writeFileSync(join(this.#directory, "ca.pem"), ca.cert);
    mkdirSync(this.#stateDir);
    this.setClock(0);
    this.#write();
  }

  /** Its topics are made, and its program runs and is ready. */
  static async start(options: ProductOptions): Promise<Product> {
    const ca = issue({ name: "Drill CA", isCa: true });
    const receivers = new Map<DestinationId, Receiver>();
    for (const { id, isTls = false } of withOthers(options.destinations)) {
      const receiver = new Receiver(isTls ? ca : null);
      await receiver.start();
      receivers.set(id, receiver);
    }
    const product = new Product(options, receivers, ca, await freePort());
    try {
      const made = await product.command(["topics", "--apply"]);
      if (made.status !== 0) throw new Error(`its topics cannot be made:\n${made.err}${made.out}`);
      await product.startProgram();
      return product;
    } catch (error) {
      await product[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** `host:port` */
  get admin(): string {
    return `127.0.0.1:${this.#adminPort}`;
  }

  get configFile(): string {
    return join(this.#directory, "switchyard.yaml");
  }

  get #stateDir(): string {
    return join(this.#directory, "state");
  }

  /** The disk of the state, as the program that runs now sees it. */
  get disk(): string {
    return join(`/proc/${this.#program?.pid}/root`, this.#stateDir);
  }

  get #clockFile(): string {
    return join(this.#directory, "clock");
  }

  /** @param offsetMs how far ahead of the real clock that of the program is. */
  setClock(offsetMs: number): void {
    writeFileSync(this.#clockFile, `${offsetMs}`);
  }

  get #usableFile(): string {
    return join(this.#directory, "usable.yaml");
  }

  /** Those with a row of their own, `well` and `idle` included. */
  get destinations(): readonly DestinationId[] {
    return this.#needs.map(({ id }) => id);
  }

  receiver(id: DestinationId): Receiver {
    const receiver = this.receivers.get(id);
    if (receiver === undefined) throw new Error(`there is no destination ${id}`);
    return receiver;
  }

  /** Puts another configuration in place, as an editor does. The program takes it over by itself. */
  configure(id: DestinationId, settings: Readonly<Record<string, unknown>>): void {
    this.#changed.set(id, settings);
    this.#write();
  }

  /** Every destination but `idle` is one of the source's from now on. */
  feed(): void {
    this.#unfed.clear();
    this.#write();
  }

  /** Text in place of the configuration; null: the right one again. */
  writeConfig(wrong: string | null): void {
    if (wrong === null) this.#write();
    else this.#put(wrong);
  }

  /** Runs a command of the program to its end, with the last configuration that can be used. */
  command(args: readonly string[]): Promise<CommandEnd> {
    return runCommand([...args, "--config", this.#usableFile]);
  }

  /** When the process that runs now was started. */
  get startedAtMs(): number {
    return this.#startedAtMs;
  }

  async startProgram(): Promise<void> {
    this.#startedAtMs = Date.now();
    const onLog = (line: LogLine) => this.#lines.push({ ...line, atMs: Date.now() });
    this.#program = startProgram(this.configFile, onLog, {
      env: { SWITCHYARD_KAFKA_BROKERS: "" },
      within: [
        ...(this.#hasClock ? settableClock(this.#clockFile) : []),
        ...(this.#hasDisk ? withDisk(this.#stateDir, DISK_SIZE) : []),
      ],
    });
    await this.#program.ready;
  }

  /** Starts another process of the stage `route`, whose configuration has all destinations in the source. */
  async startOther(): Promise<void> {
    const file = join(this.#directory, "other.yaml");
    const admin = { host: "127.0.0.1", port: 0 };
    writeFileSync(file, JSON.stringify({ ...this.#configuration(new Set()), admin }));
    this.#other = startProgram(file, () => undefined, {
      ...{ args: ["--stages", "route"], env: { SWITCHYARD_KAFKA_BROKERS: "" } },
    });
    await this.#other.ready;
  }

  async stopOther(): Promise<void> {
    await this.#other?.stop();
    this.#other = null;
  }

  /** Resolves with the exit status. */
  async stopProgram(): Promise<number | null> {
    const program = this.#program;
    this.#program = null;
    return program === null ? null : await program.stop();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stopOther();
    await this.stopProgram();
    for (const receiver of this.receivers.values()) await receiver[Symbol.asyncDispose]();
    rmSync(this.#directory, { recursive: true, force: true });
    const names = await this.kafka.admin.topics();
    const own = names.filter((name) => name.startsWith(this.topics.prefix));
    await this.kafka.admin.deleteTopics(own);
    await this.kafka.close();
  }

  #write(): void {
    // JSON is YAML.
    const content = JSON.stringify(this.#configuration(), undefined, 2);
    writeFileSync(this.#usableFile, content);
    this.#put(content);
  }

  #put(content: string): void {
    const next = join(this.#directory, "next.yaml");
    writeFileSync(next, content);
    renameSync(next, this.configFile);
  }

  #configuration(unfed: ReadonlySet<DestinationId> = this.#unfed): object {
    const fed = this.destinations.filter((id) => id !== IDLE && !unfed.has(id));
    return {
      // The trouble with a topic is that nobody makes it again.
      kafka: {
        brokers: this.brokers,
        topicPrefix: this.topics.prefix,
        partitions: PARTITIONS,
        replicationFactor: 1,
        createTopics: false,
        ...this.#kafkaSettings,
      },
      sources: [{ id: SOURCE, writeKey: "drill", destinations: fed }],
      defaultSource: SOURCE,
      destinations: this.#needs.map(({ id, settings }) => ({
        id,
        type: "webhook",
        messageIdHeader: true,
        endpoints: [{ url: this.receiver(id).url }],
        ...settings,
        ...this.#changed.get(id),
      })),
      delivery: {
        timeout: `${TIMEOUT_MS}ms`,
        retryDelays: RETRY_DELAYS_MS.map((ms) => `${ms}ms`),
        allowNetworks: ["127.0.0.0/8"],
        ca: join(this.#directory, "ca.pem"),
      },
      ingest: { host: "127.0.0.1", port: 0 },
      admin: { host: "127.0.0.1", port: this.#adminPort },
      audience: { stateDir: this.#stateDir },
      // What audiences tell is no traffic of the drill.
      audienceDefaults: { integrations: { All: false } },
    };
  }
}

function withOthers(needs: readonly DestinationNeed[]): readonly DestinationNeed[] {
  return [{ id: WELL }, { id: IDLE }, ...needs];
}

function connect(brokers: readonly string[]): Kafka {
  const connection = { brokers, clientId: "drill", tls: null, sasl: null };
  return createKafka(
    { ...connection, sessionTimeoutMs: 10_000, recordMaxBytes: () => 1_048_576 },
    createLog("error", { write: () => undefined }),
  );
}
