/**
 * Decides to which addresses webhooks may be sent: to public addresses, and to addresses in networks that the
 * configuration allows.
 *
 *   address                                             allowed
 *   in a network of `allowNetworks`                     yes
 *   IPv4, globally routed                               yes
 *   IPv4 in any special range, 168.63.129.16 (Azure)    no
 *   IPv6 in 2000::/3 and not in a special range         yes
 *   IPv6 that represents an IPv4 address                if that IPv4 address is
 *     ::ffff:a.b.c.d  64:ff9b::a.b.c.d  2002:aabb:ccdd::
 *   any other IPv6 (loopback, fe80::/10, fc00::/7, ...) no
 *   anything that is not an IP address                  no
 *
 * The code lists the ranges that are allowed, so any range that is not listed is blocked. Host names are not checked
 * here; the address to which the socket actually connects is checked instead.
 */

import ipaddr from "ipaddr.js";

/** A network in CIDR notation that `parseNetwork` has parsed. */
export interface Network {
  /** The network as it was written, such as `10.0.0.0/8`. */
  readonly text: string;
  readonly bytes: readonly number[];
  /** The number of leading bits that all addresses in the network have in common. */
  readonly prefixBits: number;
}

type IpAddress = ipaddr.IPv4 | ipaddr.IPv6;

/** Azure serves the metadata of virtual machines at this address, which is in a public range. */
const AZURE_HOST = "168.63.129.16";

const RANGE_WORDS: Readonly<Record<string, string>> = {
  carrierGradeNat: "carrier-grade NAT",
  linkLocal: "link-local",
  uniqueLocal: "private",
};

/** @returns null if the string is not a network such as `10.0.0.0/8`, `::1/128` or a single address. */
export function parseNetwork(text: string): Network | null {
  const [address = "", prefix, ...rest] = text.split("/");
  const parsed = parseAddress(address);
  if (parsed === null || rest.length > 0 || address.includes("%")) return null;
  const bytes = parsed.toByteArray();
  if (prefix === undefined) return { text, bytes, prefixBits: bytes.length * 8 };
  if (!/^\d{1,3}$/.test(prefix) || Number(prefix) > bytes.length * 8) return null;
  return { text, bytes, prefixBits: Number(prefix) };
}

/** @param ip IPv4 with dots or IPv6, as a socket reports it; a zone (`%eth0`) may follow. */
export function isAllowedAddress(ip: string, allowNetworks: readonly Network[]): boolean {
  const address = parseAddress(ip);
  if (address === null) return false;
  const forms = [address, embedded(address)].filter((form) => form !== null);
  if (forms.some((form) => allowNetworks.some((network) => contains(network, form)))) return true;
  return rangeOf(address) === "public";
}

/** Names the kind of an address in one or two words for messages, such as `public`, `loopback` or `private`. */
export function addressRange(ip: string): string {
  const address = parseAddress(ip);
  return address === null ? "not an IP address" : rangeOf(address);
}

/**
 * The IP address that is the host of a URL, or null if the host is a name. The URL parser has already turned
 * `0x7f.1`, `2130706433` and `0177.0.0.1` into `127.0.0.1`.
 *
 * @param hostname the host of a parsed URL, so IPv6 is in brackets.
 */
export function literalAddress(hostname: string): string | null {
  const bare = withoutBrackets(hostname);
  return parseAddress(bare) === null ? null : bare;
}

/**
 * Removes the brackets that an IPv6 address has in URLs and before ports; sockets need the address without brackets.
 */
export function withoutBrackets(host: string): string {
  return host.startsWith("[") && host.endsWith("]") ? host.slice(1, -1) : host;
}

/** HOST:PORT of an admin port. IPv6 is in brackets, with a zone if it is link-local. */
export const ADMIN_ADDRESS = /^(?:[\w.-]+|\[[\da-fA-F:.]+(?:%[\w.-]+)?\]):\d{1,5}$/;

function parseAddress(text: string): IpAddress | null {
  if (ipaddr.IPv4.isValidFourPartDecimal(text)) return ipaddr.IPv4.parse(text);
  const [withoutZone = "", zone] = text.split("%", 2);
  // The URL parser is used because ipaddr.js wrongly reads `::8.8.8.8` as `::ffff:8.8.8.8`.
  const url = `http://[${withoutZone}]/`;
  if (!/^[\da-f:.]+$/i.test(withoutZone) || zone === "" || !URL.canParse(url)) return null;
  return ipaddr.IPv6.parse(new URL(url).hostname.slice(1, -1));
}

function rangeOf(address: IpAddress): string {
  const inner = embedded(address);
  if (inner !== null) return rangeOf(inner);
  if (address.toString() === AZURE_HOST) return "cloud metadata";
  const range: string = address.range();
  if (range !== "unicast") return RANGE_WORDS[range] ?? range;
  const [first = 0] = address.toByteArray();
  return address.kind() === "ipv4" || first >> 5 === 0b001 ? "public" : "reserved";
}

/** The IPv4 address to which packets for this IPv6 address are finally sent. */
function embedded(address: IpAddress): ipaddr.IPv4 | null {
  if (!(address instanceof ipaddr.IPv6)) return null;
  const bytes = address.toByteArray();
  const hex = Buffer.from(bytes).toString("hex");
  if (hex.startsWith("00000000000000000000ffff")) return new ipaddr.IPv4(bytes.slice(12));
  if (hex.startsWith("0064ff9b0000000000000000")) return new ipaddr.IPv4(bytes.slice(12));
  if (hex.startsWith("2002")) return new ipaddr.IPv4(bytes.slice(2, 6));
  return null;
}

function contains(network: Network, address: IpAddress): boolean {
  const bytes = address.toByteArray();
  if (bytes.length !== network.bytes.length) return false;
  return network.bytes.every((byte, index) => {
    const bits = Math.min(Math.max(network.prefixBits - index * 8, 0), 8);
    return (byte ^ (bytes[index] ?? 0)) >> (8 - bits) === 0;
  });
}
