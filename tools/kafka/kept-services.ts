/** The services of `switchyard kafka up`. */

import { chooseJava, dockerOrJava, environmentBrokers } from "./choose.ts";
import { KAFKA_IMAGE, startBrokerContainer } from "./docker.ts";
import { BRIEF_OPTIONS, LASTING_OPTIONS, prepareNodes, startBroker } from "./java.ts";
import type { Kept, Service } from "./kept.ts";
import { responds, untilResponds } from "./probe.ts";
import { environmentRegistry, REGISTRY_IMAGE, startRegistryContainer } from "./registry.ts";
import {
  prepareRegistry,
  registryResponds,
  startJavaRegistry,
  untilRegistryResponds,
} from "./registry-java.ts";
import { type ClientSecurity, isPlain, NO_SECURITY } from "./security.ts";

/** Several brokers, or one with TLS or authentication, can only run as Java processes. */
export function kafkaService(brokers: number, security: ClientSecurity): Service {
  const count = brokers === 1 ? "1 broker" : `${brokers} brokers`;
  const [tls, sasl] = [security.tls ? ["TLS"] : [], security.sasl ? ["SASL"] : []];
  const kind = [count, ...tls, ...sasl].join(", ");
  const start: Service["start"] = async (directory, ports, signal, log, onLaunch) => {
    const java = () => startNodes(directory, ports, signal, log, onLaunch);
    if (brokers > 1 || !isPlain(security)) return await java();
    const docker = async (host: string): Promise<Kept> => {
      const { id, address } = await startBrokerContainer(host, ports[0] ?? 0, true);
      return { how: "docker", container: id, address, kind, probes: [] };
    };
    return await dockerOrJava("Apache Kafka", KAFKA_IMAGE, signal, log, { docker, java });
  };
  const startNodes: Service["start"] = async (directory, ports, signal, log, onLaunch) => {
    const choice = await chooseJava(signal, log);
    log(`starting Apache Kafka, ${kind} (Java)`);
    const javaOptions = brokers === 1 ? LASTING_OPTIONS : BRIEF_OPTIONS;
    const plan = { brokers, security, ports, fronts: [], javaOptions };
    const nodes = await prepareNodes(choice, directory, plan, signal);
    const address = nodes.map((node) => node.address).join();
    // This is the plaintext listener, regardless of the listener that clients use.
    const probes = nodes.map(({ broker }) => broker.address);
    const pids: number[] = [];
    const kept = (): Kept => ({ how: "java", pids: [...pids], kind, address, probes });
    const launched = ({ pid = 0 }) => {
      pids.push(pid);
      onLaunch(kept());
    };
    await Promise.all(nodes.map(({ broker }) => startBroker(broker, "detached", signal, launched)));
    return kept();
  };
  return {
    name: "kafka",
    title: "Apache Kafka",
    up: "kafka up",
    variable: "SWITCHYARD_KAFKA_BROKERS",
    given: environmentBrokers,
    kind,
    portPreferred: 9092,
    portsOf: (address) => address.split(",").map((one) => Number(one.split(":").at(-1))),
    responds,
    untilResponds,
    start,
  };
}

export const KAFKA = kafkaService(1, NO_SECURITY);

const REGISTRY_KIND = "a schema registry";

export const REGISTRY: Service = {
  name: "registry",
  title: "The schema registry",
  up: "kafka up --registry",
  variable: "SWITCHYARD_REGISTRY_URL",
  given: () => [environmentRegistry() ?? []].flat(),
  kind: REGISTRY_KIND,
  portPreferred: 8081,
  portsOf: (address) => [Number(new URL(address).port)],
  responds: registryResponds,
  untilResponds: untilRegistryResponds,
  start: (directory, [port = 0], signal, log, onLaunch) =>
    dockerOrJava("the schema registry", REGISTRY_IMAGE, signal, log, {
      docker: async (host): Promise<Kept> => {
        const { id, url } = await startRegistryContainer(host, port, true);
        return { how: "docker", container: id, address: url, kind: REGISTRY_KIND, probes: [] };
      },
      java: async () => {
        const registry = await prepareRegistry(directory, port, signal, log);
        log("starting the schema registry (Java)");
        const { url: address } = registry;
        const own = { address, kind: REGISTRY_KIND, probes: [] };
        const kept = (pid = 0): Kept => ({ how: "java", pids: [pid], ...own });
        const launched = ({ pid }: { readonly pid?: number | undefined }) => onLaunch(kept(pid));
        const process = await startJavaRegistry(registry, "detached", signal, launched);
        return kept(process.pid);
      },
    }),
};
