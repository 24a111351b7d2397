/**
 * Lets one of our clients use the connections of others. kafkajs creates a pool of connections for each
 * client and broker; for a client that is registered here, our code creates it. A client is recognized
 * by its socket factory, which kafkajs passes on to each pool.
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

/** kafkajs' own pool: connections of one client to one broker, one of them only for fetches. */
export interface OwnPool {
  setVersions(versions: unknown): void;
  setSupportAuthenticationProtocol(isSupported: boolean): void;
  send(protocol: unknown): Promise<unknown>;
  destroy(): Promise<void>;
}

type CreatePool = (options: PoolOptions, createOwn: () => OwnPool) => object;

const createOf = new WeakMap<object, CreatePool>();

/** From now on the client with this socket factory has such pools. */
export function usePools(socketFactory: object, create: CreatePool): void {
  createOf.set(socketFactory, create);
}

export const connectionPools: Replacement = {
  name: "shared-connections",
  module: "src/network/connectionPool.js",
  replace: (load) => {
    const Original = load("src/network/connectionPool.js") as new (options: PoolOptions) => OwnPool;
    // Called with `new`, which returns what the function returns.
    return function ConnectionPool(options: PoolOptions): object {
      const createOwn = (): OwnPool => new Original(options);
      return createOf.get(options.socketFactory)?.(options, createOwn) ?? createOwn();
    };
  },
};
