/**
 * Lets a client of ours use connections of others. kafkajs makes a pool of connections for each
 * client and broker; for a client that is known here somebody else makes it. A client is recognised
 * by its socket factory, which kafkajs hands on to each pool.
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

/** kafkajs' own pool: connections of one client to one broker, one of them for fetches alone. */
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
    // Called with `new`, which gives what a function returns.
    return function ConnectionPool(options: PoolOptions): object {
      const createOwn = (): OwnPool => new Original(options);
      return createOf.get(options.socketFactory)?.(options, createOwn) ?? createOwn();
    };
  },
};
