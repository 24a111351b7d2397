/**
 * Builds and reads addresses of the console. An address contains the filters and the order of rows, so that users
 * can share a view.
 *
 * A proxy may serve the console below a path such as `/switchyard/`. The server does not see this path, so the path
 * is derived from the address of this script, which is `PATH/assets/NAME.js`.
 */

/** The views of the navigation, in its order. */
export const VIEWS = [
  { view: "overview", to: "/", label: "Overview" },
  { view: "destinations", to: "/destinations", label: "Destinations" },
  { view: "calls", to: "/calls", label: "Calls" },
  { view: "dead-letters", to: "/dead-letters", label: "Dead letters" },
  { view: "audiences", to: "/audiences", label: "Audiences" },
  { view: "configuration", to: "/configuration", label: "Configuration" },
] as const;
export type ListView = (typeof VIEWS)[number]["view"];
export type PageAddress =
  | { readonly view: ListView }
  | { readonly view: "destination" | "call"; readonly id: string }
  | { readonly view: "unknown" };

/** @param path the path in the browser, still percent-encoded. */
export function placeOf(path: string): PageAddress {
  const [, first = "", second = "", ...rest] = path.split("/");
  if (rest.length > 0) return { view: "unknown" };
  if (second !== "") {
    const id = decoded(second);
    if (id !== null && first === "destinations") return { view: "destination", id };
    if (id !== null && first === "calls") return { view: "call", id };
    return { view: "unknown" };
  }
  return { view: VIEWS.find(({ to }) => to === `/${first}`)?.view ?? "unknown" };
}

export function destinationLink(id: string): string {
  return `/destinations/${encodeURIComponent(id)}`;
}

export function callLink(messageId: string): string {
  return `/calls/${encodeURIComponent(messageId)}`;
}

/** @param hash the hash of the user ID. The ID itself never appears in an address. */
export function userCallsLink(hash: string): string {
  return `/calls?${new URLSearchParams({ user: hash })}`;
}

/** The address of the dead letters that match these filters. */
export function deadLettersLink(filters: Readonly<Record<string, string>>): string {
  return `/dead-letters?${new URLSearchParams(filters)}`;
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

const BASE = new URL("..", import.meta.url).pathname;

/** @param path a path of the server, starting with `/`. */
export function below(path: string): string {
  return `${BASE}${path.slice(1)}`;
}

/** Removes the part that the proxy adds from a path. */
export function pathOf(pathname: string): string {
  return pathname.startsWith(BASE) ? pathname.slice(BASE.length - 1) : "/";
}
