/**
 * Checks the lengths of the responses on a connection as they arrive, before @platformatic/kafka gets the bytes. It would keep
 * all bytes of a response until it is complete, so four wrong bytes would fill the memory, and a length below that of a
 * correlation ID would make it throw in an event handler, which ends the process.
 */

const LENGTH_BYTES = 4;
const CORRELATION_BYTES = 4;

/**
 * A response contains at most the bytes that its fetch asks for, or one whole batch. `message.max.bytes` of no cluster is near
 * this limit.
 */
const RESPONSE_MAX_BYTES = 256 * 1024 * 1024;

/**
 * Read as a length, this is more than will ever arrive, and read as a correlation ID, that of no request. The listener behind
 * gets the bytes in the same event, and removing it would be too late.
 */
const UNREADABLE = 0x7f;

export class FrameLengths {
  /** Bytes of the current response that have not arrived. */
  #left = 0;
  /** The bytes of the next length that have arrived. */
  #length: Buffer = Buffer.alloc(0);

  /**
   * Returns what is wrong with a response that starts in these bytes, or null. If something is wrong, overwrites the bytes
   * from there on. The caller must then close the connection.
   */
  problemIn(bytes: Buffer): string | null {
    let at = Math.min(this.#left, bytes.length);
    this.#left -= at;
    while (at < bytes.length) {
      const start = at;
      const missing = LENGTH_BYTES - this.#length.length;
      this.#length = Buffer.concat([this.#length, bytes.subarray(at, at + missing)]);
      at += missing;
      if (this.#length.length < LENGTH_BYTES) return null;
      const length = this.#length.readInt32BE();
      if (length < CORRELATION_BYTES || length > RESPONSE_MAX_BYTES) {
        bytes.fill(UNREADABLE, start);
        return `closed connection: the broker sent a response with a length of ${length} bytes`;
      }
      this.#length = Buffer.alloc(0);
      this.#left = Math.max(0, length - (bytes.length - at));
      at += length;
    }
    return null;
  }
}
