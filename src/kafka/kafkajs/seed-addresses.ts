/**
 * The configured addresses, one after the other, as host and port. kafkajs cuts them at the first
 * colon, which an IPv6 address has many of.
 */

import { type Address, addressOf } from "./address.ts";
import type { Replacement } from "./load-kafkajs.ts";

interface Options {
  readonly brokers: readonly string[];
}

interface Builder {
  /** Without an address: of the next one that is configured. */
  build(to?: Partial<Address>): Promise<unknown>;
}

export const seedAddresses: Replacement = {
  name: "seed-addresses",
  module: "src/cluster/connectionPoolBuilder.js",
  replace: (load) => {
    const Original = load("src/cluster/connectionPoolBuilder.js") as (options: Options) => Builder;
    return (options: Options): Builder => {
      const { brokers } = options;
      const builder = Original(options);
      let next = 0;
      const nextSeed = () => addressOf(brokers[next++ % brokers.length] ?? "");
      return { build: (to = {}) => builder.build(to.host ? to : nextSeed()) };
    };
  },
};
