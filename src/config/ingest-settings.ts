/** The section `ingest`: where calls are taken over HTTP, and how much at a time. */

import { testOrigin } from "./origin.ts";
import { certificateAndKey } from "./pem.ts";
import { INGEST_PORT } from "./ports.ts";
import { duration, listenHost, listOf, text, wholeNumber } from "./scalars.ts";
import { optionalSection, section, setting } from "./setting.ts";
import { size } from "./size.ts";

const KIB = 1_024;
const MIB = 1_048_576;
/** With the time for requests under way, the whole stop stays within its 30 s. */
const HANDOVER_MAX_MS = 15_000;

const origin = text("an origin such as https://app.example.com, or *", testOrigin);

export const ingestSettings = section("The port that takes calls over HTTP.", {
  host: setting(
    listenHost,
    "::",
    "Where it listens. `::` stands for all addresses, IPv6 and IPv4.",
  ),
  port: setting(wholeNumber(0, 65_535), INGEST_PORT, "0: any free port."),
  tls: optionalSection(
    certificateAndKey("Takes HTTPS in place of HTTP. Left out: HTTP, such as behind a proxy."),
    false,
  ),
  handover: setting(
    duration(0, HANDOVER_MAX_MS),
    "5s",
    "How long new connections are still answered after SIGTERM, while a successor or a load balancer takes over.",
  ),
  corsOrigins: setting(
    listOf(origin, "origins such as https://app.example.com", { min: 0, max: 1_000 }),
    [],
    "Origins whose pages may send calls from a browser, such as `https://*.example.com` for all subdomains, `capacitor://localhost` or `null`; `*`: all of them.",
  ),
  maxInFlightBytes: setting(
    size(MIB, 1_024 * MIB),
    "64MiB",
    "Most bytes of requests being read and of calls not acknowledged; beyond that requests are answered 429.",
  ),
  maxUnauthenticatedBytes: setting(
    size(64 * KIB, 1_024 * MIB),
    "8MiB",
    "Most bytes, of these, of bodies whose write key is not in the Authorization header; it is known only when they are read.",
  ),
  minBodyBytesPerSecond: setting(
    size(0, MIB),
    "1KiB",
    "Least rate of a body, over 10 s; a slower one is answered 408. `0B`: any.",
  ),
  maxConnections: setting(
    wholeNumber(1, 1_000_000),
    10_000,
    "Most open connections; never more than half of the files and sockets that the process may still open when it starts.",
  ),
  maxConnectionsPerAddress: setting(
    wholeNumber(1, 1_000_000),
    1_000,
    "Most open connections of one IPv4 address or IPv6 /64. Behind a proxy, all of its connections are of its address.",
  ),
});
