/**
 * Creates kafkajs' brokers from plain values. kafkajs' cluster, admin, producer and consumer are not used. The timeouts
 * here apply to all requests on the brokers' connections.
 */

import type net from "node:net";
import type tls from "node:tls";

import type { LogEntry, SASLOptions } from "kafkajs";

import type { Address } from "./address.ts";
import type { Broker, CreateBroker } from "./internals.ts";
import { loadInternal, logLevel } from "./kafkajs.ts";
import { NegotiatingBroker } from "./request-versions.ts";

/** An attempt to connect that takes longer than this counts as failed. */
export const CONNECTION_LIMIT_MS = 5_000;
const AUTHENTICATION_LIMIT_MS = 10_000;
const REQUEST_LIMIT_MS = 30_000;

export type SaslOptions = SASLOptions;

export interface SocketRequest {
  readonly host: string;
  readonly port: number;
  readonly ssl: tls.ConnectionOptions | undefined;
  readonly onConnect: () => void;
}

interface BrokerOptions {
  readonly clientId: string;
  readonly tls: tls.ConnectionOptions | undefined;
  readonly sasl: SaslOptions | undefined;
  readonly openSocket: (request: SocketRequest) => net.Socket;
  readonly isDebug: boolean;
  readonly onLog: (entry: LogEntry) => void;
}

const { createLogger } = loadInternal("src/loggers/index.js") as {
  createLogger(options: { readonly level: number; readonly logCreator: () => unknown }): Logger;
};
const ConnectionPool = loadInternal("src/network/connectionPool.js") as new (
  options: object,
) => Broker["connectionPool"];

interface Logger {
  namespace(name: string): Logger;
}

export function brokerFactory(options: BrokerOptions): CreateBroker {
  const { clientId, tls: ssl, sasl, openSocket, isDebug, onLog } = options;
  const level = isDebug ? logLevel.DEBUG : logLevel.ERROR;
  const logger = createLogger({ level, logCreator: () => onLog });
  return ({ host, port }: Address) => {
    const connectionPool = new ConnectionPool({
      host,
      port,
      ssl,
      sasl,
      clientId,
      logger,
      socketFactory: openSocket,
      connectionTimeout: CONNECTION_LIMIT_MS,
      requestTimeout: REQUEST_LIMIT_MS,
      enforceRequestTimeout: true,
    });
    const authenticationTimeout = AUTHENTICATION_LIMIT_MS;
    return new NegotiatingBroker({ connectionPool, logger, authenticationTimeout });
  };
}
