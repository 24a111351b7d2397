/** Decodes complete http and https URLs of endpoints and proxies, and decides which parts of a URL may be shown. */

import { type Decoder, type Tested, value, wrong } from "./decoder.ts";
import { HIDDEN } from "./problem.ts";
import { text } from "./scalars.ts";

export function webUrl(expected: string): Decoder<string> {
  return text(expected, testUrl, showUrl);
}

export function testUrl(given: string): Tested<string> {
  if (/[\s\p{Cc}]/u.test(given)) return wrong("remove spaces and control characters");
  if (!/^https?:\/\/[^/?#\\]/i.test(given))
    return wrong("start with https:// or http:// and the host");
  if (!URL.canParse(given)) return wrong("check the host and the port");
  const url = new URL(given);
  // The `URL` class drops an empty user name, so the string is checked.
  if (/^\w+:\/\/[^/?#\\]*@/.test(given)) {
    return wrong("remove the user name and password; a static header can carry them");
  }
  if (url.port === "0") return wrong("name a port that can be connected to");
  if (url.hash !== "" || given.endsWith("#"))
    return wrong("remove `#` and what follows, which is never sent");
  return value(given);
}

const PROXY = /^https?:\/\/(?:([^/?#\\]*)@)?[^/?#\\@]*?(:\d+)?\/?$/i;
/** A user name without a colon, and a password, with the characters that RFC 3986 allows. */
const CREDENTIALS =
  /^(?:[\w.~!$&'()*+,;=-]|%(?!3a)[\da-f]{2})+:(?:[\w.~!$&'()*+,;=:-]|%[\da-f]{2})+$/i;

/** The URL of a forward proxy, of which the user name and the password are secret. */
export function proxyUrl(expected: string): Decoder<string> {
  return text(expected, testProxy, showUrl);
}

function testProxy(given: string): Tested<string> {
  if (!/^https?:\/\//i.test(given)) return wrong("start with http:// or https:// and the host");
  const [isWhole, credentials, port] = PROXY.exec(given) ?? [];
  if (isWhole === undefined) {
    return wrong("end with the port; percent-encode / ? # @ in the user name and the password");
  }
  if (credentials !== undefined && !areCredentials(credentials)) {
    return wrong("write user:password@ before the host, with other characters percent-encoded");
  }
  if (port === undefined) return wrong("add the port, such as :3128");
  const url = URL.parse(given);
  return url === null || url.port === "0" ? wrong("check the host and the port") : value(given);
}

/** False if what is percent-encoded is not UTF-8. */
function areCredentials(given: string): boolean {
  try {
    return CREDENTIALS.test(given) && decodeURIComponent(given) !== "";
  } catch {
    return false;
  }
}

const URL_PARTS = /^((?:https?:|\w+:(?=[/\\]))[/\\]{0,2})?([^/?#\\]*)(.*)$/is;
/**
 * Matches a name with a dot, an address, or variables, and then the port. If there are more digits than a port can
 * have, they may be a password.
 */
const HOST =
  /^(?:\[[\da-f:.%]*\]|(?:[\p{L}\p{N}_-]|\$\{\w+\})*(?:\.(?:[\p{L}\p{N}_-]|\$\{\w+\})*)*)(?::\d{0,5})?$/iu;

/**
 * Shows the parts of a URL that cannot be secret. Paths are hidden, because many services use paths with passwords.
 *
 *   part                                        shown
 *   scheme, host, port                          unchanged
 *   user name and password                      (hidden)@
 *   path, query and fragment                    /(hidden), unless the path is only /
 *   an @ after the host, from a password with / only the scheme
 *   something else instead of a host            (hidden)
 */
export function showUrl(raw: unknown): unknown {
  if (typeof raw !== "string") return raw;
  const [, scheme = "", authority = "", rest = ""] = URL_PARTS.exec(raw) ?? [];
  if (rest.includes("@")) return `${scheme}${HIDDEN}`;
  const at = authority.lastIndexOf("@");
  const user = at > 0 ? HIDDEN : "";
  const host = authority.slice(at + 1);
  const isHost = HOST.test(host) && (scheme !== "" || host === "" || /[.:$]/.test(host));
  const end = rest === "" || rest === "/" ? rest : `${rest[0]}${HIDDEN}`;
  return `${scheme}${user}${at >= 0 ? "@" : ""}${isHost ? host : HIDDEN}${end}`;
}
