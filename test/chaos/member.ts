/** One program of a run, which is started, stopped, killed and frozen many times. */

import assert from "node:assert/strict";
import { createWriteStream, mkdirSync, rmSync, type WriteStream, writeFileSync } from "node:fs";
import { join } from "node:path";

import { type Program, startProgram } from "../../tools/demo/program.ts";
import { freePort } from "../../tools/kafka/free-port.ts";
import type { BrokerProxy } from "./proxy.ts";

/** A program that has not stopped by then counts as hanging. Its own limit is 30 s. */
const STOP_LIMIT_MS = 45_000;

export class Member {
  readonly name: string;
  /** The value of `--stages`. */
  readonly stages: string;
  readonly proxy: BrokerProxy;
  readonly #configFile: string;
  readonly #stateDirectory: string | null;
  readonly #log: WriteStream;
  readonly #onDeath: (says: string) => void;
  #program: Program | null = null;
  #ready: Promise<void> = Promise.resolve();
  #isWanted = false;

  /**
   * @param directory the folder in which the member creates a folder for its configuration and its log.
   * @param onDeath called when the program ends although it was not stopped or killed.
   */
  constructor(
    options: {
      readonly name: string;
      readonly stages: string;
      readonly directory: string;
      readonly config: string;
      readonly proxy: BrokerProxy;
      /** The folder for the state of audiences in its configuration. */
      readonly stateDirectory?: string;
    },
    onDeath: (says: string) => void,
  ) {
    const { name, stages, directory, config, proxy } = options;
    this.name = name;
    this.stages = stages;
    this.proxy = proxy;
    this.#stateDirectory = options.stateDirectory ?? null;
    this.#onDeath = onDeath;
    // The guard removes the directory of the configuration if this process is killed.
    const own = join(directory, name);
    mkdirSync(own, { recursive: true });
    this.#configFile = join(own, "switchyard.yaml");
    writeFileSync(this.#configFile, config);
    this.#log = createWriteStream(join(directory, `${name}.log`), { flags: "a" });
  }

  get isRunning(): boolean {
    return this.#program !== null;
  }

  /** Resolves when the program runs; `ready` resolves when it has joined. */
  async start(): Promise<void> {
    assert(this.#program === null);
    const port = await freePort();
    const program = startProgram(
      this.#configFile,
      (line) => {
        this.#log.write(`${JSON.stringify(line)}\n`);
      },
      {
        args: ["--stages", this.stages],
        env: { SWITCHYARD_KAFKA_BROKERS: this.proxy.address, SWITCHYARD_ADMIN_PORT: `${port}` },
      },
    );
    this.#program = program;
    this.#ready = program.ready;
    // If the program ends before it is ready, the error quotes its output.
    let quoted = "";
    this.#ready.catch((error: unknown) => {
      quoted = `: ${String(error)}`;
    });
    this.#isWanted = true;
    void program.ended.then((status) => {
      const wasWanted = this.#isWanted && this.#program === program;
      this.#program = null;
      if (wasWanted) this.#onDeath(`${this.name} ended by itself with status ${status}${quoted}`);
    });
  }

  /** Resolves when the program has joined all its groups, or rejects if that takes too long. */
  async ready(): Promise<void> {
    if (this.#program !== null) await this.#ready;
  }

  /** Sends SIGTERM. Resolves with the exit status, or with null if the program had to be killed. */
  async stop(): Promise<number | null> {
    const program = this.#program;
    if (program === null) return 0;
    this.#isWanted = false;
    const kill = setTimeout(() => process.kill(program.pid, "SIGKILL"), STOP_LIMIT_MS);
    const status = await program.stop();
    clearTimeout(kill);
    return status;
  }

  /** Sends SIGKILL. Resolves when the program has ended. */
  async kill(): Promise<void> {
    const program = this.#program;
    if (program === null) return;
    this.#isWanted = false;
    process.kill(program.pid, "SIGKILL");
    await program.ended;
  }

  /** Removes the state that is lost when a machine is replaced. Call only while the program does not run. */
  loseDisk(): void {
    assert(this.#program === null);
    if (this.#stateDirectory !== null)
      rmSync(this.#stateDirectory, { recursive: true, force: true });
  }

  freeze(): void {
    if (this.#program !== null) process.kill(this.#program.pid, "SIGSTOP");
  }

  thaw(): void {
    if (this.#program !== null) process.kill(this.#program.pid, "SIGCONT");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    await new Promise((resolve) => this.#log.end(resolve));
    rmSync(join(this.#configFile, ".."), { recursive: true, force: true });
  }
}
