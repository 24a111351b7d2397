/**
 * Creates a kafkajs client from plain values. The timeouts and retries here apply to kafkajs' own requests and
 * to our requests on its connections.
 */

import type net from "node:net";
import type tls from "node:tls";

import type { Admin, Kafka as KafkaClient, LogEntry, SASLOptions } from "kafkajs";

import { type BrokerPool, brokerPool } from "./internals.ts";
import { Kafka, logLevel } from "./kafkajs.ts";

/** An attempt to connect that takes longer than this counts as failed. */
export const CONNECTION_LIMIT_MS = 5_000;
const AUTHENTICATION_LIMIT_MS = 10_000;
const REQUEST_LIMIT_MS = 30_000;

/** Waits 0.3, 0.6, 1.2, 2, 2, ... seconds, so that a restarted broker is tried again. */
const RETRY = { initialRetryTime: 300, maxRetryTime: 2_000, retries: 8 };

export type SaslOptions = SASLOptions;
/** kafkajs' admin client, used only for the requests that it handles correctly. */
export type DriverAdmin = Admin;

export interface SocketRequest {
  readonly host: string;
  readonly port: number;
  readonly ssl: tls.ConnectionOptions | undefined;
  readonly onConnect: () => void;
}

interface ClientOptions {
  readonly brokers: readonly string[];
  readonly clientId: string;
  readonly tls: tls.ConnectionOptions | undefined;
  readonly sasl: SaslOptions | undefined;
  /** How often kafkajs retries each step; by default, often enough to outlast a broker's restart. */
  readonly retries?: number | undefined;
  readonly openSocket: (request: SocketRequest) => net.Socket;
  readonly isDebug: boolean;
  readonly onLog: (entry: LogEntry) => void;
}

export interface DriverClient {
  /** Only code in this folder may create consumers with this client. */
  readonly kafka: KafkaClient;
  admin(): DriverAdmin;
  /** A new pool of connections with this client's settings. */
  brokerPool(): BrokerPool;
}

export function createClient(options: ClientOptions): DriverClient {
  const { brokers, clientId, tls: ssl, sasl, openSocket, isDebug, onLog } = options;
  const retry = { ...RETRY, retries: options.retries ?? RETRY.retries };
  const kafka = new Kafka({
    brokers: [...brokers],
    clientId,
    ...(ssl === undefined ? {} : { ssl }),
    ...(sasl === undefined ? {} : { sasl }),
    connectionTimeout: CONNECTION_LIMIT_MS,
    authenticationTimeout: AUTHENTICATION_LIMIT_MS,
    requestTimeout: REQUEST_LIMIT_MS,
    retry,
    socketFactory: openSocket,
    logLevel: isDebug ? logLevel.DEBUG : logLevel.ERROR,
    logCreator: () => onLog,
  });
  return {
    kafka,
    admin: () => kafka.admin(),
    brokerPool: () =>
      brokerPool({
        logger: kafka.logger(),
        socketFactory: openSocket,
        brokers,
        ssl,
        sasl,
        clientId,
        connectionTimeout: CONNECTION_LIMIT_MS,
        authenticationTimeout: AUTHENTICATION_LIMIT_MS,
        reauthenticationThreshold: 10_000,
        requestTimeout: REQUEST_LIMIT_MS,
        enforceRequestTimeout: true,
        allowAutoTopicCreation: false,
        retry,
      }),
  };
}
