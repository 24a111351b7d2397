/**
 * A local schema registry for people and tests.
 *
 *   SWITCHYARD_REGISTRY_URL set                        that one; a private one ignores it
 *   a Docker engine answers                            the image apicurio-registry, by testcontainers
 *   Java 17+, and Maven or the program from before     Apicurio Registry as a Java process
 *   none of them                                       an error that names the three
 *
 * A registry that was started here ends with this process, however that ends.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { dockerHost } from "./docker.ts";
import type { Progress } from "./download.ts";
import { killProgram } from "./java-process.ts";
import { REGISTRY_IMAGE, startRegistryContainer } from "./registry-docker.ts";
import { prepareRegistry, registryAnswers, startJavaRegistry } from "./registry-java.ts";

export interface LocalRegistry extends AsyncDisposable {
  readonly how: "environment" | "docker" | "java";
  /** Its Confluent API, with the path. It answers. */
  readonly url: string;
}

/** A registry for one test alone, which may kill it. */
export interface PrivateRegistry extends LocalRegistry {
  /** SIGKILL. Returns when it is gone. */
  kill(): Promise<void>;
  /** Starts a killed one again: same URL, same schemas. Returns when it answers. */
  restart(): Promise<void>;
  /** Takes connections and says nothing, until `thaw`. */
  freeze(): Promise<void>;
  thaw(): Promise<void>;
}

export interface StartOptions {
  readonly signal?: AbortSignal;
  /** Called with one line for each step that takes a while. */
  readonly log?: Progress;
}

/** By the table above. Throws an error that says what to do about it. */
export async function startRegistry(options: StartOptions = {}): Promise<LocalRegistry> {
  const given = environmentRegistry();
  if (given === null) return await startPrivateRegistry(options);
  if (!(await registryAnswers(given))) {
    throw new Error(
      `SWITCHYARD_REGISTRY_URL is ${given}, but no schema registry answers there without a login. ` +
        "Start it, correct the URL (with its path), or unset the variable to have one started.",
    );
  }
  return { how: "environment", url: given, [Symbol.asyncDispose]: () => Promise.resolve() };
}

/** Null when it is not set. */
export function environmentRegistry(): string | null {
  return process.env.SWITCHYARD_REGISTRY_URL?.trim().replace(/\/+$/, "") || null;
}

export async function startPrivateRegistry({
  signal = new AbortController().signal,
  log = () => undefined,
}: StartOptions = {}): Promise<PrivateRegistry> {
  signal.throwIfAborted();
  const host = await dockerHost();
  if (host === null) return await startJava(signal, log);
  try {
    log(`starting the schema registry (Docker, ${REGISTRY_IMAGE})`);
    const { remove, ...registry } = await startRegistryContainer(host, 0, false);
    return { how: "docker", ...registry, [Symbol.asyncDispose]: remove };
  } catch (cause) {
    signal.throwIfAborted();
    log(`${REGISTRY_IMAGE} did not start on Docker (${String(cause)}); trying Java`);
    return await startJava(signal, log);
  }
}

async function startJava(signal: AbortSignal, log: Progress): Promise<PrivateRegistry> {
  const directory = mkdtempSync(join(tmpdir(), "switchyard-registry-"));
  const clear = () => rmSync(directory, { recursive: true, force: true });
  try {
    const registry = await prepareRegistry(directory, 0, signal, log);
    log("starting the schema registry (Java)");
    let running = await startJavaRegistry(registry, "guarded", signal);
    return {
      how: "java",
      url: registry.url,
      kill: () => killProgram(running),
      restart: async () => {
        await killProgram(running);
        running = await startJavaRegistry(registry, "guarded", new AbortController().signal);
      },
      freeze: () => Promise.resolve(void running.kill("SIGSTOP")),
      thaw: () => Promise.resolve(void running.kill("SIGCONT")),
      [Symbol.asyncDispose]: async () => {
        await killProgram(running);
        clear();
      },
    };
  } catch (error) {
    if (signal.aborted) clear();
    throw error;
  }
}
