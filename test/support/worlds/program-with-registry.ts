/** The program as a child process, with a registry, a destination on this machine, and its topics. */

import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import { json } from "node:stream/consumers";

import { runProgram } from "../../../src/program/cli/program.ts";
import { freePort } from "../../../tools/kafka/free-port.ts";
import { spawnGuarded } from "../../../tools/kafka/guarded-process.ts";
import { uniquePrefix } from "../build/prefix.ts";
import { fakeShell } from "./fake-shell.ts";

const ROOT = join(import.meta.dirname, "../../..");

export interface ProgramWithRegistry extends AsyncDisposable {
  /** Path of the program's configuration. */
  readonly file: string;
  /** The name of the `calls` topic. */
  readonly topic: string;
  readonly brokers: string;
  /** Bodies of webhooks by message ID; `payload` is `full`. */
  readonly arrived: ReadonlyMap<string, unknown>;
  /** The body of an admin path, such as `/readyz`. */
  admin(path: string): Promise<string>;
  /** The output of a command of the program with the same configuration. */
  command(...args: readonly string[]): Promise<string>;
}

/** Resolves when the program is ready. @param registry URLs, separated by commas */
export async function startProgramWithRegistry(
  name: string,
  registry: string,
): Promise<ProgramWithRegistry> {
  await using undo = new AsyncDisposableStack();
  const arrived = new Map<string, unknown>();
  const take = async (request: IncomingMessage, response: ServerResponse) => {
    const body = (await json(request)) as { readonly messageId: string };
    arrived.set(body.messageId, body);
    response.end();
  };
  const webhook = createServer((request, response) => void take(request, response));
  webhook.listen(0, "127.0.0.1");
  await once(webhook, "listening");
  undo.defer(() => {
    webhook.close();
    webhook.closeAllConnections();
  });
  const { port } = webhook.address() as AddressInfo;
  const folder = mkdtempSync(join(tmpdir(), "switchyard-registry-"));
  undo.defer(() => rmSync(folder, { recursive: true, force: true }));
  const prefix = uniquePrefix(name);
  const brokers = process.env.SWITCHYARD_KAFKA_BROKERS ?? "";
  const config = join(folder, "switchyard.yaml");
  const adminPort = await freePort();
  writeFileSync(
    config,
    `
kafka: { brokers: "${brokers}", topicPrefix: ${prefix}, partitions: 2 }
registry: { url: "${registry}" }
sources: [{ id: web, destinations: [hook] }]
defaultSource: web
destinations:
  - { id: hook, type: webhook, payload: full, endpoints: [{ url: "http://127.0.0.1:${port}/" }] }
delivery: { allowNetworks: [127.0.0.0/8] }
admin: { host: 127.0.0.1, port: ${adminPort} }
`,
  );
  undo.use(await startProgram(config, folder));
  const moved = undo.move();
  return {
    file: config,
    topic: `${prefix}calls`,
    brokers,
    arrived,
    admin: async (path) => (await fetch(`http://127.0.0.1:${adminPort}${path}`)).text(),
    command: async (...args) => {
      const shell = fakeShell();
      await runProgram([...args, "--config", config], shell);
      return `${shell.output()}${shell.errors()}`;
    },
    [Symbol.asyncDispose]: () => moved.disposeAsync(),
  };
}

async function startProgram(config: string, cwd: string): Promise<AsyncDisposable> {
  // The environment would override the file.
  const { SWITCHYARD_REGISTRY_URL: _, ...env } = process.env;
  const args = ["run", "-c", config, "--stages", "route,deliver,delay"];
  const command = [process.execPath, join(ROOT, "src/main.ts"), ...args];
  const child = spawnGuarded(cwd, command, { output: ["pipe", "pipe"], env, cwd });
  const ended = once(child, "close");
  let errors = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    errors += text;
  });
  const ready = Promise.withResolvers<void>();
  const input = child.stdout ?? Readable.from([]);
  createInterface({ input }).on("line", (line) => {
    if ((JSON.parse(line) as { readonly msg: unknown }).msg === "ready") ready.resolve();
  });
  ended.then(() => ready.reject(new Error(`the program ended: ${errors}`))).catch(() => undefined);
  await ready.promise;
  return {
    [Symbol.asyncDispose]: async () => {
      child.kill("SIGTERM");
      await ended;
    },
  };
}
