/**
 * Lets our clients share connections. kafkajs normally creates a pool of connections for each client and broker; for a
 * client that is registered here, our code creates the pool. A client is recognized by its socket factory, which
 * kafkajs passes on to each pool.
 */

import type { Replacement } from "./load-kafkajs.ts";

export interface PoolOptions {
  readonly host: string;
  readonly port: number;
  readonly rack: string | null | undefined;
  readonly sasl: unknown;
  readonly connectionTimeout: number;
  readonly socketFactory: object;
}

/** kafkajs' own pool: the connections of one client to one broker. One of them is only for fetches. */
export interface OwnPool {
  setVersions(versions: unknown): void;
  setSupportAuthenticationProtocol(isSupported: boolean): void;
  send(protocol: unknown): Promise<unknown>;
  destroy(): Promise<void>;
}

type CreatePool = (options: PoolOptions, createOwn: () => OwnPool) => object;

const createOf = new WeakMap<object, CreatePool>();

/** Makes `create` create the pools of the client with this socket factory. */
export function usePools(socketFactory: object, create: CreatePool): void {
  createOf.set(socketFactory, create);
}

export const connectionPools: Replacement = {
  name: "shared-connections",
  module: "src/network/connectionPool.js",
  replace: (load) => {
    const Original = load("src/network/connectionPool.js") as new (options: PoolOptions) => OwnPool;
    // kafkajs calls this with `new`, which evaluates to the returned object.
    return function ConnectionPool(options: PoolOptions): object {
      const createOwn = (): OwnPool => new Original(options);
      return createOf.get(options.socketFactory)?.(options, createOwn) ?? createOwn();
    };
  },
};
