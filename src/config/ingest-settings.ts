import { type Tested, value, wrong } from "../settings/decoder.ts";
import { certificateAndKey } from "../settings/pem.ts";
import { duration, listenHost, listOf, size, text, wholeNumber } from "../settings/scalars.ts";
import { optionalSection, section, setting } from "../settings/setting.ts";

export const INGEST_PORT = 8_080;

const WEB = /^https?:$/;
const NOT_OF_PAGES = /^(?:ws|wss|ftp):$/;
const OPAQUE = /^(?:file|data|blob|about|javascript):/i;
const OF_AN_APP = /^[a-z][a-z\d+.-]*:\/\/[a-z\d._-]+(?::\d{1,5})?$/;
/** Stands for the star while the rest is read as a URL. */
const LABEL = "wildcard";
const BEGIN = "begin with https:// or http://, or with the scheme of an app such as capacitor://";

/**
 * An entry of `ingest.corsOrigins`, as browsers send origins.
 *
 *   entry                                      is taken
 *   *                                          yes: any origin
 *   null                                       yes: pages from files, and sandboxed frames
 *   https://app.example.com, http://app:3000   yes
 *   https://*.example.com, with a port, too    yes: subdomains at any depth, example.com itself is not one
 *   capacitor://localhost, app://id, app://-   yes: the schemes of app shells and extensions
 *   a path, a slash at the end, capitals, the port that the scheme has by itself, a `*` elsewhere
 *                                              no: browsers send no such origin
 *   file://, data:, blob:, about:              no: browsers send null
 *   ws://, wss://, ftp://                      no: pages have no such origin
 */
function testOrigin(given: string): Tested<string> {
  if (given === "*" || given === "null") return value(given);
  if (OPAQUE.test(given)) return wrong("write null, which browsers send for such pages");
  const named = given.replace("://*.", `://${LABEL}.`);
  if (named.includes("*"))
    return wrong("a * stands alone, or for subdomains: https://*.example.com");
  if (!(given.includes("://") && URL.canParse(named))) return wrong(BEGIN);
  const url = new URL(named);
  if (url.hostname === `${LABEL}.`) return wrong("name the domain: https://*.example.com");
  if (WEB.test(url.protocol)) {
    if (url.origin === named) return value(given);
    return wrong(`write ${named === given ? url.origin : url.origin.replace(`${LABEL}.`, "*.")}`);
  }
  if (NOT_OF_PAGES.test(url.protocol)) return wrong(BEGIN);
  if (named !== given) return wrong("a * takes https:// or http://");
  return OF_AN_APP.test(given)
    ? value(given)
    : wrong("write the scheme and the host in lower case, nothing else");
}

const KIB = 1_024;
const MIB = 1_048_576;
/** Together with the time for requests in progress, a stop stays within its 30 s. */
const HANDOVER_MAX_MS = 15_000;

const origin = text("an origin such as https://app.example.com, or *", testOrigin);

export const ingestSettings = section("The port that takes calls over HTTP.", {
  host: setting(listenHost, "::", "Address to listen on. `::` means all addresses, IPv6 and IPv4."),
  port: setting(wholeNumber(0, 65_535), INGEST_PORT, "0: any free port."),
  tls: optionalSection(
    certificateAndKey(
      "Serves HTTPS instead of HTTP. If not set, HTTP is served, for example behind a proxy.",
    ),
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
