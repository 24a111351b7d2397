/**
 * Finds out what an address on the server stands for.
 *
 *   address                              is
 *   /, /destinations, /destinations/ID,  the document, which reads the address
 *     /calls, /calls/MESSAGE_ID,
 *     /dead-letters, /audiences,
 *     /configuration
 *   /assets/NAME                         a file that the document loads
 *   /api/session                         GET: the session; POST: sign in; DELETE: sign out
 *   /api/events?of=VIEW                  server-sent events of a view
 *   /api/actions                         GET: the jobs; POST: starts one
 *   /api/actions/ID                      DELETE: stops it
 *   /api/dead-letters, /api/audiences,   JSON
 *     /api/configuration, /api/call,
 *     /api/calls, /api/attempts
 *   /api/user                            POST: the hash of the user ID in the body, which must not appear
 *                                        in addresses and logs; nothing is changed
 *   any other address of one or two      404 with the document, so that its navigation can be used
 *     parts, such as /nothing
 *   anything else                        404
 */

import type { QueryName } from "./query-view.ts";

const PAGES =
  /^\/(?:|destinations(?:\/[^/]+)?|calls(?:\/[^/]+)?|dead-letters|audiences|configuration)$/;
/**
 * Matches the addresses of the document. The addresses of assets are relative to it, so it can have only one or two
 * parts.
 */
const DOCUMENT = /^\/(?!api\/|assets\/)[^/]*(?:\/[^/]+)?$/;
const ASSET = /^\/assets\/([\w-]+\.[\w.-]+)$/;
const ACTIONS = /^\/api\/actions(?:\/([\da-f-]{36}))?$/;

export type View =
  | { readonly of: "overview" }
  | { readonly of: "destinations" }
  | { readonly of: "destination"; readonly id: string };

export type Route =
  /** True if the document's address has two parts. */
  | { readonly kind: "page"; readonly isDeep: boolean; readonly exists: boolean }
  | { readonly kind: "asset"; readonly name: string }
  | { readonly kind: "session" }
  | { readonly kind: "events"; readonly view: View }
  | {
      readonly kind: "data";
      readonly name: QueryName;
      readonly query: URLSearchParams;
    }
  | { readonly kind: "user" }
  /** If `id` is null, the route is for all actions. */
  | { readonly kind: "actions"; readonly id: string | null }
  | { readonly kind: "unknown" };

const QUERIES: Readonly<Record<QueryName, true>> = {
  "dead-letters": true,
  audiences: true,
  configuration: true,
  call: true,
  calls: true,
  attempts: true,
};

export function routeOf(target: string): Route {
  // Only the path and the query are used, so any host can be inserted here.
  const base = "http://console.invalid";
  // The path starts with two slashes if a proxy removes `/path` from `/path/calls` and then adds a `/`.
  const url = `${base}${target.replace(/^\/+/, "/")}`;
  if (!target.startsWith("/") || !URL.canParse(url)) return { kind: "unknown" };
  const { pathname, searchParams } = new URL(url);
  const asset = ASSET.exec(pathname)?.[1];
  if (asset !== undefined) return { kind: "asset", name: asset };
  if (pathname === "/api/session") return { kind: "session" };
  if (pathname === "/api/user") return { kind: "user" };
  if (pathname === "/api/events") {
    const view = viewOf(searchParams);
    return view === null ? { kind: "unknown" } : { kind: "events", view };
  }
  const actions = ACTIONS.exec(pathname);
  if (actions !== null) return { kind: "actions", id: actions[1] ?? null };
  const name = pathname.slice("/api/".length);
  if (pathname.startsWith("/api/") && isQuery(name)) {
    return { kind: "data", name, query: searchParams };
  }
  if (!DOCUMENT.test(pathname)) return { kind: "unknown" };
  return { kind: "page", isDeep: pathname.includes("/", 1), exists: PAGES.test(pathname) };
}

function isQuery(name: string): name is keyof typeof QUERIES {
  return Object.hasOwn(QUERIES, name);
}

function viewOf(query: URLSearchParams): View | null {
  const of = query.get("of");
  if (of === "overview" || of === "destinations") return { of };
  const id = query.get("id");
  return of === "destination" && id !== null ? { of, id } : null;
}
