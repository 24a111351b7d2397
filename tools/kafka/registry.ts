/**
 * A local schema registry for development and tests.
 *
 *   SWITCHYARD_REGISTRY_URL is set                     that registry; a private one ignores it
 *   a Docker engine responds                           the image apicurio-registry, with testcontainers
 *   Java 17+, and Maven or an earlier download         Apicurio Registry as a Java process
 *   none of these                                      an error that lists the three
 *
 * A registry that this process started ends when the process ends, however that happens.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { dockerOrJava } from "./choose.ts";
import { type Container, startContainer } from "./docker.ts";
import type { Progress } from "./download.ts";
import { freePort } from "./free-port.ts";
import { GuardedProgram } from "./java-process.ts";
import {
  prepareRegistry,
  REGISTRY_PATH,
  REGISTRY_VERSION,
  registryResponds,
  registrySettings,
  startJavaRegistry,
  untilRegistryResponds,
} from "./registry-java.ts";

export const REGISTRY_IMAGE = `apicurio/apicurio-registry:${REGISTRY_VERSION}`;
export const REGISTRY_PORT = 8080;

export interface LocalRegistry extends AsyncDisposable {
  readonly how: "environment" | "docker" | "java";
  /** URL of its Confluent API, with the path. The registry responds there. */
  readonly url: string;
}

/** A registry for a single test, which may kill it. */
export interface PrivateRegistry extends LocalRegistry {
  /** Sends SIGKILL, and returns when the registry is gone. */
  kill(): Promise<void>;
  /** Restarts a killed registry with the same URL and schemas, and returns when it responds. */
  restart(): Promise<void>;
  /** Makes the registry accept connections without responding, until `thaw`. */
  freeze(): Promise<void>;
  thaw(): Promise<void>;
}

export interface StartOptions {
  readonly signal?: AbortSignal;
  /** Called with a line for each long step. */
  readonly log?: Progress;
}

/** Starts or finds a registry, according to the table above. @throws Error with what to do. */
export async function startRegistry(options: StartOptions = {}): Promise<LocalRegistry> {
  const given = environmentRegistry();
  if (given === null) return await startPrivateRegistry(options);
  if (!(await registryResponds(given))) {
    throw new Error(
      `SWITCHYARD_REGISTRY_URL is ${given}, but no schema registry responds there without authentication. ` +
        "Start it, correct the URL (with its path), or unset the variable to have one started.",
    );
  }
  return { how: "environment", url: given, [Symbol.asyncDispose]: () => Promise.resolve() };
}

/** Returns null if the variable is not set. */
export function environmentRegistry(): string | null {
  return process.env.SWITCHYARD_REGISTRY_URL?.trim().replace(/\/+$/, "") || null;
}

export async function startPrivateRegistry({
  signal = new AbortController().signal,
  log = () => undefined,
}: StartOptions = {}): Promise<PrivateRegistry> {
  return await dockerOrJava("the schema registry", REGISTRY_IMAGE, signal, log, {
    docker: async (host): Promise<PrivateRegistry> => {
      const { remove, ...registry } = await startRegistryContainer(host, 0, false);
      return { how: "docker", ...registry, [Symbol.asyncDispose]: remove };
    },
    java: () => startJava(signal, log),
  });
}

/** @param isKept true if the registry keeps running after this process ends. */
export async function startRegistryContainer(
  host: string,
  preferredPort: number,
  isKept: boolean,
): Promise<Container & { readonly url: string }> {
  const port = await freePort(preferredPort);
  const url = `http://${host}:${port}${REGISTRY_PATH}`;
  const settings = Object.entries(registrySettings("/tmp/registry-data/registry"));
  // Quarkus reads settings from the environment in this form.
  const nameOf = (key: string) => key.replaceAll(/[^a-z0-9]/gi, "_").toUpperCase();
  const variables = settings.map(([key, value]) => [nameOf(key), value] as const);
  const container = await startContainer({
    image: REGISTRY_IMAGE,
    environment: { ...Object.fromEntries(variables), JAVA_OPTS_APPEND: "-Xmx128m" },
    ports: [{ container: REGISTRY_PORT, host: port }],
    isKept,
    untilResponds: (limit) => untilRegistryResponds(url, limit),
  });
  return { ...container, url };
}

async function startJava(signal: AbortSignal, log: Progress): Promise<PrivateRegistry> {
  const directory = mkdtempSync(join(tmpdir(), "switchyard-registry-"));
  const clear = () => rmSync(directory, { recursive: true, force: true });
  try {
    const registry = await prepareRegistry(directory, 0, signal, log);
    log("starting the schema registry (Java)");
    const program = new GuardedProgram((limit, onLaunch) =>
      startJavaRegistry(registry, "guarded", limit, onLaunch),
    );
    await program.start(signal);
    return {
      how: "java",
      url: registry.url,
      kill: () => program.kill(),
      restart: async () => {
        await program.kill();
        await program.start();
      },
      freeze: async () => program.freeze(),
      thaw: async () => program.thaw(),
      [Symbol.asyncDispose]: () => program.kill().finally(clear),
    };
  } catch (error) {
    if (signal.aborted) clear();
    throw error;
  }
}
