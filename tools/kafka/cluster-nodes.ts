/**
 * The nodes of a local cluster as Java processes, each with a directory of its own below that of the
 * cluster:
 *
 *   cluster-id   node-1/   node-2/   node-3/     as in java.ts
 */

import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import type { JavaChoice } from "./choose.ts";
import { clusterNodeSettings, type NodeListeners } from "./cluster-settings.ts";
import { freePort } from "./free-port.ts";
import { BRIEF_OPTIONS, clusterId, format, type JavaBroker } from "./java.ts";
import { type ClientSecurity, scramArguments } from "./security.ts";
import { propertiesText } from "./settings.ts";

export const BROKERS_MIN = 2;
export const BROKERS_MAX = 9;

export interface ClusterPlan {
  /** How many nodes. */
  readonly brokers: number;
  readonly security: ClientSecurity;
  /** Of the nodes, for clients, if they are free; those that are not named follow the first one. */
  readonly ports: readonly number[];
  /** For each node the addresses of proxies, each of which gets a listener of its own. */
  readonly fronts: readonly (readonly string[])[];
}

export interface ClusterNode {
  readonly id: number;
  /** `host:port` for clients. */
  readonly address: string;
  /** How it is started; its address is the plaintext one that nodes use among themselves. */
  readonly broker: JavaBroker;
}

/** Writes settings, and formats the data of nodes that have none. */
export async function prepareNodes(
  { java, jars }: JavaChoice,
  directory: string,
  plan: ClusterPlan,
  signal: AbortSignal,
): Promise<readonly ClusterNode[]> {
  mkdirSync(directory, { recursive: true });
  const listeners: NodeListeners[] = [];
  for (let index = 0; index < plan.brokers; index += 1) {
    listeners.push(await chooseListeners(plan, index));
  }
  const controllers = listeners.map(({ controller }) => controller);
  const id = clusterIdIn(directory);
  const { security } = plan;
  const nodes = listeners.map((each, index): ClusterNode => {
    const own = join(directory, `node-${index + 1}`);
    mkdirSync(own, { recursive: true });
    const dataDirectory = join(own, "data");
    const node = { id: index + 1, listeners: each, controllers, security, dataDirectory };
    writeFileSync(join(own, "server.properties"), propertiesText(clusterNodeSettings(node)));
    const behind = each.fronted.map(({ client }) => client);
    const broker = { java, jars, directory: own, address: each.internal, behind };
    return {
      id: node.id,
      address: each.client,
      broker: { ...broker, javaOptions: BRIEF_OPTIONS },
    };
  });
  const args = ["--cluster-id", id, ...scramArguments(security)];
  const unformatted = nodes.filter(
    ({ broker }) => !existsSync(join(broker.directory, "data", "meta.properties")),
  );
  await Promise.all(unformatted.map(({ broker }) => format(broker, args, signal)));
  return nodes;
}

async function chooseListeners(plan: ClusterPlan, index: number): Promise<NodeListeners> {
  const address = async (preferred = 0) => `127.0.0.1:${await freePort(preferred)}`;
  const [first = 0] = plan.ports;
  const preferred = plan.ports[index] ?? (first === 0 ? 0 : first + index);
  const fronted: { advertised: string; client: string }[] = [];
  for (const advertised of plan.fronts[index] ?? []) {
    fronted.push({ advertised, client: await address() });
  }
  const client = await address(preferred);
  return { client, internal: await address(), controller: await address(), fronted };
}

/** All nodes have the same one, also those that are formatted later. */
function clusterIdIn(directory: string): string {
  const file = join(directory, "cluster-id");
  if (!existsSync(file)) writeFileSync(file, clusterId(randomBytes(16)));
  return readFileSync(file, "utf8");
}
