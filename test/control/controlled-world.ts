/**
 * Two processes of `switchyard run` that deliver to `crm` and `other`, an endpoint that records which process sent each
 * request, and a ledger of what was published. A delivery that fails waits for ten minutes.
 */

import { freePort } from "../../tools/kafka/free-port.ts";
import type { CommandEnd, StartedCommand } from "../support/kit/command.ts";
import { type UsedKafka, useKafka } from "../support/kit/kafka.ts";
import { Ledger } from "../support/kit/ledger.ts";
import type { Lifetime } from "../support/kit/lifetime.ts";
import { Processes } from "../support/kit/processes.ts";
import { until } from "../support/kit/until.ts";
import { ControlledReceiver, SENT_BY } from "./receiver.ts";

export const DESTINATIONS = ["crm", "other"] as const;
export type DestinationName = (typeof DESTINATIONS)[number];

const PROCESSES = ["first", "second"] as const;
const PARTITIONS = 4;
const DELAY = "10m";
/** On an idle machine, nothing takes as long as this. */
const LIMIT_MS = 30_000;

export interface WorldOptions {
  readonly brokers: readonly string[];
  /** The factor by which everything may take longer, on a busy machine. */
  readonly patience: number;
  readonly say: (line: string) => void;
}

interface Parts {
  readonly receiver: ControlledReceiver;
  readonly kafka: UsedKafka;
  readonly processes: Processes;
  /** Admin ports, by process. */
  readonly ports: ReadonlyMap<string, number>;
}

export class ControlledWorld implements AsyncDisposable {
  readonly receiver: ControlledReceiver;
  readonly kafka: UsedKafka;
  readonly ledger: Ledger;
  readonly patience: number;
  readonly #options: WorldOptions;
  readonly #parts: Parts;
  #end = new AsyncDisposableStack();

  private constructor(options: WorldOptions, parts: Parts) {
    this.receiver = parts.receiver;
    this.kafka = parts.kafka;
    this.ledger = new Ledger(parts.kafka.producer, parts.kafka.topics.calls);
    this.patience = options.patience;
    this.#options = options;
    this.#parts = parts;
  }

  /** Creates the topics, and resolves when both processes are ready. */
  static async start(options: WorldOptions): Promise<ControlledWorld> {
    await using stack = new AsyncDisposableStack();
    const { brokers } = options;
    const receiver = stack.use(new ControlledReceiver());
    await receiver.start();
    const lifetime: Lifetime = (end) => stack.defer(end);
    const kafka = useKafka("control", { connection: { brokers }, lifetime });
    const processes = stack.use(new Processes());
    const ports = new Map<string, number>();
    for (const name of PROCESSES) ports.set(name, await freePort());
    const world = new ControlledWorld(options, { receiver, kafka, processes, ports });
    world.configure({});
    await processes.createTopics(PROCESSES[0]);
    const args = ["--stages", "route,deliver,delay"];
    const programs = PROCESSES.map((name) => processes.start(name, { args }));
    await Promise.all(programs.map(({ ready }) => ready));
    world.#end = stack.move();
    return world;
  }

  /** Writes other settings of `crm` for both processes, which reload them without a request. */
  configure(crm: Readonly<Record<string, unknown>>): void {
    const { processes, ports } = this.#parts;
    for (const [name, port] of ports)
      processes.configure(name, this.#configuration(name, port, crm));
  }

  /** Runs a command of the program, and resolves when it has ended. */
  async command(...args: readonly string[]): Promise<CommandEnd> {
    const end = await this.start(...args).ended;
    this.#options.say(`switchyard ${args.join(" ")}: status ${end.status}, ${end.tookMs} ms`);
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
    return this.#parts.processes.startCommand(PROCESSES[0], args);
  }

  /** Checks repeatedly until the condition holds, or the time is over. */
  until(holds: () => boolean | Promise<boolean>): Promise<boolean> {
    return until(holds, { limitMs: LIMIT_MS * this.patience });
  }

  /**
   * Returns why `crm` is on hold, as each process reports it: `command`, `configuration`, `breaker`; `-` if it is not
   * on hold.
   */
  async holdReasons(): Promise<string> {
    const each = [...this.#parts.ports.values()].map(async (port) => {
      const response = await fetch(`http://127.0.0.1:${port}/status`);
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

  [Symbol.asyncDispose](): Promise<void> {
    return this.#end.disposeAsync();
  }

  #configuration(name: string, port: number, crm: Readonly<Record<string, unknown>>): object {
    const { brokers, prefix } = this.kafka;
    return {
      kafka: { brokers, topicPrefix: prefix, partitions: PARTITIONS, replicationFactor: 1 },
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
      admin: { host: "127.0.0.1", port },
    };
  }
}
