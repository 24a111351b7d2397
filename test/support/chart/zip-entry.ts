/** One file of a ZIP archive. Node reads none by itself, and not every machine has `unzip`. */

import { inflateRawSync } from "node:zlib";

const END = 0x06054b50;
const ENTRY = 0x02014b50;
const DEFLATED = 8;

/** @throws Error when the archive has no such file. */
export function zipEntry(zip: Buffer, name: string): Buffer {
  const end = zip.lastIndexOf(Buffer.from([0x50, 0x4b, 0x05, 0x06]));
  if (end < 0 || zip.readUInt32LE(end) !== END) throw new Error("this is no ZIP archive");
  let at = zip.readUInt32LE(end + 16);
  for (let left = zip.readUInt16LE(end + 10); left > 0; left -= 1) {
    if (zip.readUInt32LE(at) !== ENTRY) throw new Error("the directory of the archive is damaged");
    const nameLength = zip.readUInt16LE(at + 28);
    if (zip.toString("utf8", at + 46, at + 46 + nameLength) === name) return content(zip, at);
    at += 46 + nameLength + zip.readUInt16LE(at + 30) + zip.readUInt16LE(at + 32);
  }
  throw new Error(`the archive has no ${name}`);
}

/** @param entry where the directory speaks of the file. */
function content(zip: Buffer, entry: number): Buffer {
  const local = zip.readUInt32LE(entry + 42);
  const from = local + 30 + zip.readUInt16LE(local + 26) + zip.readUInt16LE(local + 28);
  const packed = zip.subarray(from, from + zip.readUInt32LE(entry + 20));
  return zip.readUInt16LE(entry + 10) === DEFLATED ? inflateRawSync(packed) : packed;
}
