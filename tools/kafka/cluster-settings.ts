/**
 * The settings of one node of a local cluster. Every node is a broker and a controller, so that two
 * of three go on when any one dies.
 *
 *   listener     protocol                          for
 *   INTERNAL     plaintext                         the nodes among themselves, our own looks
 *   CLIENT       plaintext, SSL, SASL_..., both    clients: what `kafka up` was asked for
 *   FRONTED<n>   plaintext                         clients that come by way of a proxy
 *   CONTROLLER   plaintext                         the quorum
 *
 * Replication is what people run: three copies, of which two must be in sync to write.
 */

import { type ClientSecurity, protocolOf, securitySettings } from "./security.ts";
import { brokerSettings, type Fronted, type KafkaSettings } from "./settings.ts";

export interface NodeListeners {
  readonly internal: string;
  readonly client: string;
  readonly controller: string;
  readonly fronted: readonly Fronted[];
}

export interface ClusterNodeOptions {
  /** From 1. */
  readonly id: number;
  readonly listeners: NodeListeners;
  /** Controllers of all nodes, by id. */
  readonly controllers: readonly string[];
  readonly security: ClientSecurity;
  readonly dataDirectory: string;
}

const REPLICAS = 3;
const IN_SYNC_MIN = 2;

export function clusterNodeSettings(node: ClusterNodeOptions): KafkaSettings {
  const { id, listeners, controllers, security, dataDirectory } = node;
  const { internal, client, controller } = listeners;
  const fronted = listeners.fronted.map((each, index) => ({ ...each, name: `FRONTED${index}` }));
  const clients = [
    { name: "INTERNAL", advertised: internal, client: internal },
    { name: "CLIENT", advertised: client, client },
    ...fronted,
  ];
  const bound = [...clients, { name: "CONTROLLER", client: controller }];
  const protocol = (name: string) => (name === "CLIENT" ? protocolOf(security) : "PLAINTEXT");
  const replicas = `${Math.min(REPLICAS, controllers.length)}`;
  const inSync = `${Math.min(IN_SYNC_MIN, controllers.length)}`;
  const alone = brokerSettings({ advertised: client, client, controller }, dataDirectory);
  return {
    ...alone,
    "node.id": `${id}`,
    listeners: bound.map(({ name, client: at }) => `${name}://${at}`).join(),
    "advertised.listeners": clients.map(({ name, advertised }) => `${name}://${advertised}`).join(),
    "listener.security.protocol.map": bound.map(({ name }) => `${name}:${protocol(name)}`).join(),
    "inter.broker.listener.name": "INTERNAL",
    "controller.quorum.voters": controllers.map((at, index) => `${index + 1}@${at}`).join(),

    "default.replication.factor": replicas,
    "min.insync.replicas": inSync,
    "offsets.topic.replication.factor": replicas,
    "transaction.state.log.replication.factor": replicas,
    "transaction.state.log.min.isr": inSync,
    "share.coordinator.state.topic.replication.factor": replicas,
    "share.coordinator.state.topic.min.isr": inSync,
    // Leaders move when a test says so, and when their broker goes.
    "auto.leader.rebalance.enable": "false",
    ...securitySettings("CLIENT", security),
  };
}
