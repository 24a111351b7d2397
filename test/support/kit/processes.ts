/**
 * Processes of the program and its commands, for the suites that people start: as users start them, with configurations
 * that change while the processes run.
 */

import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import {
  type LogLine,
  type Program,
  type ProgramOptions,
  startProgram,
} from "../../../tools/demo/program.ts";
import { type CommandEnd, type StartedCommand, startCommand } from "./command.ts";

export class Processes implements AsyncDisposable {
  readonly directory = mkdtempSync(join(tmpdir(), "switchyard-suite-"));
  readonly #running = new Set<Program>();

  /** The path of a configuration. */
  fileOf(name: string): string {
    return join(this.directory, `${name}.yaml`);
  }

  /** Writes or replaces a configuration as an editor does. Processes that run with it reload it automatically. */
  configure(name: string, config: object | string): void {
    const next = this.fileOf("next");
    // JSON is valid YAML.
    writeFileSync(next, typeof config === "string" ? config : JSON.stringify(config, null, 2));
    renameSync(next, this.fileOf(name));
  }

  async createTopics(name: string): Promise<void> {
    const { status, out, err } = await this.command(name, ["topics", "--apply"]);
    if (status !== 0) throw new Error(`the topics cannot be created:\n${err}${out}`);
  }

  /** Starts a process. The brokers of the environment do not count. */
  start(
    name: string,
    options: ProgramOptions = {},
    onLog: (line: LogLine) => void = () => undefined,
  ): Program {
    const env = { SWITCHYARD_KAFKA_BROKERS: "", ...options.env };
    const program = startProgram(this.fileOf(name), onLog, { ...options, env });
    this.#running.add(program);
    void program.ended.then(() => this.#running.delete(program));
    return program;
  }

  startCommand(name: string, args: readonly string[]): StartedCommand {
    return startCommand([...args, "--config", this.fileOf(name)]);
  }

  /** Runs a command to its end. */
  command(name: string, args: readonly string[]): Promise<CommandEnd> {
    return this.startCommand(name, args).ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#running].map((program) => program.stop()));
    rmSync(this.directory, { recursive: true, force: true });
  }
}
