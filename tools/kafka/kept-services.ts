/** The services of `switchyard kafka up`. */

import { choose } from "./choose.ts";
import { dockerHost, startContainer } from "./docker.ts";
import { prepareBroker, startBroker } from "./java.ts";
import type { Service } from "./kept.ts";
import { answers, untilAnswers } from "./probe.ts";
import { startRegistryContainer } from "./registry-docker.ts";
import {
  prepareRegistry,
  registryAnswers,
  startJavaRegistry,
  untilRegistryAnswers,
} from "./registry-java.ts";

export const KAFKA: Service = {
  name: "kafka",
  portPreferred: 9092,
  portOf: (address) => Number(address.split(":").at(-1)),
  answers,
  untilAnswers,
  start: async (directory, port, signal, log, onLaunch) => {
    const choice = await choose(signal, log);
    if (choice.kind === "docker") {
      log("starting Apache Kafka (Docker)");
      const { id, address } = await startContainer(choice.host, port, true);
      return { how: "docker", container: id, address };
    }
    log("starting Apache Kafka (Java)");
    const broker = await prepareBroker(choice.java, choice.jars, directory, port, signal);
    const { address } = broker;
    const process = await startBroker(broker, "detached", signal, ({ pid = 0 }) =>
      onLaunch({ how: "java", pid, address }),
    );
    return { how: "java", pid: process.pid ?? 0, address };
  },
};

export const REGISTRY: Service = {
  name: "registry",
  portPreferred: 8081,
  portOf: (address) => Number(new URL(address).port),
  answers: registryAnswers,
  untilAnswers: untilRegistryAnswers,
  start: async (directory, port, signal, log, onLaunch) => {
    const host = await dockerHost();
    if (host !== null) {
      log("starting the schema registry (Docker)");
      const { id, url } = await startRegistryContainer(host, port, true);
      return { how: "docker", container: id, address: url };
    }
    const registry = await prepareRegistry(directory, port, signal, log);
    log("starting the schema registry (Java)");
    const address = registry.url;
    const process = await startJavaRegistry(registry, "detached", signal, ({ pid = 0 }) =>
      onLaunch({ how: "java", pid, address }),
    );
    return { how: "java", pid: process.pid ?? 0, address };
  },
};
