/** One schema registry as a container of the pinned image, by testcontainers. */

import { freePort } from "./free-port.ts";
import { untilRegistryAnswers } from "./registry-java.ts";
import {
  REGISTRY_PATH,
  REGISTRY_PORT,
  REGISTRY_VERSION,
  registryEnvironment,
  registrySettings,
} from "./registry-settings.ts";

export const REGISTRY_IMAGE = `apicurio/apicurio-registry:${REGISTRY_VERSION}`;
const START_LIMIT_MS = 120_000;
const RESTART_LIMIT_MS = 60_000;

export interface DockerRegistry {
  readonly id: string;
  readonly url: string;
  kill(): Promise<void>;
  restart(): Promise<void>;
  freeze(): Promise<void>;
  thaw(): Promise<void>;
  remove(): Promise<void>;
}

/** Unless it is `kept`, testcontainers' reaper removes it when this process is gone. */
export async function startRegistryContainer(
  host: string,
  preferredPort: number,
  kept: boolean,
): Promise<DockerRegistry> {
  if (kept) process.env.TESTCONTAINERS_RYUK_DISABLED = "true";
  const { GenericContainer, getContainerRuntimeClient } = await import("testcontainers");
  const port = await freePort(preferredPort);
  const url = `http://${host}:${port}${REGISTRY_PATH}`;
  const container = await new GenericContainer(REGISTRY_IMAGE)
    .withEnvironment({
      ...registryEnvironment(registrySettings("/tmp/registry-data/registry")),
      JAVA_OPTS_APPEND: "-Xmx128m",
    })
    .withExposedPorts({ container: REGISTRY_PORT, host: port })
    .withLabels({ "switchyard.local-kafka": "true" })
    .withStartupTimeout(START_LIMIT_MS)
    .start();
  await untilRegistryAnswers(url, AbortSignal.timeout(RESTART_LIMIT_MS));
  const handle = (await getContainerRuntimeClient()).container.getById(container.getId());
  return {
    id: container.getId(),
    url,
    kill: async () => {
      await handle.kill({ signal: "SIGKILL" });
      await handle.wait({ condition: "not-running" });
    },
    restart: async () => {
      await handle.start();
      await untilRegistryAnswers(url, AbortSignal.timeout(RESTART_LIMIT_MS));
    },
    freeze: async () => {
      await handle.pause();
    },
    thaw: async () => {
      await handle.unpause();
    },
    remove: async () => {
      await container.stop({ timeout: 0, remove: true, removeVolumes: true });
    },
  };
}
