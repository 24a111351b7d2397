/** The services of `switchyard kafka up`. */

import { choose, chooseJava } from "./choose.ts";
import { type ClusterNode, prepareNodes } from "./cluster-nodes.ts";
import { dockerHost, startContainer } from "./docker.ts";
import { LASTING_OPTIONS, prepareBroker, startBroker } from "./java.ts";
import type { Kept, Service } from "./kept.ts";
import { answers, untilAnswers } from "./probe.ts";
import { startRegistryContainer } from "./registry-docker.ts";
import {
  prepareRegistry,
  registryAnswers,
  startJavaRegistry,
  untilRegistryAnswers,
} from "./registry-java.ts";
import { type ClientSecurity, NO_SECURITY } from "./security.ts";

const KAFKA_PORTS = {
  name: "kafka",
  portPreferred: 9092,
  portsOf: (address: string) => address.split(",").map((one) => Number(one.split(":").at(-1))),
  answers,
  untilAnswers,
} as const;

export const KAFKA: Service = {
  ...KAFKA_PORTS,
  kind: kindOf(1, NO_SECURITY),
  start: async (directory, [port = 0], signal, log, onLaunch) => {
    const choice = await choose(signal, log);
    if (choice.kind === "docker") {
      log("starting Apache Kafka (Docker)");
      const { id, address } = await startContainer(choice.host, port, true);
      return { how: "docker", container: id, address, kind: KAFKA.kind, probes: [] };
    }
    log("starting Apache Kafka (Java)");
    const prepared = await prepareBroker(choice.java, choice.jars, directory, port, signal);
    const broker = { ...prepared, javaOptions: LASTING_OPTIONS };
    const { address } = broker;
    const kept = (pid = 0): Kept => ({
      how: "java",
      pids: [pid],
      address,
      kind: KAFKA.kind,
      probes: [],
    });
    const process = await startBroker(broker, "detached", signal, ({ pid }) => onLaunch(kept(pid)));
    return kept(process.pid);
  },
};

/** Several brokers, or one that asks for TLS or a log-in: Java processes alone. */
export function kafkaCluster(brokers: number, security: ClientSecurity): Service {
  const kind = kindOf(brokers, security);
  return {
    ...KAFKA_PORTS,
    kind,
    start: async (directory, ports, signal, log, onLaunch) => {
      const choice = await chooseJava(signal, log);
      log(`starting Apache Kafka, ${kind} (Java)`);
      const plan = { brokers, security, ports, fronts: [] };
      const nodes = await prepareNodes(choice, directory, plan, signal);
      const pids: number[] = [];
      const kept = (): Kept => ({ how: "java", pids: [...pids], kind, ...addressesOf(nodes) });
      await Promise.all(
        nodes.map(({ broker }) =>
          startBroker(broker, "detached", signal, ({ pid = 0 }) => {
            pids.push(pid);
            onLaunch(kept());
          }),
        ),
      );
      return kept();
    },
  };
}

function kindOf(brokers: number, { tls, sasl }: ClientSecurity): string {
  const count = brokers === 1 ? "1 broker" : `${brokers} brokers`;
  return [count, ...(tls ? ["TLS"] : []), ...(sasl ? ["SASL"] : [])].join(", ");
}

function addressesOf(nodes: readonly ClusterNode[]): Pick<Kept, "address" | "probes"> {
  return {
    address: nodes.map(({ address }) => address).join(),
    // In plaintext, whatever clients have to do.
    probes: nodes.map(({ broker }) => broker.address),
  };
}

export const REGISTRY: Service = {
  name: "registry",
  kind: "a schema registry",
  portPreferred: 8081,
  portsOf: (address) => [Number(new URL(address).port)],
  answers: registryAnswers,
  untilAnswers: untilRegistryAnswers,
  start: async (directory, [port = 0], signal, log, onLaunch) => {
    const host = await dockerHost();
    if (host !== null) {
      log("starting the schema registry (Docker)");
      const { id, url } = await startRegistryContainer(host, port, true);
      return { how: "docker", container: id, address: url, kind: REGISTRY.kind, probes: [] };
    }
    const registry = await prepareRegistry(directory, port, signal, log);
    log("starting the schema registry (Java)");
    const kept = (pid = 0): Kept => ({
      how: "java",
      pids: [pid],
      address: registry.url,
      kind: REGISTRY.kind,
      probes: [],
    });
    const process = await startJavaRegistry(registry, "detached", signal, ({ pid }) =>
      onLaunch(kept(pid)),
    );
    return kept(process.pid);
  },
};
