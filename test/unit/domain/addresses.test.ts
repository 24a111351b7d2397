// Which addresses requests may use, row by row.

import { expect, test } from "vitest";

import {
  addressRange,
  isAllowedAddress,
  literalAddress,
  type Network,
  parseNetwork,
} from "../../../src/domain/addresses.ts";

function networks(...texts: string[]): Network[] {
  return texts.map((text) => {
    const network = parseNetwork(text);
    if (network === null) throw new Error(`${text} is no network`);
    return network;
  });
}

test.each([
  ["8.8.8.8", "public"],
  ["1.1.1.1", "public"],
  ["93.184.216.34", "public"],
  ["223.255.255.255", "public"],
  ["2606:4700:4700::1111", "public"],
  ["2a00:1450:4001:80b::200e", "public"],
  ["127.0.0.1", "loopback"],
  ["127.0.0.0", "loopback"],
  ["127.255.255.255", "loopback"],
  ["126.255.255.255", "public"],
  ["128.0.0.0", "public"],
  ["::1", "loopback"],
  ["0:0:0:0:0:0:0:1", "loopback"],
  ["10.0.0.0", "private"],
  ["10.255.255.255", "private"],
  ["9.255.255.255", "public"],
  ["11.0.0.0", "public"],
  ["172.15.255.255", "public"],
  ["172.16.0.0", "private"],
  ["172.31.255.255", "private"],
  ["172.32.0.0", "public"],
  ["192.168.0.1", "private"],
  ["192.167.255.255", "public"],
  ["192.169.0.0", "public"],
  ["fc00::", "private"],
  ["fd12:3456:789a::1", "private"],
  ["fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "private"],
  ["fec0::1", "deprecatedSiteLocal"],
  ["169.254.0.1", "link-local"],
  ["169.254.255.255", "link-local"],
  ["169.253.255.255", "public"],
  ["fe80::1", "link-local"],
  ["fe80::1%eth0", "link-local"],
  ["febf::1", "link-local"],
  ["100.63.255.255", "public"],
  ["100.64.0.0", "carrier-grade NAT"],
  ["100.127.255.255", "carrier-grade NAT"],
  ["100.128.0.0", "public"],
  ["224.0.0.1", "multicast"],
  ["239.255.255.255", "multicast"],
  ["ff02::1", "multicast"],
  ["ff0e::1", "multicast"],
  ["0.0.0.0", "unspecified"],
  ["0.1.2.3", "unspecified"],
  ["::", "unspecified"],
  ["255.255.255.255", "broadcast"],
  ["240.0.0.1", "reserved"],
  ["192.0.0.8", "reserved"],
  ["192.0.2.1", "reserved"],
  ["198.18.0.1", "reserved"],
  ["198.51.100.1", "reserved"],
  ["192.52.193.1", "amt"],
  ["192.31.196.1", "as112"],
  ["192.175.48.1", "as112"],
  ["2001:2::1", "benchmarking"],
  ["2001:3::1", "amt"],
  ["2001:4:112::1", "as112v6"],
  ["2620:4f:8000::1", "as112v6"],
  ["2001:10::1", "deprecatedOrchid"],
  ["2001:20::1", "orchid2"],
  ["2001:30::1", "droneRemoteIdProtocolEntityTags"],
  ["203.0.113.1", "reserved"],
  ["192.88.99.1", "reserved"],
  ["2001:db8::1", "reserved"],
  ["3fff::1", "reserved"],
  ["100::1", "discard"],
  ["4000::1", "reserved"],
  ["5f00::1", "segmentRouting"],
  // Cloud metadata: AWS, Google and others; AWS over IPv6; Google over IPv6; Alibaba; Oracle; Azure.
  ["169.254.169.254", "link-local"],
  ["fd00:ec2::254", "private"],
  ["fd20:ce::254", "private"],
  ["100.100.100.200", "carrier-grade NAT"],
  ["192.0.0.192", "reserved"],
  ["168.63.129.16", "cloud metadata"],
  // IPv6 addresses that stand for an IPv4 address.
  ["::ffff:127.0.0.1", "loopback"],
  ["::ffff:7f00:1", "loopback"],
  ["::ffff:a00:1", "private"],
  ["::ffff:169.254.169.254", "link-local"],
  ["::ffff:168.63.129.16", "cloud metadata"],
  ["::ffff:8.8.8.8", "public"],
  ["64:ff9b::7f00:1", "loopback"],
  ["64:ff9b::10.0.0.1", "private"],
  ["64:ff9b::a9fe:a9fe", "link-local"],
  ["64:ff9b::8.8.8.8", "public"],
  ["2002:7f00:1::", "loopback"],
  ["2002:c0a8:101::1", "private"],
  ["2002:a9fe:a9fe::1", "link-local"],
  ["2002:808:808::1", "public"],
  // Forms that are never needed are always blocked, whichever address they contain: local NAT64, Teredo,
  // IPv4-translated, IPv4-compatible.
  ["64:ff9b:1::8.8.8.8", "rfc6052"],
  ["64:ff9b:1::a00:1", "rfc6052"],
  ["2001:0:4136:e378:8000:63bf:80ff:fffe", "teredo"],
  ["2001:0:808:808::f7f7:f7f7", "teredo"],
  ["::ffff:0:127.0.0.1", "rfc6145"],
  ["::ffff:0:8.8.8.8", "rfc6145"],
  ["::127.0.0.1", "reserved"],
  ["::8.8.8.8", "reserved"],
  // Not an IP address, or a notation that no socket reports.
  ["", "not an IP address"],
  ["example.com", "not an IP address"],
  ["localhost", "not an IP address"],
  ["127.1", "not an IP address"],
  ["0177.0.0.1", "not an IP address"],
  ["2130706433", "not an IP address"],
  ["0x7f000001", "not an IP address"],
  ["256.0.0.1", "not an IP address"],
  ["1.2.3.4.5", "not an IP address"],
  [":::1", "not an IP address"],
])("%s is %s", (ip, range) => {
  expect(addressRange(ip)).toBe(range);
  expect(isAllowedAddress(ip, [])).toBe(range === "public");
});

test.each([
  ["127.0.0.1", "127.0.0.0/8", true],
  ["127.255.0.1", "127.0.0.0/8", true],
  ["128.0.0.1", "127.0.0.1/32", true],
  ["10.0.0.1", "127.0.0.0/8", false],
  ["::1", "127.0.0.0/8", false],
  ["::1", "::1/128", true],
  ["::1", "::1", true],
  ["::2", "::1/128", false],
  ["::ffff:127.0.0.1", "127.0.0.0/8", true],
  ["::ffff:10.1.2.3", "10.1.2.0/24", true],
  ["::ffff:10.1.3.3", "10.1.2.0/24", false],
  ["64:ff9b::10.0.0.1", "10.0.0.0/8", true],
  ["64:ff9b::10.0.0.1", "64:ff9b::/96", true],
  ["2001:0:4136:e378:8000:63bf:80ff:fffe", "2001::/32", true],
  ["172.16.5.5", "172.16.4.0/23", true],
  ["172.16.6.5", "172.16.4.0/23", false],
  ["fd00::1", "fd00::/8", true],
  ["fe80::1%eth0", "fe80::/10", true],
  ["169.254.169.254", "169.254.169.254", true],
  ["169.254.169.253", "169.254.169.254", false],
  ["192.168.1.1", "0.0.0.0/0", true],
  ["::1", "0.0.0.0/0", false],
  ["not an address", "0.0.0.0/0", false],
])("%s with %s allowed: %s", (ip, network, expected) => {
  expect(isAllowedAddress(ip, networks(network))).toBe(expected);
});

test.each([
  "",
  "/",
  "/8",
  "10.0.0.0/",
  "10.0.0.0/33",
  "10.0.0.0/-1",
  "10.0.0.0/8/8",
  "10.0.0/8",
  "10.0.0.0/8.0",
  "10.0.0.0/255.0.0.0",
  "010.0.0.0/8",
  "::/129",
  "fe80::1%eth0/64",
  "localhost/8",
])("%s is no network", (text) => {
  expect(parseNetwork(text)).toBeNull();
});

// The URL parser handles every notation, so no other code needs to.
test.each([
  ["http://127.0.0.1/", "127.0.0.1"],
  ["http://127.1/", "127.0.0.1"],
  ["http://2130706433/", "127.0.0.1"],
  ["http://0x7f000001/", "127.0.0.1"],
  ["http://0x7f.0.0.1/", "127.0.0.1"],
  ["http://0177.0.0.1/", "127.0.0.1"],
  ["http://017700000001/", "127.0.0.1"],
  ["http://①②⑦.0.0.1/", "127.0.0.1"],
  ["http://127.0.0.1./", "127.0.0.1"],
  ["http://%31%32%37.0.0.1/", "127.0.0.1"],
  ["http://0xa9fea9fe/", "169.254.169.254"],
  ["http://[::1]/", "::1"],
  ["http://[0:0:0:0:0:0:0:1]:8080/", "::1"],
  ["http://[::ffff:127.0.0.1]/", "::ffff:7f00:1"],
  ["http://[::127.0.0.1]/", "::7f00:1"],
  ["http://example.com/", null],
  ["http://127.0.0.1.example.com/", null],
  ["http://localhost/", null],
])("the host of %s is the address %s", (url, address) => {
  expect(literalAddress(new URL(url).hostname)).toBe(address);
  if (address !== null) expect(isAllowedAddress(address, [])).toBe(false);
});
