/** Complete http and https URLs, and how much of one may be shown. */

import { type Decoder, type Tested, value, wrong } from "./decoder.ts";
import { HIDDEN } from "./problem.ts";
import { text } from "./scalars.ts";

export function webUrl(expected: string): Decoder<string> {
  return text(expected, testUrl, showUrl);
}

function testUrl(given: string): Tested<string> {
  if (/[\s\p{Cc}]/u.test(given)) return wrong("take out blanks and control characters");
  if (!/^https?:\/\/[^/?#\\]/i.test(given))
    return wrong("begin with https:// or http:// and the host");
  if (!URL.canParse(given)) return wrong("check the host and the port");
  const url = new URL(given);
  // Of an empty user name nothing is left in the URL.
  if (/^\w+:\/\/[^/?#\\]*@/.test(given)) {
    return wrong("take out the user name and password; a static header can carry them");
  }
  if (url.port === "0") return wrong("name a port that can be connected to");
  if (url.hash !== "" || given.endsWith("#"))
    return wrong("take out `#` and what follows, it is never sent");
  return value(given);
}

/** Hides what may be secret in a URL: user name, password, and the values of the query. */
export function showUrl(raw: unknown): unknown {
  if (typeof raw !== "string") return raw;
  const shown = raw.replace(/[?#].*$/s, (rest) => rest.replace(/=[^&#]*/g, `=${HIDDEN}`));
  const url = URL.canParse(raw) ? new URL(raw) : null;
  const hasOnlyHost = url !== null && url.host !== "" && url.username === "" && url.password === "";
  // Of what is no good URL, everything before the last @ may be a password.
  return hasOnlyHost ? shown : shown.replace(/^(\w+:[/\\]{2})?.*@/s, `$1${HIDDEN}@`);
}
