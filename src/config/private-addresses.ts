/**
 * Refuses endpoints whose URL names a private address that `delivery.allowNetworks` does not open:
 * every request to it would be refused. Host names are looked up when a request is made, and the
 * address connected to is judged then; only `localhost` is known before.
 */

import {
  addressRange,
  isAllowedAddress,
  literalAddress,
  type Network,
} from "../domain/addresses.ts";
import type { Path, Problem } from "./problem.ts";

const EXPECTED = "a public address, or a network that delivery.allowNetworks opens";

/** @param url complete or not; a text that is no URL at all is reported elsewhere. */
export function privateAddress(
  url: string,
  path: Path,
  allowNetworks: readonly Network[],
): readonly Problem[] {
  if (!URL.canParse(url)) return [];
  const { hostname } = new URL(url);
  const report = (found: string, network: string): Problem[] => {
    const hint = `to allow it, put ${network} into delivery.allowNetworks`;
    return [{ path, found, expected: EXPECTED, hint }];
  };
  const address = literalAddress(hostname);
  if (address !== null && !isAllowedAddress(address, allowNetworks)) {
    return report(`the address ${address} (${addressRange(address)})`, address);
  }
  if (!/^(?:.*\.)?localhost\.?$/.test(hostname)) return [];
  const isOpen = ["127.0.0.1", "::1"].some((ip) => isAllowedAddress(ip, allowNetworks));
  return isOpen ? [] : report(`${hostname} (loopback)`, "127.0.0.0/8");
}
