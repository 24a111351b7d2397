/** A log for tests, which stores the lines and lets tests wait for one. */

import type { Log } from "../../../src/base/telemetry/log.ts";

export type LogFields = Readonly<Record<string, unknown>>;

export interface LogLine {
  readonly level: "debug" | "info" | "warn" | "error";
  readonly msg: string;
  readonly fields: LogFields;
}

export class LogLines {
  readonly lines: LogLine[] = [];
  readonly #waiting = new Set<() => void>();

  /**
   * Lines at level debug are stored, but the level is not enabled, so lines that are created only for an enabled level
   * are not created.
   */
  readonly log: Log = {
    isLevelEnabled: (level) => level !== "debug" && level !== "trace",
    debug: (fields, msg) => this.#add({ level: "debug", msg, fields }),
    info: (fields, msg) => this.#add({ level: "info", msg, fields }),
    warn: (fields, msg) => this.#add({ level: "warn", msg, fields }),
    error: (fields, msg) => this.#add({ level: "error", msg, fields }),
    infoText: (fields, msg) =>
      this.#add({ level: "info", msg, fields: JSON.parse(`{${fields}}`) as LogFields }),
  };

  /** Names of the lines that an operator sees. */
  get seen(): string[] {
    return this.lines.filter(({ level }) => level !== "debug").map(({ msg }) => msg);
  }

  /** Resolves when a line with this name has been written, at any level. */
  until(msg: string): Promise<void> {
    return new Promise((resolve) => {
      const look = () => {
        if (!this.lines.some((line) => line.msg === msg)) return;
        this.#waiting.delete(look);
        resolve();
      };
      this.#waiting.add(look);
      look();
    });
  }

  #add(line: LogLine): void {
    this.lines.push(line);
    for (const look of [...this.#waiting]) look();
  }
}
