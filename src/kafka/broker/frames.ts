/**
 * The frames of a connection: each request and each response starts with its length. Memory grows with the bytes that have
 * arrived, whatever length a response claims. A response that arrives in one piece is a view of it; the pieces of any other
 * are copied once, when it is complete.
 */

const LENGTH_BYTES = 4;
const CORRELATION_BYTES = 4;

/**
 * A response contains at most the bytes that its fetch asks for, or one whole batch. `message.max.bytes` of no cluster is near
 * this limit.
 */
const RESPONSE_MAX_BYTES = 256 * 1024 * 1024;

interface RequestHeader {
  readonly apiKey: number;
  readonly version: number;
  readonly correlationId: number;
  readonly clientId: string;
  /** `true` in Kafka's flexible encoding, in which tagged fields end the header. There are none. */
  readonly isFlexible: boolean;
}

/** Encodes the length of a request and its header. The body, which has `bodyBytes`, follows. */
export function encodeHeader(header: RequestHeader, bodyBytes: number): Buffer {
  const { apiKey, version, correlationId, clientId, isFlexible } = header;
  const clientIdBytes = Buffer.byteLength(clientId);
  const headerBytes = 2 + 2 + 4 + 2 + clientIdBytes + (isFlexible ? 1 : 0);
  const bytes = Buffer.alloc(LENGTH_BYTES + headerBytes);
  let at = bytes.writeInt32BE(headerBytes + bodyBytes);
  at = bytes.writeInt16BE(apiKey, at);
  at = bytes.writeInt16BE(version, at);
  at = bytes.writeInt32BE(correlationId, at);
  at = bytes.writeInt16BE(clientIdBytes, at);
  bytes.write(clientId, at);
  return bytes;
}

/** The responses in the bytes of a connection. */
export class Responses {
  /** What has arrived and was not returned by `next`. The first piece starts with the length of a response. */
  #pieces: Buffer[] = [];
  #arrivedBytes = 0;
  /** Size of the first response and its length; 0 until the length has arrived. */
  #frameBytes = 0;

  /** Call `next` until it returns null before more bytes are added. */
  add(piece: Buffer): void {
    this.#pieces.push(piece);
    this.#arrivedBytes += piece.length;
  }

  /**
   * Removes and returns the next response, from its correlation ID on, or null if it has not arrived completely.
   * @throws RangeError if its length is impossible. Nothing after it can be read.
   */
  next(): Buffer | null {
    if (this.#frameBytes === 0) {
      if (this.#arrivedBytes < LENGTH_BYTES) return null;
      this.#frameBytes = LENGTH_BYTES + this.#readLength();
    }
    if (this.#arrivedBytes < this.#frameBytes) return null;
    return this.#take(this.#frameBytes).subarray(LENGTH_BYTES);
  }

  #readLength(): number {
    const [first = Buffer.alloc(0)] = this.#pieces;
    const bytes = first.length >= LENGTH_BYTES ? first : Buffer.concat(this.#pieces, LENGTH_BYTES);
    const length = bytes.readInt32BE();
    if (length >= CORRELATION_BYTES && length <= RESPONSE_MAX_BYTES) return length;
    throw new RangeError(`the broker sent a response with a length of ${length} bytes`);
  }

  /** The response ends in the last piece, because it was incomplete without this piece. */
  #take(frameBytes: number): Buffer {
    const last = this.#pieces.at(-1) as Buffer;
    const restBytes = this.#arrivedBytes - frameBytes;
    const frame =
      this.#pieces.length === 1
        ? last.subarray(0, frameBytes)
        : Buffer.concat(this.#pieces, frameBytes);
    this.#pieces = restBytes === 0 ? [] : [last.subarray(last.length - restBytes)];
    this.#arrivedBytes = restBytes;
    this.#frameBytes = 0;
    return frame;
  }
}
