/**
 * Follows a page of docs like a reader: saves files, runs commands as they are written, and compares the output
 * with what the page shows. Only the ports differ.
 */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";

import { freePort } from "../../../tools/kafka/free-port.ts";
import { type FencedBlock, fencedBlocks, isPrinted } from "../project/fenced-blocks.ts";
import { ROOT } from "../project/tracked-texts.ts";
import type { CheckoutCopy, Terminal } from "./checkout-copy.ts";

/** Far longer than a page takes, even on a busy machine. */
const SEEN_LIMIT_MS = 90_000;
/**
 * The command waits 3 s for each process, which may not be enough on a busy machine. Repeating the command has no side
 * effects.
 */
const LOOK = /^(?:npm run -s )?switchyard (?:-- )?status\b/;
const LOOKS_MAX = 5;

/**
 * Blocks of the page, in order, with free ports instead of the given ones.
 *
 * @param path the path below the project's folder.
 */
export async function blocksOf(
  path: string,
  ports: readonly string[],
): Promise<readonly FencedBlock[]> {
  let text = readFileSync(join(ROOT, path), "utf8");
  for (const port of ports) {
    expect(text).toContain(port);
    text = text.replaceAll(port, String(await freePort()));
  }
  return fencedBlocks(text);
}

export class PageReader {
  readonly #copy: CheckoutCopy;
  readonly #terminals = new Map<string, Terminal>();
  #printed = "";

  constructor(copy: CheckoutCopy) {
    this.#copy = copy;
  }

  async does({ language, info, text }: FencedBlock): Promise<void> {
    if (language === "text") await this.#sees(text, info);
    else if (language !== "sh") this.#copy.save(info, text);
    else if (info.startsWith("terminal")) await this.#types(info, text);
    else await this.#runs(text, Number(/^status (\d+)$/.exec(info)?.[1] ?? 0));
  }

  /** Names of the terminals in which a command is running. */
  keepsRunning(): readonly string[] {
    return [...this.#terminals.keys()];
  }

  async #runs(script: string, expected: number): Promise<void> {
    let { status, output } = await this.#copy.run(script);
    for (let looks = 1; status !== expected && LOOK.test(script) && looks < LOOKS_MAX; looks += 1)
      ({ status, output } = await this.#copy.run(script));
    expect(status, `${script}${output}${this.#logs()}`).toBe(expected);
    this.#printed = output;
  }

  async #types(name: string, text: string): Promise<void> {
    const [first, ...rest] = text.split("\n");
    const isStopped = first === "# Ctrl-C";
    expect(this.#terminals.has(name), `${name} is free for: ${text}`).toBe(isStopped);
    await this.#terminals.get(name)?.interrupt();
    this.#terminals.delete(name);
    const command = (isStopped ? rest : [first, ...rest]).join("\n").trim();
    if (command !== "") this.#terminals.set(name, this.#copy.start(command));
  }

  async #sees(text: string, name: string): Promise<void> {
    const output = () =>
      name === "" ? this.#printed : (this.#terminals.get(name)?.output() ?? "");
    for (const line of text.trimEnd().split("\n")) {
      await expect
        .poll(() => isPrinted(line, output()) || output() + this.#logs(), {
          timeout: SEEN_LIMIT_MS,
        })
        .toBe(true);
    }
  }

  #logs(): string {
    return [...this.#terminals].map(([name, { output }]) => `\n${name}:\n${output()}`).join("");
  }
}
