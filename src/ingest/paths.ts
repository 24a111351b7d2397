/**
 * What a request asks for, by its path and method.
 *
 *   path                                            POST             GET, HEAD   OPTIONS
 *   /v1/identify, track, page, screen, group, alias one call         405         200
 *   /v1/batch, /v1/import                           many calls       405         200
 *   /v1/health                                      405              health      200
 *   anything else                                   404              404         200
 *
 * Repeated slashes and one at the end mean nothing, as in `//v1/batch` and `/v1/batch/`: clients put
 * base URL and path together carelessly. A query is ignored. Other methods are 405.
 */

import { CALL_TYPES, type CallType } from "../domain/call.ts";

/** Where calls are taken; null: many in one body, else one of that type. */
export const CALL_PATHS: ReadonlyMap<string, CallType | null> = new Map([
  ["/v1/batch", null],
  ["/v1/import", null],
  ...CALL_TYPES.map((type) => [`/v1/${type}`, type] as const),
]);

export const HEALTH_PATH = "/v1/health";

export type Asked =
  | { readonly kind: "calls"; readonly type: CallType | null }
  | { readonly kind: "health" }
  | { readonly kind: "options" }
  | { readonly kind: "unknown-path" }
  /** `allow` is for the header of that name. */
  | { readonly kind: "wrong-method"; readonly allow: string };

/** @param url as it stands in the request line. */
export function askedFor(method: string, url: string): Asked {
  if (method === "OPTIONS") return { kind: "options" };
  const path = plainPath(url);
  const type = CALL_PATHS.get(path);
  if (type !== undefined) {
    return method === "POST"
      ? { kind: "calls", type }
      : { kind: "wrong-method", allow: "POST, OPTIONS" };
  }
  if (path !== HEALTH_PATH) return { kind: "unknown-path" };
  return method === "GET" || method === "HEAD"
    ? { kind: "health" }
    : { kind: "wrong-method", allow: "GET, HEAD, OPTIONS" };
}

function plainPath(url: string): string {
  // Through a proxy the request line may hold the whole URL.
  const target = url.startsWith("/") ? url : url.replace(/^https?:\/\/[^/?]*/i, "");
  const [path = ""] = target.split("?", 1);
  if (CALL_PATHS.has(path)) return path;
  return path.replace(/\/{2,}/g, "/").replace(/(?<=.)\/$/, "");
}
