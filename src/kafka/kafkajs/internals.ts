/**
 * The internals of kafkajs that the code in this folder uses directly, with types. All requests are sent over kafkajs'
 * connections. kafkajs encodes some of them, and our code the others.
 *
 * Responses are decoded, but not passed to kafkajs' own `parse`, which throws the first partition's error and does
 * not return which partitions succeeded.
 */

import type { Socket } from "node:net";
import type { DecodeMessageSet } from "../wire/decode-records.ts";
import { encodeProduce, type ProduceRequest } from "../wire/encode-produce.ts";
import type { BrokerVersions } from "../wire/request-version.ts";
import type { Address } from "./address.ts";
import { loadInternal } from "./kafkajs.ts";

export interface Protocol {
  readonly request: { readonly apiKey: number; readonly [field: string]: unknown };
  readonly response: {
    readonly decode: (payload: Buffer) => Promise<unknown>;
    readonly parse?: (decoded: unknown) => Promise<unknown>;
  };
  /** In milliseconds; by default the connection's. */
  readonly requestTimeout?: number;
}

/** Builds the fields of a request, big-endian. */
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

export interface Connection {
  readonly clientId: string;
  readonly sasl: unknown;
  readonly socket?: Socket;
  readonly requestQueue: {
    /** Requests that are not sent yet. */
    readonly pending: readonly unknown[];
    /** `true` if the latest response had a throttle time above 0. */
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
  /** The request in the highest version that the broker accepts. @throws NoCommonVersionError */
  protocolOf(name: RequestName, options: object): Protocol;
}

/** Creates a broker object for an address, without connecting. */
export type CreateBroker = (address: Address) => Broker;

export const { createErrorFromCode } = loadInternal("src/protocol/error.js") as {
  createErrorFromCode(code: number): Error & { readonly type: string; readonly retriable: boolean };
};

export const Encoder = loadInternal("src/protocol/encoder.js") as new () => Encoder;
export const Decoder = loadInternal("src/protocol/decoder.js") as new (payload: Buffer) => Decoder;

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

/** The versions that the broker listed on its latest connection. */
export function acceptedBy({ versions }: Pick<Broker, "versions">): Versions {
  if (versions === null) throw new KafkaJSConnectionClosedError("Not connected");
  return versions;
}

/** The requests that kafkajs encodes for us, by kafkajs' names. */
export const REQUEST_NAMES = [
  "CreateTopics",
  "DeleteGroups",
  "DeleteTopics",
  "GroupCoordinator",
  "InitProducerId",
  "JoinGroup",
  "LeaveGroup",
  "Metadata",
  "OffsetCommit",
  "OffsetFetch",
  "Produce",
  "SyncGroup",
] as const;
export type RequestName = (typeof REQUEST_NAMES)[number];

/** Sends a request and returns the decoded response, including any error codes. */
export async function request<Decoded>(
  broker: Broker,
  name: RequestName,
  options: object,
): Promise<Decoded> {
  return await sendRequest(broker, protocolOf(broker, name, options));
}

/** The request in the highest version that the broker accepts. Its response is returned as decoded. */
export function protocolOf(broker: Broker, name: RequestName, options: object): Protocol {
  return asDecoded(broker.protocolOf(name, options));
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
  const protocol = broker.protocolOf("Produce", produce);
  const encode = async (roomBytes = 0) => ({
    buffer: encodeProduce(produce, roomBytes),
    roomBytes,
  });
  const request = { ...protocol.request, encode };
  return await sendRequest(broker, { ...protocol, request });
}

/** Decodes message sets of Kafka before 0.11, with kafkajs. */
const decode = loadInternal("src/protocol/messageSet/decoder.js") as (
  decoder: Decoder,
  bytes: number,
) => Promise<readonly unknown[]>;

export const messageSet: DecodeMessageSet = (records) =>
  decode(new Decoder(records), records.length);
