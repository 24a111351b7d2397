/**
 * A user id as it stands in addresses of the page, which browsers and proxies write down. With the
 * token in it, only who knows the token can try ids until one fits.
 */

import { createHmac } from "node:crypto";

const DIGITS = 32;

/** @param token null: the page is for this machine alone. */
export function userHash(userId: string, token: string | null): string {
  const hmac = createHmac("sha256", `switchyard user ${token ?? ""}`);
  return hmac.update(userId).digest("hex").slice(0, DIGITS);
}
