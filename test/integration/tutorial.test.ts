// docs/tutorial.md, carried out from its first block to its last: files saved, commands run as they
// are written, output as it is shown. Only ports, and the prefix of topics, are the test's own.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { freePort } from "../../tools/kafka/free-port.ts";
import { uniquePrefix } from "../support/build/prefix.ts";
import { type FencedBlock, fencedBlocks, isPrinted } from "../support/project/fenced-blocks.ts";
import { ROOT } from "../support/project/tracked-texts.ts";
import { type CheckoutCopy, checkoutCopy, type Terminal } from "../support/worlds/checkout-copy.ts";

const PORTS = ["3000", "8080", "9464"];

test("the tutorial does what it says", { timeout: 300_000 }, async () => {
  const page = await withFreePorts(readFileSync(join(ROOT, "docs/tutorial.md"), "utf8"));
  await using copy = checkoutCopy({ SWITCHYARD_KAFKA_TOPIC_PREFIX: uniquePrefix("tutorial") });
  const reader = new Reader(copy);
  const blocks = fencedBlocks(page);
  expect(blocks.length).toBeGreaterThan(20);
  for (const block of blocks) await reader.does(block);
  expect(reader.keepsRunning()).toEqual([]);
});

async function withFreePorts(page: string): Promise<string> {
  let text = page;
  for (const port of PORTS) {
    expect(text).toContain(port);
    text = text.replaceAll(port, String(await freePort()));
  }
  return text;
}

class Reader {
  private readonly copy: CheckoutCopy;
  private readonly terminals = new Map<string, Terminal>();
  private printed = "";

  constructor(copy: CheckoutCopy) {
    this.copy = copy;
  }

  async does({ language, info, text }: FencedBlock): Promise<void> {
    if (language === "text") await this.sees(text, info);
    else if (language !== "sh") this.copy.save(info, text);
    else if (info === "") await this.runs(text);
    else await this.types(info, text);
  }

  keepsRunning(): readonly string[] {
    return [...this.terminals.keys()];
  }

  private async runs(script: string): Promise<void> {
    const { status, output } = await this.copy.run(script);
    expect(status, `${script}${output}${this.logs()}`).toBe(0);
    this.printed = output;
  }

  private async types(name: string, text: string): Promise<void> {
    const [first, ...rest] = text.split("\n");
    const isStopped = first === "# Ctrl-C";
    expect(this.terminals.has(name), `${name} is free for: ${text}`).toBe(isStopped);
    await this.terminals.get(name)?.interrupt();
    this.terminals.delete(name);
    const command = (isStopped ? rest : [first, ...rest]).join("\n").trim();
    if (command !== "") this.terminals.set(name, this.copy.start(command));
  }

  private async sees(text: string, name: string): Promise<void> {
    const output = () => (name === "" ? this.printed : (this.terminals.get(name)?.output() ?? ""));
    for (const line of text.trimEnd().split("\n")) {
      await expect
        .poll(() => isPrinted(line, output()) || output() + this.logs(), { timeout: 90_000 })
        .toBe(true);
    }
  }

  private logs(): string {
    return [...this.terminals].map(([name, { output }]) => `\n${name}:\n${output()}`).join("");
  }
}
