/**
 * A request's body as it arrived, before any parser: the signature is over these bytes.
 *
 *   handed in                               is
 *   Uint8Array, Buffer, another view        its bytes
 *   ArrayBuffer                             its bytes
 *   string                                  its UTF-8 bytes
 *   a promise                               an error: `await` is missing
 *   undefined or null                       an error: nothing has read the body
 *   an object or list that a parser made    an error: written again, it may differ
 */

/** A `Buffer` is a `Uint8Array`. */
export type RawBody = string | ArrayBuffer | Uint8Array;

/** @throws TypeError saying what was handed in, and how to get the raw body. */
export function bytesOf(rawBody: unknown): Uint8Array {
  if (typeof rawBody === "string") return new TextEncoder().encode(rawBody);
  if (ArrayBuffer.isView(rawBody)) {
    return new Uint8Array(rawBody.buffer, rawBody.byteOffset, rawBody.byteLength);
  }
  // Also one of another realm, such as a test runner's.
  if (Object.prototype.toString.call(rawBody) === "[object ArrayBuffer]") {
    return new Uint8Array(rawBody as ArrayBuffer);
  }
  throw new TypeError(
    `rawBody is ${found(rawBody)}: hand in the request's bytes or text as they came, before any JSON ` +
      "parser. In Express: express.raw({ type: () => true }). Others: docs/webhooks.md#frameworks",
  );
}

function found(rawBody: unknown): string {
  if (rawBody === undefined || rawBody === null) return `${rawBody}`;
  if (typeof rawBody !== "object") return `a ${typeof rawBody}`;
  return "then" in rawBody ? "a promise (await it)" : "a parsed body";
}
