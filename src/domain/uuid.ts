/**
 * Derives UUIDs from names (RFC 9562 section 5.5), so that a record which is written again after a crash has the
 * same message ID.
 *
 * A UUID of version 5 is the SHA-1 of a namespace and a name. Each kind of message has a separate namespace, so that
 * two kinds never share an ID. A name with several parts is written as a JSON list, so that `["a","bc"]` and
 * `["ab","c"]` differ.
 */

import { createHash } from "node:crypto";

const HEX_UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/**
 * @param namespace a UUID in its usual form.
 * @param name any text; hashed as UTF-8.
 * @returns a UUID in lowercase, 36 characters.
 * @throws TypeError if the namespace is not a UUID.
 */
export function uuidV5(namespace: string, name: string): string {
  if (!HEX_UUID.test(namespace)) throw new TypeError(`${namespace} is not a UUID`);
  const hash = createHash("sha1")
    .update(Buffer.from(namespace.replaceAll("-", ""), "hex"))
    .update(name, "utf8")
    .digest();
  hash.writeUInt8((hash.readUInt8(6) & 0x0f) | 0x50, 6);
  hash.writeUInt8((hash.readUInt8(8) & 0x3f) | 0x80, 8);
  return uuidText(hash.toString("hex", 0, 16));
}

/** @param hex 32 hex digits. */
export function uuidText(hex: string): string {
  const parts = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20)];
  return `${parts.join("-")}-${hex.slice(20)}`;
}
