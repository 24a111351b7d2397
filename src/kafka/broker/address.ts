/** Parses the addresses of brokers in the configuration. */

import { withoutBrackets } from "../../domain/addresses.ts";

export interface BrokerAddress {
  /** A name or an IP address; IPv6 without brackets. */
  readonly host: string;
  readonly port: number;
}

export function addressOf(text: string): BrokerAddress {
  const colon = text.lastIndexOf(":");
  return { host: withoutBrackets(text.slice(0, colon)), port: Number(text.slice(colon + 1)) };
}
