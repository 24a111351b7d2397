/**
 * The product that is drilled: `switchyard run`, started as users start it, with a separate destination and receiver
 * for each problem, and two destinations without a problem.
 *
 *   destination         its endpoint      gets
 *   well                accepts           every call
 *   idle                accepts           nothing, because no source is connected to it
 *   one of a problem    has the problem   every call
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
import type { Kafka } from "../../src/kafka/port.ts";
import { type LogLine, type Program, startProgram } from "../../tools/demo/program.ts";
import { freePort } from "../../tools/kafka/free-port.ts";
import { type Certificate, issue } from "../support/build/certificates.ts";
import { uniquePrefix } from "../support/build/prefix.ts";
import { settableClock } from "../support/clock/wrong-clock.ts";
import { withDisk } from "../support/script/small-disk.ts";
import { testKafka } from "../support/worlds/test-kafka.ts";
import { Receiver } from "./receiver.ts";
import { type CommandEnd, runCommand } from "./run-command.ts";

export const WELL = "well" as DestinationId;
export const IDLE = "idle" as DestinationId;
export const SOURCE = "web";
/** The retry delays are short, so that deliveries are returned during the drill. */
export const RETRY_DELAYS_MS = [2_000, 10_000, 30_000];
const TIMEOUT_MS = 2_000;
export const PARTITIONS = 2;
const DISK_SIZE = "12m";

/** A destination that a problem needs; its settings are those of the configuration. */
export interface DestinationNeed {
  readonly id: DestinationId;
  readonly settings?: Readonly<Record<string, unknown>>;
  /** True if its receiver uses TLS. */
  readonly isTls?: boolean;
  /** True if the destination is connected to the source only after `product.feed()` was called. */
  readonly isUnfed?: boolean;
}

export interface LoggedLine extends LogLine {
  readonly atMs: number;
}

export interface ProductOptions {
  readonly brokers: readonly string[];
  readonly destinations: readonly DestinationNeed[];
  /** Whether the state of audiences is on a separate small disk; by default, it is not. */
  readonly hasDisk?: boolean;
  /** Whether the clock of its program can be set (`setClock`). */
  readonly hasClock?: boolean;
  /** Kafka settings for the program and its commands. They override all others. */
  readonly kafka?: Readonly<Record<string, unknown>>;
}

export class Product implements AsyncDisposable {
  readonly brokers: readonly string[];
  /** A connection with which drills write calls or delete topics. */
  readonly kafka: Kafka;
  readonly topics: TopicNames;
  readonly groups: GroupNames;
  readonly receivers: ReadonlyMap<DestinationId, Receiver>;
  /** The lines of the program's log, the oldest first. */
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

  /** Resolves when the topics have been created and the program is ready. */
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

  /** The path of the state's disk for the current program. */
  get disk(): string {
    return join(`/proc/${this.#program?.pid}/root`, this.#stateDir);
  }

  get #clockFile(): string {
    return join(this.#directory, "clock");
  }

  /** @param offsetMs how far the program's clock is ahead of the real clock. */
  setClock(offsetMs: number): void {
    writeFileSync(this.#clockFile, `${offsetMs}`);
  }

  get #usableFile(): string {
    return join(this.#directory, "usable.yaml");
  }

  /** The destinations with separate rows, including `well` and `idle`. */
  get destinations(): readonly DestinationId[] {
    return this.#needs.map(({ id }) => id);
  }

  receiver(id: DestinationId): Receiver {
    const receiver = this.receivers.get(id);
    if (receiver === undefined) throw new Error(`there is no destination ${id}`);
    return receiver;
  }

  /** Replaces the configuration file as an editor does. The program reloads it automatically. */
  configure(id: DestinationId, settings: Readonly<Record<string, unknown>>): void {
    this.#changed.set(id, settings);
    this.#write();
  }

  /** Connects every destination except `idle` to the source. */
  feed(): void {
    this.#unfed.clear();
    this.#write();
  }

  /** Replaces the configuration with this text; null restores the correct configuration. */
  writeConfig(wrong: string | null): void {
    if (wrong === null) this.#write();
    else this.#put(wrong);
  }

  /** Runs a command of the program to its end, with the last valid configuration. */
  command(args: readonly string[]): Promise<CommandEnd> {
    return runCommand([...args, "--config", this.#usableFile]);
  }

  /** When the current process was started. */
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

  /**
   * Starts another process with the route stage, in whose configuration all destinations are connected to the source.
   */
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
    // JSON is also valid YAML.
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
      // Deleted topics must not be recreated, because that is the problem.
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
      // Calls of audiences do not belong to the drill's traffic.
      audienceDefaults: { integrations: { All: false } },
    };
  }
}

function withOthers(needs: readonly DestinationNeed[]): readonly DestinationNeed[] {
  return [{ id: WELL }, { id: IDLE }, ...needs];
}

function connect(brokers: readonly string[]): Kafka {
  return testKafka({ brokers, clientId: "drill" });
}
