/**
 * The internals of kafkajs that the code in this folder uses directly, with types. kafkajs' connections are used to
 * send requests that kafkajs' producer and admin client do not support.
 *
 * Responses are decoded, but not passed to kafkajs' own `parse`, which throws the first partition's error, so that the
 * information about which partitions succeeded is lost.
 */

import type { Socket } from "node:net";

import type { Kafka } from "kafkajs";

import { encodeProduce, type ProduceRequest } from "../wire/encode-produce.ts";
import type { BrokerVersions } from "../wire/request-version.ts";
import { loadInternal } from "./kafkajs.ts";

export interface Protocol {
  readonly request: unknown;
  readonly response: {
    readonly decode: (payload: Buffer) => Promise<unknown>;
    readonly parse?: (decoded: unknown) => Promise<unknown>;
  };
  /** In milliseconds; by default the connection's. */
  readonly requestTimeout?: number;
}

/** Builds the fields of a request, big-endian. Arrays contain encoders or plain values. */
export interface Encoder {
  writeInt8(value: number): this;
  writeInt32(value: number): this;
  writeString(value: string | null): this;
  writeBoolean(value: boolean): this;
  writeArray(values: readonly Encoder[]): this;
  readonly buffer: Buffer;
}

export interface Decoder {
  readInt8(): number;
  readInt16(): number;
  readInt32(): number;
  readString(): string | null;
  readArray<Item>(read: (decoder: Decoder) => Item): Item[];
}

interface Definition {
  readonly versions: readonly string[];
  readonly protocol: (choice: { readonly version: number }) => (options: object) => Protocol;
}

export interface Connection {
  readonly clientId: string;
  readonly sasl: unknown;
  readonly socket?: Socket;
  readonly requestQueue: {
    /** Requests that are not sent yet. */
    readonly pending: readonly unknown[];
    /** `true` if the latest response had a throttle time. */
    readonly isThrottled: boolean;
    /** In epoch milliseconds. */
    readonly throttledUntil: number;
    push(request: object): void;
  };
  nextCorrelationId(): number;
  isAuthenticated(): boolean;
  /** Set while an authentication waits for a response. */
  readonly authHandlers: { onError(): void } | null;
  isConnected(): boolean;
  rejectRequests(error: Error): void;
  send(protocol: Protocol): Promise<unknown>;
}

export type Versions = BrokerVersions;

export interface Broker {
  readonly connectionPool: {
    readonly host: string;
    readonly port: number;
    readonly pool: readonly Connection[];
    send(protocol: Protocol): Promise<unknown>;
  };
  /** Null before the first connection. */
  readonly versions: Versions | null;
  isConnected(): boolean;
  connect(): Promise<void>;
  disconnect(): Promise<void>;
  readonly lookupRequest: (apiKey: number, definition: Definition) => (options: object) => Protocol;
}

export interface BrokerPool {
  /** Set by `connect`. */
  readonly seedBroker: Broker;
  readonly versions: unknown;
  readonly rootLogger: unknown;
  readonly connectionPoolBuilder: {
    build(to: { readonly host: string; readonly port: number }): Promise<unknown>;
  };
  connect(): Promise<void>;
  disconnect(): Promise<void>;
  /** Switches to the next address in the list. */
  createSeedBroker(): Promise<void>;
  createBroker(options: object): Broker;
}

type Logger = ReturnType<Kafka["logger"]>;

interface ClusterOptions {
  readonly logger: Logger;
  readonly socketFactory: unknown;
  readonly brokers: readonly string[];
  readonly ssl: unknown;
  readonly sasl: unknown;
  readonly clientId: string;
  readonly connectionTimeout: number;
  readonly authenticationTimeout: number;
  readonly reauthenticationThreshold: number;
  readonly requestTimeout: number;
  readonly enforceRequestTimeout: boolean;
  readonly allowAutoTopicCreation: boolean;
  readonly retry: object;
}

const { requests } = loadInternal("src/protocol/requests/index.js") as {
  readonly requests: Readonly<Record<string, Definition>>;
};
const apiKeys = loadInternal("src/protocol/requests/apiKeys.js") as Readonly<
  Record<string, number>
>;
const ClusterClass = loadInternal("src/cluster/index.js") as new (
  options: ClusterOptions,
) => { readonly brokerPool: BrokerPool };
export const { createErrorFromCode } = loadInternal("src/protocol/error.js") as {
  createErrorFromCode(code: number): Error & { readonly type: string; readonly retriable: boolean };
};

export const Encoder = loadInternal("src/protocol/encoder.js") as new () => Encoder;
export const Decoder = loadInternal("src/protocol/decoder.js") as new (payload: Buffer) => Decoder;

/** Connections to a cluster, without kafkajs' list of target topics (a single bad topic breaks that list). */
export function brokerPool(options: ClusterOptions): BrokerPool {
  return new ClusterClass(options).brokerPool;
}

const { KafkaJSConnectionClosedError } = loadInternal("src/errors.js") as {
  readonly KafkaJSConnectionClosedError: new (message: string) => Error;
};

/**
 * Abandons the connections to a broker that does not respond; requests on them fail immediately. kafkajs' own
 * `disconnect` waits for the responses without a limit, because its check for timeouts stops when the
 * connection is closed.
 */
export function cutOff(broker: Broker): void {
  for (const connection of broker.connectionPool.pool) {
    connection.authHandlers?.onError();
    connection.rejectRequests(new KafkaJSConnectionClosedError("The broker did not respond"));
    connection.socket?.destroy();
  }
  broker.disconnect().catch(() => undefined);
}

/** Makes the pool use the next address in its list, and cuts off the connections to the previous broker. */
export async function nextSeed(pool: BrokerPool): Promise<void> {
  // There is no broker before the first connection.
  const before = pool.seedBroker as Broker | undefined;
  if (before !== undefined) cutOff(before);
  await pool.createSeedBroker();
}

/** The requests that kafkajs encodes, by kafkajs' names. */
export type RequestName =
  | "CreateTopics"
  | "DeleteTopics"
  | "DescribeConfigs"
  | "GroupCoordinator"
  | "InitProducerId"
  | "JoinGroup"
  | "LeaveGroup"
  | "ListOffsets"
  | "Metadata"
  | "OffsetCommit"
  | "OffsetFetch"
  | "Produce"
  | "SyncGroup";

/** Sends a request and returns the response as decoded, including error codes. */
export async function request<Decoded>(
  broker: Broker,
  name: RequestName,
  options: object,
): Promise<Decoded> {
  return await sendRequest(broker, protocolOf(broker, name, options).protocol);
}

/** The request in the highest version that the broker accepts. Its response is returned as decoded. */
export function protocolOf(
  broker: Broker,
  name: RequestName,
  options: object,
): { readonly apiKey: number; readonly protocol: Protocol } {
  const definition = requests[name];
  const apiKey = apiKeys[name];
  if (definition === undefined || apiKey === undefined) throw new Error(`kafkajs lacks ${name}`);
  return { apiKey, protocol: asDecoded(broker.lookupRequest(apiKey, definition)(options)) };
}

function asDecoded(protocol: Protocol): Protocol {
  const { decode } = protocol.response;
  return { ...protocol, response: { decode, parse: async (decoded: unknown) => decoded } };
}

export async function sendRequest<Decoded>(broker: Broker, protocol: Protocol): Promise<Decoded> {
  return (await broker.connectionPool.send(asDecoded(protocol))) as Decoded;
}

/**
 * Sends our producer's requests, which `wire/encode-produce.ts` encodes: kafkajs grows a buffer for every record,
 * and computes CRC-32C in JavaScript. Versions 3 to 7 have the same bytes.
 */
export async function sendProduce<Decoded>(
  broker: Broker,
  produce: ProduceRequest,
): Promise<Decoded> {
  const { protocol } = protocolOf(broker, "Produce", produce);
  const encode = async (roomBytes = 0) => ({
    buffer: encodeProduce(produce, roomBytes),
    roomBytes,
  });
  const request = { ...(protocol.request as object), encode };
  return await sendRequest(broker, { ...protocol, request });
}
