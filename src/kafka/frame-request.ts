/**
 * Puts the frame around an encoded request: length, api key and version, correlation id, client
 * id. kafkajs does it by copying the whole request twice, through buffers that it fills with zeros.
 * A request that leaves room for the frame in front of itself is not copied at all.
 */

import type { LoadInternal, Replacement } from "./load-kafkajs.ts";

export interface RequestHeader {
  readonly apiKey: number;
  readonly apiVersion: number;
  readonly correlationId: number;
  readonly clientId: string;
}

interface FrameArguments {
  readonly correlationId: number;
  readonly clientId: string;
  readonly request: {
    readonly apiKey: number;
    readonly apiVersion: number;
    /** Our encoders leave the room that they are asked for; kafkajs' own leave none. */
    encode(roomBytes: number): Promise<{ readonly buffer: Buffer; readonly roomBytes?: number }>;
  };
}

/** Of a request header without the client id. */
const FIXED_BYTES = 14;

/**
 * Request header version 1, and the request after it.
 *
 * @param roomBytes in front of the payload, for the header to be written to: all that it takes, or 0.
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

export const requestFrame: Replacement = {
  name: "frame-request",
  module: "src/protocol/request.js",
  replace: (load: LoadInternal) => {
    const Encoder = load("src/protocol/encoder.js") as new (
      bytes: number,
    ) => { buf: Buffer; offset: number };
    return async ({ correlationId, clientId, request }: FrameArguments) => {
      const { apiKey, apiVersion } = request;
      const headerBytes = FIXED_BYTES + Buffer.byteLength(clientId);
      const { buffer, roomBytes } = await request.encode(headerBytes);
      const buf = frameRequest({ apiKey, apiVersion, correlationId, clientId }, buffer, roomBytes);
      return Object.assign(new Encoder(1), { buf, offset: buf.length });
    };
  },
};
