/**
 * Reads a call from the query of a pixel, which is an image that is loaded by pages and emails without scripts.
 *
 *   in the query                       in the call
 *   writeKey                           nothing
 *   channel                            `web`, even if the query has another one or none
 *   anonymousId="a", with the quotes   a, because AMP writes the quotes
 *   name=value                         a string
 *   context.page.url=value             a string in nested objects
 *   a name that is repeated            the first value
 *   a name within a string,            nothing: `a` is not an object
 *   as in `a=1&a.b=2`
 */

/** A name with more levels than this is not turned into nested objects. */
const LEVELS_MAX = 10;

/** Returns the JSON of the call, without its type. */
export function callOfPixel(query: URLSearchParams): Buffer {
  const call = new Map<string, Member>([["channel", "web"]]);
  for (const [name, value] of query) {
    if (name === "writeKey") continue;
    put(call, name, name === "anonymousId" ? value.replace(/^"(.*)"$/, "$1") : value);
  }
  return Buffer.from(written(call));
}

type Member = string | Map<string, Member>;

function put(call: Map<string, Member>, name: string, value: string): void {
  const parts = name.split(".");
  const steps = parts.length > LEVELS_MAX ? [name] : parts;
  const last = steps.pop() ?? "";
  let at = call;
  for (const step of steps) {
    const inner = at.get(step) ?? new Map<string, Member>();
    if (typeof inner === "string") return;
    at.set(step, inner);
    at = inner;
  }
  if (!at.has(last)) at.set(last, value);
}

function written(node: Member): string {
  if (typeof node === "string") return JSON.stringify(node);
  const members = [...node].map(([name, inner]) => `${JSON.stringify(name)}:${written(inner)}`);
  return `{${members.join(",")}}`;
}
