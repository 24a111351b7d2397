/**
 * Resolves the addresses of admin ports.
 *
 *   the host                                                  requests go to
 *   is an IP address, has only one, or cannot be resolved     the host, as it is written
 *   has several IP addresses, such as a headless Service      each of them
 *   ... and one of them is this machine's, and the list       the others, so that this process is not
 *       also contains `127.0.0.1` with the same port          requested twice
 *
 * Only addresses of the same kind as the first one are used, because a name such as `localhost` can have both an IPv4
 * and an IPv6 address of the same machine.
 */

import { type LookupAddress, promises } from "node:dns";
import { isIP } from "node:net";
import { networkInterfaces } from "node:os";

import { hostAndPort } from "../../runtime/listening.ts";

const OWN = "127.0.0.1";
const ADDRESS = /^(.*):(\d+)$/;

type Lookup = (name: string) => Promise<readonly LookupAddress[]>;

const systemLookup: Lookup = (name) => promises.lookup(name, { all: true });

/** Never rejects. @param lookUp resolves a name. Tests replace this function, and the addresses of this machine. */
export async function everyAddress(
  addresses: readonly string[],
  lookup: Lookup = systemLookup,
  mine: readonly string[] = ownAddresses(),
): Promise<readonly string[]> {
  const asked = await Promise.all(
    addresses.map(async (address) => {
      const [, host = "", port = ""] = ADDRESS.exec(address) ?? [];
      if (host === "" || host.startsWith("[") || isIP(host) !== 0) return [address];
      const all = await lookup(host).catch((): readonly LookupAddress[] => []);
      const found = all.filter(({ family }) => family === all[0]?.family);
      if (found.length < 2) return [address];
      const isAsked = addresses.includes(hostAndPort(OWN, Number(port)));
      return found
        .filter((each) => !(isAsked && mine.includes(each.address)))
        .map((each) => hostAndPort(each.address, Number(port)));
    }),
  );
  return [...new Set(asked.flat())];
}

function ownAddresses(): readonly string[] {
  return Object.values(networkInterfaces()).flatMap(
    (all) => all?.map(({ address }) => address) ?? [],
  );
}
