/**
 * Adds the frame to an encoded request: length, API key and version, correlation ID, client ID. A request that
 * has room for the frame in front is not copied.
 */

interface RequestHeader {
  readonly apiKey: number;
  readonly apiVersion: number;
  readonly correlationId: number;
  readonly clientId: string;
}

/** Bytes of a request header without the client ID. */
const FIXED_BYTES = 14;

export function frameBytes(clientId: string): number {
  return FIXED_BYTES + Buffer.byteLength(clientId);
}

/**
 * Writes request header version 1, followed by the request.
 *
 * @param roomBytes free bytes in front of the payload: as many as the header needs, or 0.
 */
export function frameRequest(header: RequestHeader, payload: Buffer, roomBytes = 0): Buffer {
  const client = Buffer.from(header.clientId);
  const headerBytes = FIXED_BYTES + client.length;
  const framed = roomBytes > 0 ? payload : Buffer.allocUnsafe(headerBytes + payload.length);
  framed.writeInt32BE(framed.length - 4, 0);
  framed.writeInt16BE(header.apiKey, 4);
  framed.writeInt16BE(header.apiVersion, 6);
  framed.writeInt32BE(header.correlationId, 8);
  framed.writeInt16BE(client.length, 12);
  framed.set(client, FIXED_BYTES);
  if (roomBytes === 0) framed.set(payload, headerBytes);
  return framed;
}
