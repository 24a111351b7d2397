/**
 * Two processes of `switchyard run` that deliver to `crm` and `other`, an endpoint that records which process sent each
 * request, and a ledger of what was published. A delivery that fails waits for ten minutes.
 */

import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as timer } from "node:timers/promises";

import type { IncomingRecord } from "../../src/domain/record.ts";
import { type TopicNames, topicNames } from "../../src/domain/topics.ts";
import type { Kafka, Producer } from "../../src/kafka/port.ts";
import { type Program, startProgram } from "../../tools/demo/program.ts";
import { freePort } from "../../tools/kafka/free-port.ts";
import { type CommandEnd, type StartedCommand, startCommand } from "../drill/run-command.ts";
import { uniquePrefix } from "../support/build/prefix.ts";
import { testKafka } from "../support/worlds/test-kafka.ts";
import { Ledger } from "./ledger.ts";
import { ControlledReceiver, SENT_BY } from "./receiver.ts";

export const DESTINATIONS = ["crm", "other"] as const;
export type DestinationName = (typeof DESTINATIONS)[number];

const PROCESSES = ["first", "second"] as const;
const PARTITIONS = 4;
const DELAY = "10m";
const LOOK_EVERY_MS = 100;
/** On an idle machine, nothing takes as long as this. */
const LIMIT_MS = 30_000;
const READ_BYTES = 1_048_576;

export interface WorldOptions {
  readonly brokers: readonly string[];
  /** The factor by which everything may take longer, on a busy machine. */
  readonly patience: number;
  readonly say: (line: string) => void;
}

interface OwnProcess {
  readonly name: string;
  readonly adminPort: number;
  readonly configFile: string;
}

export class ControlledWorld implements AsyncDisposable {
  readonly receiver = new ControlledReceiver();
  readonly topics: TopicNames;
  readonly ledger: Ledger;
  readonly patience: number;
  readonly say: (line: string) => void;
  readonly #brokers: readonly string[];
  readonly #kafka: Kafka;
  readonly #producer: Producer;
  readonly #directory = mkdtempSync(join(tmpdir(), "switchyard-control-"));
  readonly #programs: Program[] = [];
  #processes: readonly OwnProcess[] = [];

  private constructor({ brokers, patience, say }: WorldOptions) {
    this.#brokers = brokers;
    this.patience = patience;
    this.say = say;
    this.topics = topicNames(uniquePrefix("control"));
    this.#kafka = testKafka({ brokers, clientId: "control", recordMaxBytes: () => READ_BYTES });
    this.#producer = this.#kafka.producer();
    this.ledger = new Ledger(this.#producer, this.topics.calls);
  }

  /** Creates the topics, and resolves when both processes are ready. */
  static async start(options: WorldOptions): Promise<ControlledWorld> {
    const world = new ControlledWorld(options);
    try {
      await world.#start();
      return world;
    } catch (error) {
      await world[Symbol.asyncDispose]();
      throw error;
    }
  }

  async #start(): Promise<void> {
    await this.receiver.start();
    const own = async (name: string) => {
      const configFile = join(this.#directory, `${name}.yaml`);
      return { name, adminPort: await freePort(), configFile };
    };
    this.#processes = await Promise.all(PROCESSES.map(own));
    this.configure({});
    const made = await this.command("topics", "--apply");
    if (made.status !== 0) throw new Error(`its topics cannot be made:\n${made.err}${made.out}`);
    const env = { SWITCHYARD_KAFKA_BROKERS: "" };
    const args = ["--stages", "route,deliver,delay"];
    for (const { configFile } of this.#processes) {
      this.#programs.push(startProgram(configFile, () => undefined, { args, env }));
    }
    await Promise.all(this.#programs.map(({ ready }) => ready));
  }

  /** Writes other settings of `crm` for both processes, which reload them without a request. */
  configure(crm: Readonly<Record<string, unknown>>): void {
    for (const own of this.#processes) {
      const next = join(this.#directory, "next.yaml");
      // JSON is valid YAML.
      writeFileSync(next, JSON.stringify(this.#configuration(own, crm), undefined, 2));
      renameSync(next, own.configFile);
    }
  }

  /** Runs a command of the program, and resolves when it has ended. */
  async command(...args: readonly string[]): Promise<CommandEnd> {
    const end = await this.start(...args).ended;
    this.say(`switchyard ${args.join(" ")}: status ${end.status}, ${end.tookMs} ms`);
    return end;
  }

  /** Runs a command, and returns its JSON with its exit status. */
  async outcome(...args: readonly string[]): Promise<Readonly<Record<string, unknown>>> {
    const { status, out, err } = await this.command(...args, "--json");
    try {
      return { ...(JSON.parse(out) as object), status };
    } catch {
      throw new Error(`switchyard ${args.join(" ")} said no JSON: ${out}${err}`);
    }
  }

  start(...args: readonly string[]): StartedCommand {
    return startCommand([...args, "--config", this.#processes[0]?.configFile ?? ""]);
  }

  /** Checks repeatedly until the condition holds, or the time is over. */
  async until(holds: () => boolean | Promise<boolean>, limitMs = LIMIT_MS): Promise<boolean> {
    const endMs = Date.now() + limitMs * this.patience;
    while (!(await holds())) {
      if (Date.now() > endMs) return false;
      await timer(LOOK_EVERY_MS);
    }
    return true;
  }

  /**
   * Returns why `crm` is on hold, as each process reports it: `command`, `configuration`, `breaker`; `-` if it is not
   * on hold.
   */
  async holdReasons(): Promise<string> {
    const each = this.#processes.map(async ({ adminPort }) => {
      const response = await fetch(`http://127.0.0.1:${adminPort}/status`);
      const { destinations } = (await response.json()) as {
        readonly destinations: readonly {
          readonly id: string;
          readonly hold: { readonly reason: string; readonly by?: string } | null;
        }[];
      };
      const hold = destinations.find(({ id }) => id === "crm")?.hold;
      return hold?.by ?? hold?.reason ?? "-";
    });
    return (await Promise.all(each)).join(", ");
  }

  /** Returns all records that a topic contains now. */
  async read(topic: string): Promise<readonly IncomingRecord[]> {
    const found: IncomingRecord[] = [];
    const { signal } = new AbortController();
    for (const { partition, first, end } of await this.#kafka.admin.offsets(topic)) {
      const range = { topic, partition, from: first, to: end, maxBytes: READ_BYTES, signal };
      for await (const records of this.#kafka.read(range)) found.push(...records);
    }
    return found;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#programs.map((program) => program.stop()));
    if (this.receiver.isListening) await this.receiver[Symbol.asyncDispose]();
    rmSync(this.#directory, { recursive: true, force: true });
    await this.#producer.close(1_000);
    const names = await this.#kafka.admin.topics();
    const own = names.filter((name) => name.startsWith(this.topics.prefix));
    await this.#kafka.admin.deleteTopics(own);
    await this.#kafka.close();
  }

  #configuration({ name, adminPort }: OwnProcess, crm: Readonly<Record<string, unknown>>): object {
    return {
      kafka: {
        brokers: this.#brokers,
        topicPrefix: this.topics.prefix,
        partitions: PARTITIONS,
        replicationFactor: 1,
      },
      sources: [{ id: "web", destinations: DESTINATIONS }],
      defaultSource: "web",
      destinations: DESTINATIONS.map((id) => ({
        id,
        type: "webhook",
        messageIdHeader: true,
        endpoints: [
          { url: `http://127.0.0.1:${this.receiver.port}/${id}`, headers: { [SENT_BY]: name } },
        ],
        ...(id === "crm" ? crm : {}),
      })),
      delivery: { retryDelays: [DELAY], allowNetworks: ["127.0.0.0/8"] },
      attempts: { enabled: true },
      operatorEvents: { enabled: true },
      admin: { host: "127.0.0.1", port: adminPort },
    };
  }
}
