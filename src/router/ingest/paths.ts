/**
 * Reads a request's path and method.
 *
 *   path                                              POST              GET, HEAD
 *   /v1/identify, track, page, screen, group, alias   one call          405
 *   /v1/i, t, p, s, g, a                              one call          405
 *   /v1/batch, /v1/import, /v1/b                      many calls        405
 *   /beacon/v1/batch?writeKey=KEY                     many calls        405
 *   /pixel/v1/track, page, ...?writeKey=KEY&...       405               one call, from the query
 *   /v1/m, /v1/merge                                  ignored           405
 *   /v1/projects/KEY/settings                         405               settings of Segment's SDKs
 *   /sourceConfig                                     405               settings of RudderStack's SDKs
 *   /v1/health, /health                               405               health
 *   anything else                                     404               404
 *
 * OPTIONS is allowed on every path. Methods that are not in the table get a 405. Repeated and trailing slashes, as
 * in `//v1/batch` and `/v1/batch/`, are ignored, because some clients put too many slashes between base URL and
 * path. The query is read only if the path's row mentions it.
 */

import { CALL_TYPES, type CallType } from "../../domain/call.ts";

/**
 * Paths that accept calls. The value is the type of the one call in the body, or null if the body contains a list of
 * calls.
 */
export const CALL_PATHS: ReadonlyMap<string, CallType | null> = new Map([
  ["/v1/batch", null],
  ["/v1/import", null],
  ["/v1/b", null],
  ...CALL_TYPES.map((type) => [`/v1/${type}`, type] as const),
  ...CALL_TYPES.map((type) => [`/v1/${type.charAt(0)}`, type] as const),
]);

export const BEACON_PATH = "/beacon/v1/batch";
const PIXEL_PATHS: ReadonlyMap<string, CallType> = new Map(
  CALL_TYPES.map((type) => [`/pixel/v1/${type}`, type]),
);
/** Paths on which bodies are accepted with a 200 but not stored: metrics of SDKs, and merges of users. */
export const REJECTED_PATHS: ReadonlyMap<string, RejectedKind> = new Map([
  ["/v1/m", "metrics"],
  ["/v1/merge", "merge"],
]);
export const SOURCE_CONFIG_PATH = "/sourceConfig";
export const HEALTH_PATHS = ["/v1/health", "/health"] as const;
const SETTINGS_PATH = /^\/v1\/projects\/([^/]+)\/settings$/;

export type RejectedKind = "metrics" | "merge";

export interface AskedCalls {
  readonly kind: "calls";
  /** Null if the body contains a list of calls. */
  readonly type: CallType | null;
  /** The query, if it contains the write key; null if it is ignored. */
  readonly query: URLSearchParams | null;
  /** If `true`, the call itself is in the query, and the response is an image. */
  readonly isPixel: boolean;
}

export interface AskedSettings {
  readonly kind: "settings";
  readonly of: "segment" | "rudderstack";
  /** Null if the write key is in the query or in the header. */
  readonly writeKey: string | null;
  readonly query: URLSearchParams;
}

export type Asked =
  | AskedCalls
  | AskedSettings
  | { readonly kind: "rejected"; readonly of: RejectedKind }
  | { readonly kind: "health" }
  | { readonly kind: "options" }
  | { readonly kind: "unknown-path" }
  /** `allow` is the value of the `Allow` header. */
  | { readonly kind: "wrong-method"; readonly allow: string };

/** @param url the URL from the request line, unchanged. */
export function askedFor(method: string, url: string): Asked {
  if (method === "OPTIONS") return { kind: "options" };
  const [path, search] = divided(url);
  const type = CALL_PATHS.get(path);
  if (type !== undefined) return posted(method, { kind: "calls", type, ...IN_BODY });
  const rejected = REJECTED_PATHS.get(path);
  if (rejected !== undefined) return posted(method, { kind: "rejected", of: rejected });
  const query = new URLSearchParams(search);
  if (path === BEACON_PATH) {
    return posted(method, { kind: "calls", type: null, query, isPixel: false });
  }
  const pixel = PIXEL_PATHS.get(path);
  if (pixel !== undefined) return got(method, { kind: "calls", type: pixel, query, isPixel: true });
  const [, key] = SETTINGS_PATH.exec(path) ?? [];
  if (key !== undefined) {
    return got(method, { kind: "settings", of: "segment", writeKey: decoded(key), query });
  }
  if (path === SOURCE_CONFIG_PATH) {
    return got(method, { kind: "settings", of: "rudderstack", writeKey: null, query });
  }
  const isHealth = HEALTH_PATHS.some((one) => one === path);
  return isHealth ? got(method, { kind: "health" }) : { kind: "unknown-path" };
}

const IN_BODY = { query: null, isPixel: false } as const;

function posted(method: string, asked: Asked): Asked {
  return method === "POST" ? asked : { kind: "wrong-method", allow: "POST, OPTIONS" };
}

function got(method: string, asked: Asked): Asked {
  const isRead = method === "GET" || method === "HEAD";
  return isRead ? asked : { kind: "wrong-method", allow: "GET, HEAD, OPTIONS" };
}

function divided(url: string): readonly [path: string, search: string] {
  // If the request comes from a proxy, the request line may contain the whole URL.
  const target = url.startsWith("/") ? url : url.replace(/^https?:\/\/[^/?]*/i, "");
  const mark = target.indexOf("?");
  const path = mark < 0 ? target : target.slice(0, mark);
  const search = mark < 0 ? "" : target.slice(mark);
  if (CALL_PATHS.has(path)) return [path, search];
  return [path.replace(/\/{2,}/g, "/").replace(/(?<=.)\/$/, ""), search];
}

/** If the percent-encoding of a key is invalid, the key does not belong to any source. */
function decoded(key: string): string {
  try {
    return decodeURIComponent(key);
  } catch {
    return key;
  }
}
