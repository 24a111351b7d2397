/** Addresses of the page, with filters and order, so that they can be shared. */

export type ListView =
  | "flow"
  | "destinations"
  | "calls"
  | "dead-letters"
  | "audiences"
  | "configuration";
export type Place =
  | { readonly view: ListView }
  | { readonly view: "destination" | "call"; readonly id: string }
  | { readonly view: "unknown" };

const LISTS: readonly ListView[] = [
  "destinations",
  "calls",
  "dead-letters",
  "audiences",
  "configuration",
];

/** @param path as the browser has it, with its escapes */
export function placeOf(path: string): Place {
  const [, first = "", second = "", ...rest] = path.split("/");
  if (rest.length > 0) return { view: "unknown" };
  if (second !== "") {
    const id = decoded(second);
    if (id !== null && first === "destinations") return { view: "destination", id };
    if (id !== null && first === "calls") return { view: "call", id };
    return { view: "unknown" };
  }
  if (first === "") return { view: "flow" };
  const view = LISTS.find((name) => name === first);
  return { view: view ?? "unknown" };
}

export function destinationLink(id: string): string {
  return `/destinations/${encodeURIComponent(id)}`;
}

export function callLink(messageId: string): string {
  return `/calls/${encodeURIComponent(messageId)}`;
}

/** @param hash of the user's id, which stands in no address */
export function userCallsLink(hash: string): string {
  return `/calls?${new URLSearchParams({ user: hash })}`;
}

/** The address of the dead letters that pass these filters. */
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
