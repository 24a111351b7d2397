import { type Tested, value, wrong } from "../base/settings/decoder.ts";
import { certificateAndKey } from "../base/settings/pem.ts";
import { duration, listenHost, listOf, size, text, wholeNumber } from "../base/settings/scalars.ts";
import { optionalSection, section, setting } from "../base/settings/setting.ts";

export const INGEST_PORT = 8_080;

const WEB = /^https?:$/;
const NOT_OF_PAGES = /^(?:ws|wss|ftp):$/;
const OPAQUE = /^(?:file|data|blob|about|javascript):/i;
const OF_AN_APP = /^[a-z][a-z\d+.-]*:\/\/[a-z\d._-]+(?::\d{1,5})?$/;
/** Replaces the `*` while the entry is parsed as a URL. */
const LABEL = "wildcard";
const BEGIN = "start with https:// or http://, or with the scheme of an app such as capacitor://";

/**
 * Checks that an entry of `ingest.corsOrigins` has the form in which browsers send origins.
 *
 *   entry                                      is accepted
 *   *                                          yes: any origin
 *   null                                       yes: pages from files, and sandboxed frames
 *   https://app.example.com, http://app:3000   yes
 *   https://*.example.com, also with a port    yes: subdomains at any depth, but not example.com itself
 *   capacitor://localhost, app://id, app://-   yes: the schemes of app shells and extensions
 *   a path, a slash at the end, capitals, the scheme's default port, a `*` elsewhere
 *                                              no: browsers send no such origin
 *   file://, data:, blob:, about:              no: browsers send null
 *   ws://, wss://, ftp://                      no: pages have no such origin
 */
function testOrigin(given: string): Tested<string> {
  if (given === "*" || given === "null") return value(given);
  if (OPAQUE.test(given)) return wrong("write null, which browsers send for such pages");
  const named = given.replace("://*.", `://${LABEL}.`);
  if (named.includes("*")) return wrong("use * alone, or for subdomains: https://*.example.com");
  if (!(given.includes("://") && URL.canParse(named))) return wrong(BEGIN);
  const url = new URL(named);
  if (url.hostname === `${LABEL}.`) return wrong("name the domain: https://*.example.com");
  if (WEB.test(url.protocol)) {
    if (url.origin === named) return value(given);
    return wrong(`write ${named === given ? url.origin : url.origin.replace(`${LABEL}.`, "*.")}`);
  }
  if (NOT_OF_PAGES.test(url.protocol)) return wrong(BEGIN);
  if (named !== given) return wrong("a * requires https:// or http://");
  return OF_AN_APP.test(given)
    ? value(given)
    : wrong("write only the scheme and the host, in lower case");
}

const KIB = 1_024;
const MIB = 1_048_576;
/** With this limit, a stop takes at most 30 s, including the time for requests in progress. */
const HANDOVER_MAX_MS = 15_000;
const KEEP_ALIVE_MAX_MS = 3_600_000;

const origin = text("an origin such as https://app.example.com, or *", testOrigin);

export const ingestSettings = section("The port on which calls are received over HTTP.", {
  host: setting(listenHost, "::", "Address to listen on. `::` means all addresses, IPv6 and IPv4."),
  port: setting(wholeNumber(0, 65_535), INGEST_PORT, "Port to listen on. 0 selects any free port."),
  tls: optionalSection(certificateAndKey("Serves HTTPS instead of HTTP."), false),
  handover: setting(
    duration(0, HANDOVER_MAX_MS),
    "5s",
    "Time after SIGTERM for which connections are still accepted, while a successor takes over.",
  ),
  corsOrigins: setting(
    listOf(origin, "origins such as https://app.example.com", { min: 0, max: 1_000 }),
    [],
    "Origins whose pages may send calls, such as `https://*.example.com` (all subdomains), " +
      "`capacitor://localhost` or `null`. `*` allows all.",
  ),
  maxInFlightBytes: setting(
    size(MIB, 1_024 * MIB),
    "64MiB",
    "Maximum size of requests being read and calls not acknowledged yet. Further requests get 429.",
  ),
  maxUnauthenticatedBytes: setting(
    size(64 * KIB, 1_024 * MIB),
    "8MiB",
    "Part of `maxInFlightBytes` for bodies without a write key in the Authorization header.",
  ),
  minBodyBytesPerSecond: setting(
    size(0, MIB),
    "1KiB",
    "Minimum rate at which a body must arrive, measured over 10 s. Slower requests get 408. `0B` allows any rate.",
  ),
  keepAliveTimeout: setting(
    duration(1_000, KEEP_ALIVE_MAX_MS),
    "620s",
    "How long idle connections stay open. Must be longer than a load balancer keeps them, such as Google's 600 s.",
  ),
  maxConnections: setting(
    wholeNumber(1, 1_000_000),
    10_000,
    "Maximum number of open connections, but at most half of the available file descriptors.",
  ),
  maxConnectionsPerAddress: setting(
    wholeNumber(1, 1_000_000),
    1_000,
    "Maximum number of open connections from one IPv4 address or IPv6 /64, which may be a proxy's. Always at most 90% of `maxConnections`.",
  ),
});
