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

import { type Tested, value, wrong } from "./decoder.ts";

const WEB = /^https?:$/;
const NOT_OF_PAGES = /^(?:ws|wss|ftp):$/;
const OPAQUE = /^(?:file|data|blob|about|javascript):/i;
const OF_AN_APP = /^[a-z][a-z\d+.-]*:\/\/[a-z\d._-]+(?::\d{1,5})?$/;
/** Stands for the star while the rest is read as a URL. */
const LABEL = "wildcard";
const BEGIN = "begin with https:// or http://, or with the scheme of an app such as capacitor://";

export function testOrigin(given: string): Tested<string> {
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
