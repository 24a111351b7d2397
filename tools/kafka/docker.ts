/** One Kafka broker as a container of the pinned image, by testcontainers. */

import type { StartedTestContainer } from "testcontainers";

import { freePort } from "./free-port.ts";
import { untilAnswers } from "./probe.ts";
import { brokerSettings, imageEnvironment, KAFKA_VERSION } from "./settings.ts";

export const KAFKA_IMAGE = `apache/kafka:${KAFKA_VERSION}`;
const CLIENT_PORT = 9092;
const FRONTED_PORT = 9100;
const START_LIMIT_MS = 120_000;
const RESTART_LIMIT_MS = 60_000;

export interface DockerBroker {
  readonly id: string;
  /** `host:port` for clients. */
  readonly address: string;
  /** `host:port` for each proxy, in their order. */
  readonly behind: readonly string[];
  kill(): Promise<void>;
  restart(): Promise<void>;
  remove(): Promise<void>;
}

/** The name of the host on which a Docker engine publishes ports, or null when none answers. */
export async function dockerHost(): Promise<string | null> {
  const { getContainerRuntimeClient } = await import("testcontainers");
  try {
    return (await getContainerRuntimeClient()).info.containerRuntime.host;
  } catch {
    return null;
  }
}

/**
 * Starts a broker. Unless it is `kept`, testcontainers' reaper removes it when this process is
 * gone, however it ends.
 *
 * @param fronts addresses of proxies, each of which gets a listener of its own
 */
export async function startContainer(
  host: string,
  preferredPort: number,
  kept: boolean,
  fronts: readonly string[] = [],
): Promise<DockerBroker> {
  if (kept) process.env.TESTCONTAINERS_RYUK_DISABLED = "true";
  const { GenericContainer, Wait } = await import("testcontainers");
  // The broker tells clients its address, so the published port must be known before it starts.
  const port = await freePort(preferredPort);
  const address = `${host}:${port}`;
  const fronted = await Promise.all(
    fronts.map(async (advertised, index) => {
      const inside = FRONTED_PORT + index;
      return { advertised, client: `0.0.0.0:${inside}`, inside, outside: await freePort() };
    }),
  );
  const listeners = {
    advertised: address,
    client: `0.0.0.0:${CLIENT_PORT}`,
    controller: "127.0.0.1:9093",
    fronted,
  };
  const settings = brokerSettings(listeners, "/tmp/kafka-data");
  const container = await new GenericContainer(KAFKA_IMAGE)
    .withEnvironment({
      ...imageEnvironment(settings),
      KAFKA_CONTROLLER_QUORUM_VOTERS: "1@127.0.0.1:9093",
      KAFKA_HEAP_OPTS: "-Xmx768m",
    })
    .withExposedPorts(
      { container: CLIENT_PORT, host: port },
      ...fronted.map(({ inside, outside }) => ({ container: inside, host: outside })),
    )
    .withLabels({ "switchyard.local-kafka": "true" })
    .withWaitStrategy(Wait.forLogMessage(/Kafka Server started/))
    .withStartupTimeout(START_LIMIT_MS)
    .start();
  await untilAnswers(address, AbortSignal.timeout(RESTART_LIMIT_MS));
  const behind = fronted.map(({ outside }) => `${host}:${outside}`);
  return startedBroker(container, address, behind);
}

/** Whether a container that another process started runs. */
export async function isContainerRunning(id: string): Promise<boolean> {
  const container = await containerById(id);
  const found = container === null ? null : await unlessMissing(container.inspect());
  return found?.State.Running === true;
}

/** Removes a container that another process started. One that is gone already is fine. */
export async function removeContainer(id: string): Promise<void> {
  const container = await containerById(id);
  if (container === null) throw new Error(`No Docker engine answers to remove container ${id}.`);
  await unlessMissing(container.remove({ force: true, v: true }));
}

/** Null when no engine answers. */
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

async function startedBroker(
  container: StartedTestContainer,
  address: string,
  behind: readonly string[],
): Promise<DockerBroker> {
  const { getContainerRuntimeClient } = await import("testcontainers");
  const client = await getContainerRuntimeClient();
  const handle = client.container.getById(container.getId());
  return {
    id: container.getId(),
    address,
    behind,
    kill: async () => {
      await handle.kill({ signal: "SIGKILL" });
      await handle.wait({ condition: "not-running" });
    },
    restart: async () => {
      await handle.start();
      await untilAnswers(address, AbortSignal.timeout(RESTART_LIMIT_MS));
    },
    remove: async () => {
      await container.stop({ timeout: 0, remove: true, removeVolumes: true });
    },
  };
}
