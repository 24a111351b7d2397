/**
 * The settings of a local one-node Kafka, the same for Java and for Docker. `cluster-settings.ts`
 * has what several nodes need beside them.
 *
 * One node cannot replicate, hence the factors of 1. The rest makes it quick to start, small on
 * disk and kind to tests with many groups and topics; nothing here is advice for production.
 */

/** All tests run with it. `npm run test:kafka-versions` tests others (`tested-versions.ts`). */
export const KAFKA_VERSION_DEFAULT = "4.3.1";
export const KAFKA_VERSION = process.env.SWITCHYARD_KAFKA_VERSION || KAFKA_VERSION_DEFAULT;

export type KafkaSettings = Readonly<Record<string, string>>;

export interface Listeners {
  /** Where clients connect, `host:port`; the broker tells it to them. */
  readonly advertised: string;
  /** What the broker binds, `host:port`. */
  readonly client: string;
  readonly controller: string;
  /** One more listener for each, for clients that come by way of a proxy. */
  readonly fronted?: readonly Fronted[];
}

export interface Fronted {
  /** The proxy's address, `host:port`; the broker tells it to clients that come this way. */
  readonly advertised: string;
  /** What the broker binds, `host:port`. */
  readonly client: string;
}

export function brokerSettings(listeners: Listeners, dataDirectory: string): KafkaSettings {
  const fronted = (listeners.fronted ?? []).map((each, index) => ({
    ...each,
    name: `FRONTED${index}`,
  }));
  const clients = [{ name: "PLAINTEXT", ...listeners }, ...fronted];
  const bound = [...clients, { name: "CONTROLLER", client: listeners.controller }];
  return {
    "process.roles": "broker,controller",
    "node.id": "1",
    listeners: bound.map(({ name, client }) => `${name}://${client}`).join(),
    "advertised.listeners": clients.map(({ name, advertised }) => `${name}://${advertised}`).join(),
    "listener.security.protocol.map": bound.map(({ name }) => `${name}:PLAINTEXT`).join(),
    "controller.listener.names": "CONTROLLER",
    "log.dirs": dataDirectory,

    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "4",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "share.coordinator.state.topic.num.partitions": "1",

    "auto.create.topics.enable": "false",
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
