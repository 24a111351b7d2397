/**
 * The product that is drilled: `switchyard run`, started as users start it, with a separate destination and receiver
 * for each problem, and two destinations without a problem.
 *
 *   destination         its endpoint      gets
 *   well                accepts           every call
 *   idle                accepts           nothing, because no source is connected to it
 *   one of a problem    has the problem   every call
 */

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import type { DestinationId } from "../../src/domain/ids.ts";
import type { GroupNames, TopicNames } from "../../src/domain/topics.ts";
import type { LogLine, Program } from "../../tools/demo/program.ts";
import { freePort } from "../../tools/kafka/free-port.ts";
import { type Certificate, issue } from "../support/build/certificates.ts";
import { settableClock } from "../support/clock/wrong-clock.ts";
import type { CommandEnd } from "../support/kit/command.ts";
import { type UsedKafka, useKafka } from "../support/kit/kafka.ts";
import { Processes } from "../support/kit/processes.ts";
import { withDisk } from "../support/script/small-disk.ts";
import { Receiver } from "./receiver.ts";

export const WELL = "well" as DestinationId;
export const IDLE = "idle" as DestinationId;
const SOURCE = "web";
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

/** The configurations: the one that runs, the last valid one for commands, and that of another process. */
const [RUNNING, USABLE, OTHER] = ["switchyard", "usable", "other"] as const;

export class Product implements AsyncDisposable {
  /** A connection with which drills write calls or delete topics. */
  readonly kafka: UsedKafka;
  readonly topics: TopicNames;
  readonly groups: GroupNames;
  readonly receivers: ReadonlyMap<DestinationId, Receiver>;
  /** The lines of the program's log, the oldest first. */
  readonly lines: readonly LoggedLine[];
  readonly #options: ProductOptions;
  readonly #needs: readonly DestinationNeed[];
  readonly #changed = new Map<DestinationId, Readonly<Record<string, unknown>>>();
  readonly #adminPort: number;
  readonly #processes: Processes;
  readonly #unfed: Set<DestinationId>;
  readonly #lines: LoggedLine[] = [];
  readonly #parts = new AsyncDisposableStack();
  #program: Program | null = null;
  #other: Program | null = null;
  #startedAtMs = 0;

  private constructor(options: ProductOptions, ca: Certificate, adminPort: number) {
    const connection = { brokers: options.brokers, clientId: "drill" };
    this.kafka = useKafka("drill", { connection, lifetime: (end) => this.#parts.defer(end) });
    this.topics = this.kafka.topics;
    this.groups = this.kafka.groups;
    this.lines = this.#lines;
    this.#options = options;
    this.#needs = withOthers(options.destinations);
    this.receivers = new Map(
      this.#needs.map(({ id, isTls = false }) => [
        id,
        this.#parts.use(new Receiver(isTls ? ca : null)),
      ]),
    );
    this.#adminPort = adminPort;
    this.#processes = this.#parts.use(new Processes());
    this.#unfed = new Set(this.#needs.filter(({ isUnfed }) => isUnfed).map(({ id }) => id));
    writeFileSync(this.#caFile, ca.cert);
    mkdirSync(this.#stateDir);
    this.setClock(0);
  }

  /** Resolves when the topics have been created and the program is ready. */
  static async start(options: ProductOptions): Promise<Product> {
    const ca = issue({ name: "Drill CA", isCa: true });
    const product = new Product(options, ca, await freePort());
    try {
      for (const receiver of product.receivers.values()) await receiver.start();
      product.#write();
      await product.#processes.createTopics(USABLE);
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

  get #caFile(): string {
    return join(this.#processes.directory, "ca.pem");
  }

  get #stateDir(): string {
    return join(this.#processes.directory, "state");
  }

  /** The path of the state's disk for the current program. */
  get disk(): string {
    return join(`/proc/${this.#program?.pid}/root`, this.#stateDir);
  }

  get #clockFile(): string {
    return join(this.#processes.directory, "clock");
  }

  /** @param offsetMs how far the program's clock is ahead of the real clock. */
  setClock(offsetMs: number): void {
    writeFileSync(this.#clockFile, `${offsetMs}`);
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
    else this.#processes.configure(RUNNING, wrong);
  }

  /** Runs a command of the program to its end, with the last valid configuration. */
  command(args: readonly string[]): Promise<CommandEnd> {
    return this.#processes.command(USABLE, args);
  }

  /** When the current process was started. */
  get startedAtMs(): number {
    return this.#startedAtMs;
  }

  async startProgram(): Promise<void> {
    const { hasClock = false, hasDisk = false } = this.#options;
    this.#startedAtMs = Date.now();
    const within = [
      ...(hasClock ? settableClock(this.#clockFile) : []),
      ...(hasDisk ? withDisk(this.#stateDir, DISK_SIZE) : []),
    ];
    this.#program = this.#processes.start(RUNNING, { within }, (line) =>
      this.#lines.push({ ...line, atMs: Date.now() }),
    );
    await this.#program.ready;
  }

  /**
   * Starts another process with the route stage, in whose configuration all destinations are connected to the source.
   */
  async startOther(): Promise<void> {
    const admin = { host: "127.0.0.1", port: 0 };
    this.#processes.configure(OTHER, { ...this.#configuration(new Set()), admin });
    this.#other = this.#processes.start(OTHER, { args: ["--stages", "route"] });
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

  [Symbol.asyncDispose](): Promise<void> {
    return this.#parts.disposeAsync();
  }

  #write(): void {
    for (const name of [USABLE, RUNNING]) this.#processes.configure(name, this.#configuration());
  }

  #configuration(unfed: ReadonlySet<DestinationId> = this.#unfed): object {
    const fed = this.destinations.filter((id) => id !== IDLE && !unfed.has(id));
    return {
      // Deleted topics must not be recreated, because that is the problem.
      kafka: {
        brokers: this.#options.brokers,
        topicPrefix: this.topics.prefix,
        partitions: PARTITIONS,
        replicationFactor: 1,
        createTopics: false,
        ...this.#options.kafka,
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
        ca: this.#caFile,
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
