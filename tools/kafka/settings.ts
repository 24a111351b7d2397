/**
 * The settings of one node of a local Kafka, for Java and for Docker. Every node is a broker
 * and a controller, so that two of three nodes continue if one fails.
 *
 *   listener     protocol                  for
 *   PLAINTEXT    plaintext                 clients, and connections between nodes
 *   CLIENT       SSL, SASL_..., both       clients, if `kafka up` was started with --tls or --sasl
 *   FRONTED<n>   plaintext                 clients that connect through a proxy
 *   CONTROLLER   plaintext                 the quorum
 *
 * Replication is as in production: three replicas, two of which must be in sync, if there are enough
 * nodes. The other settings make Kafka quick to start and small on disk, and suit tests with many groups and
 * topics. Do not use them in production.
 */

import { type ClientSecurity, isPlain, protocolOf, securitySettings } from "./security.ts";

/** The version for all tests. `npm run test:kafka-versions` tests others (`tested-versions.ts`). */
export const KAFKA_VERSION_DEFAULT = "4.3.1";
export const KAFKA_VERSION = process.env.SWITCHYARD_KAFKA_VERSION || KAFKA_VERSION_DEFAULT;

export type KafkaSettings = Readonly<Record<string, string>>;

export interface Listener {
  /** `host:port` that the broker advertises to clients. */
  readonly advertised: string;
  /** `host:port` that the broker binds. */
  readonly bound: string;
}

export interface NodeOptions {
  /** The first node is 1. */
  readonly id: number;
  readonly plaintext: Listener;
  /** The listener with `security`. */
  readonly client: Listener;
  /** One additional listener per proxy. */
  readonly fronted: readonly Listener[];
  /** The controllers of all nodes by ID. */
  readonly controllers: readonly string[];
  readonly security: ClientSecurity;
  readonly dataDirectory: string;
}

const REPLICAS = 3;
const IN_SYNC_MIN = 2;

export function nodeSettings(node: NodeOptions): KafkaSettings {
  const { id, controllers, security, dataDirectory } = node;
  const clients = [
    { name: "PLAINTEXT", ...node.plaintext },
    ...(isPlain(security) ? [] : [{ name: "CLIENT", ...node.client }]),
    ...node.fronted.map((each, index) => ({ name: `FRONTED${index}`, ...each })),
  ];
  const all = [...clients, { name: "CONTROLLER", bound: controllers[id - 1] }];
  const protocol = (name: string) => (name === "CLIENT" ? protocolOf(security) : "PLAINTEXT");
  const replicas = `${Math.min(REPLICAS, controllers.length)}`;
  const inSync = `${Math.min(IN_SYNC_MIN, controllers.length)}`;
  return {
    "process.roles": "broker,controller",
    "node.id": `${id}`,
    listeners: all.map(({ name, bound }) => `${name}://${bound}`).join(),
    "advertised.listeners": clients.map(({ name, advertised }) => `${name}://${advertised}`).join(),
    "listener.security.protocol.map": all.map(({ name }) => `${name}:${protocol(name)}`).join(),
    "controller.listener.names": "CONTROLLER",
    "controller.quorum.voters": controllers.map((at, index) => `${index + 1}@${at}`).join(),
    "log.dirs": dataDirectory,

    "default.replication.factor": replicas,
    "min.insync.replicas": inSync,
    "offsets.topic.replication.factor": replicas,
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.replication.factor": replicas,
    "transaction.state.log.min.isr": inSync,
    "transaction.state.log.num.partitions": "4",
    "share.coordinator.state.topic.replication.factor": replicas,
    "share.coordinator.state.topic.min.isr": inSync,
    "share.coordinator.state.topic.num.partitions": "1",

    "auto.create.topics.enable": "false",
    // Leaders move only if a test requests it, or if their broker stops.
    "auto.leader.rebalance.enable": "false",
    // A killed broker can return only after its session has expired, which takes 9 s by default.
    "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "500",
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "1000",
    "log.segment.bytes": "67108864",
    "log.index.size.max.bytes": "1048576",
    "log.cleaner.dedupe.buffer.size": "16777216",
    "num.network.threads": "2",
    "num.io.threads": "4",
    ...securitySettings("CLIENT", security),
  };
}

/** Returns the settings as a Java properties file. */
export function propertiesText(settings: KafkaSettings): string {
  const lines = Object.entries(settings).map(([key, value]) => `${key}=${escaped(value)}`);
  return `${lines.join("\n")}\n`;
}

/** Escapes backslashes, line ends and characters outside ASCII, for example in a path. */
function escaped(value: string): string {
  return value
    .trim()
    .replaceAll("\\", "\\\\")
    .replaceAll("\n", "\\n")
    .replace(
      /[^\x20-\x7e]/g,
      (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
    );
}

/** Returns the settings as environment variables of the image `apache/kafka`. */
export function imageEnvironment(settings: KafkaSettings): Record<string, string> {
  return Object.fromEntries(
    Object.entries(settings).map(([key, value]) => [
      `KAFKA_${key.replaceAll("-", "___").replaceAll(".", "_").toUpperCase()}`,
      value,
    ]),
  );
}
