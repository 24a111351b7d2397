/** Runs services as containers of pinned images, with testcontainers. */

import { freePort } from "./free-port.ts";
import { untilResponds } from "./probe.ts";
import { NO_SECURITY } from "./security.ts";
import { imageEnvironment, KAFKA_VERSION, nodeSettings } from "./settings.ts";

export const KAFKA_IMAGE = `apache/kafka:${KAFKA_VERSION}`;
const CLIENT_PORT = 9092;
const FRONTED_PORT = 9100;
const START_LIMIT_MS = 120_000;
const RESTART_LIMIT_MS = 60_000;

export interface Container {
  readonly id: string;
  /** Sends SIGKILL, and returns when the container is gone. */
  kill(): Promise<void>;
  /** Restarts a killed container on its data, and returns when it responds. */
  restart(): Promise<void>;
  freeze(): Promise<void>;
  thaw(): Promise<void>;
  remove(): Promise<void>;
}

export interface ContainerPlan {
  readonly image: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly ports: readonly { readonly container: number; readonly host: number }[];
  /** If false, testcontainers removes the container when this process ends, however that happens. */
  readonly isKept: boolean;
  readonly untilResponds: (signal: AbortSignal) => Promise<void>;
}

export interface DockerBroker extends Container {
  /** `host:port` for clients. */
  readonly address: string;
  /** `host:port` for each proxy, in order. */
  readonly behind: readonly string[];
}

/** Returns the host on which a Docker engine publishes ports, or null if no engine responds. */
export async function dockerHost(): Promise<string | null> {
  const { getContainerRuntimeClient } = await import("testcontainers");
  try {
    return (await getContainerRuntimeClient()).info.containerRuntime.host;
  } catch {
    return null;
  }
}

/** Starts a container and returns when it responds. */
export async function startContainer(plan: ContainerPlan): Promise<Container> {
  if (plan.isKept) process.env.TESTCONTAINERS_RYUK_DISABLED = "true";
  const { GenericContainer, getContainerRuntimeClient } = await import("testcontainers");
  const container = await new GenericContainer(plan.image)
    .withEnvironment(plan.environment)
    .withExposedPorts(...plan.ports)
    .withLabels({ "switchyard.local-kafka": "true" })
    .withStartupTimeout(START_LIMIT_MS)
    .start();
  const untilItResponds = () => plan.untilResponds(AbortSignal.timeout(RESTART_LIMIT_MS));
  await untilItResponds();
  const handle = (await getContainerRuntimeClient()).container.getById(container.getId());
  return {
    id: container.getId(),
    kill: async () => {
      await handle.kill({ signal: "SIGKILL" });
      await handle.wait({ condition: "not-running" });
    },
    restart: async () => {
      await handle.start();
      await untilItResponds();
    },
    freeze: async () => void (await handle.pause()),
    thaw: async () => void (await handle.unpause()),
    remove: async () => {
      await container.stop({ timeout: 0, remove: true, removeVolumes: true });
    },
  };
}

/** @param fronts addresses of proxies, each of which gets its own listener */
export async function startBrokerContainer(
  host: string,
  preferredPort: number,
  isKept: boolean,
  fronts: readonly string[] = [],
): Promise<DockerBroker> {
  // The broker advertises its address, so the published port must be known before it starts.
  const port = await freePort(preferredPort);
  const address = `${host}:${port}`;
  const fronted = await Promise.all(
    fronts.map(async (advertised, index) => {
      const container = FRONTED_PORT + index;
      return { advertised, bound: `0.0.0.0:${container}`, container, host: await freePort() };
    }),
  );
  const plaintext = { advertised: address, bound: `0.0.0.0:${CLIENT_PORT}` };
  const settings = nodeSettings({
    id: 1,
    plaintext,
    client: plaintext,
    fronted,
    controllers: ["127.0.0.1:9093"],
    security: NO_SECURITY,
    dataDirectory: "/tmp/kafka-data",
  });
  const container = await startContainer({
    image: KAFKA_IMAGE,
    environment: { ...imageEnvironment(settings), KAFKA_HEAP_OPTS: "-Xmx768m" },
    ports: [{ container: CLIENT_PORT, host: port }, ...fronted],
    isKept,
    untilResponds: (signal) => untilResponds(address, signal),
  });
  return { ...container, address, behind: fronted.map((each) => `${host}:${each.host}`) };
}

/** Returns true if a container that another process started is running. */
export async function isContainerRunning(id: string): Promise<boolean> {
  const container = await containerById(id);
  const found = container === null ? null : await unlessMissing(container.inspect());
  return found?.State.Running === true;
}

/** Removes a container that another process started, if it still exists. */
export async function removeContainer(id: string): Promise<void> {
  const container = await containerById(id);
  if (container === null)
    throw new Error(`Cannot remove container ${id}: no Docker engine responds.`);
  await unlessMissing(container.remove({ force: true, v: true }));
}

/** Returns null if no engine responds. */
async function containerById(id: string) {
  if ((await dockerHost()) === null) return null;
  const { getContainerRuntimeClient } = await import("testcontainers");
  return (await getContainerRuntimeClient()).container.getById(id);
}

async function unlessMissing<Result>(action: Promise<Result>): Promise<Result | null> {
  try {
    return await action;
  } catch (error) {
    if (error instanceof Error && "statusCode" in error && error.statusCode === 404) return null;
    throw error;
  }
}
