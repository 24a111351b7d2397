/**
 * The settings of one node of a local Kafka, the same for Java and for Docker. Every node is a broker
 * and a controller, so that two of three go on when any one dies.
 *
 *   listener     protocol                  for
 *   PLAINTEXT    plaintext                 clients, and the nodes among themselves
 *   CLIENT       SSL, SASL_..., both       clients, when that is what `kafka up` was asked for
 *   FRONTED<n>   plaintext                 clients that come by way of a proxy
 *   CONTROLLER   plaintext                 the quorum
 *
 * Replication is what people run: three copies, of which two must be in sync to write, as far as there
 * are nodes. The rest makes it quick to start, small on disk and kind to tests with many groups and
 * topics; nothing here is advice for production.
 */

import { type ClientSecurity, isPlain, protocolOf, securitySettings } from "./security.ts";

/** All tests run with it. `npm run test:kafka-versions` tests others (`tested-versions.ts`). */
export const KAFKA_VERSION_DEFAULT = "4.3.1";
export const KAFKA_VERSION = process.env.SWITCHYARD_KAFKA_VERSION || KAFKA_VERSION_DEFAULT;

export type KafkaSettings = Readonly<Record<string, string>>;

export interface Listener {
  /** `host:port`; the broker tells it to clients. */
  readonly advertised: string;
  /** What the broker binds, `host:port`. */
  readonly bound: string;
}

export interface NodeOptions {
  /** From 1. */
  readonly id: number;
  readonly plaintext: Listener;
  /** With `security`. */
  readonly client: Listener;
  /** One more listener for each proxy. */
  readonly fronted: readonly Listener[];
  /** Controllers of all nodes, by id. */
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
    // Leaders move when a test says so, and when their broker goes.
    "auto.leader.rebalance.enable": "false",
    // A killed broker may come back only when its old session is over: 9 s by default.
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

/** As a Java properties file. */
export function propertiesText(settings: KafkaSettings): string {
  const lines = Object.entries(settings).map(([key, value]) => `${key}=${escaped(value)}`);
  return `${lines.join("\n")}\n`;
}

/** Backslashes, ends of lines and what is not ASCII, as in a path, would be read as something else. */
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

/** As the environment that the image `apache/kafka` turns into settings. */
export function imageEnvironment(settings: KafkaSettings): Record<string, string> {
  return Object.fromEntries(
    Object.entries(settings).map(([key, value]) => [
      `KAFKA_${key.replaceAll("-", "___").replaceAll(".", "_").toUpperCase()}`,
      value,
    ]),
  );
}
