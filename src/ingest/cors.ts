/**
 * Builds the CORS headers, which allow pages from other origins to send calls.
 *
 *   corsOrigins       a page of such an origin        any other page
 *   empty             -                               no header: the browser blocks the request
 *   lists origins     that origin                     no header
 *   contains `*`      `*`                             -
 *
 * `https://*.example.com` matches subdomains at any depth. `null` is the origin of pages that were opened from
 * files.
 *
 * Credentials are never allowed: pages send the write key without them, and cookies are ignored.
 */

export type Headers = readonly (readonly [name: string, value: string])[];

/** Returns the headers that allow a page from an allowed origin to read the response and to send further requests. */
export function corsHeaders(
  origins: ReadonlySet<string>,
  origin: string | undefined,
  requestHeaders: string | undefined,
): Headers {
  if (origins.size === 0) return [];
  const isAny = origins.has("*");
  // Caches must not serve a response for one origin to a page from another origin.
  const vary: Headers = isAny ? [] : [["vary", "origin"]];
  if (origin === undefined || !(isAny || isAmong(origins, origin))) return vary;
  return [
    ...vary,
    ["access-control-allow-origin", isAny ? "*" : origin],
    ["access-control-allow-methods", "POST, GET, OPTIONS"],
    ["access-control-allow-headers", allowed(requestHeaders)],
    ["access-control-expose-headers", "retry-after"],
    ["access-control-max-age", "86400"],
  ];
}

/**
 * As in the settings (`config/ingest-settings.ts`), the host may contain any character that the host of a URL may
 * contain.
 */
const WEB_ORIGIN = /^(https?:\/\/)([^\s./?#@:[\]\\][^\s/?#@:[\]\\]*(?::\d{1,5})?)$/;
/** A host has at most 253 characters, and therefore at most 127 dots. */
const ORIGIN_CHARACTERS_MAX = 270;

function isAmong(origins: ReadonlySet<string>, origin: string): boolean {
  if (origins.has(origin)) return true;
  if (origin.length > ORIGIN_CHARACTERS_MAX) return false;
  const [, scheme, rest = ""] = WEB_ORIGIN.exec(origin) ?? [];
  for (let dot = rest.indexOf("."); dot !== -1; dot = rest.indexOf(".", dot + 1)) {
    if (origins.has(`${scheme}*${rest.slice(dot)}`)) return true;
  }
  return false;
}

const ALWAYS = "authorization, content-type, content-encoding";

/** Libraries send additional headers, such as `AnonymousId`. These headers are allowed and ignored. */
function allowed(asked: string | undefined): string {
  const isList = asked !== undefined && /^[\w-]{1,60}(, ?[\w-]{1,60}){0,19}$/.test(asked);
  return isList ? asked : ALWAYS;
}
