/**
 * Puts the frame around an encoded request: length, api key and version, correlation id, client
 * id. kafkajs does it by copying the whole request twice, through buffers that it fills with zeros.
 */

import type { LoadInternal, Replacement } from "./load-kafkajs.ts";

interface FrameArguments {
  readonly correlationId: number;
  readonly clientId: string;
  readonly request: {
    readonly apiKey: number;
    readonly apiVersion: number;
    readonly encode: () => Promise<{ readonly buffer: Buffer }>;
  };
}

/** Request header version 1, and the request after it. */
export function frameRequest(
  { apiKey, apiVersion, correlationId, clientId }: RequestHeader,
  payload: Buffer,
): Buffer {
  const client = Buffer.from(clientId);
  const headerBytes = 14 + client.length;
  const framed = Buffer.allocUnsafe(headerBytes + payload.length);
  framed.writeInt32BE(framed.length - 4, 0);
  framed.writeInt16BE(apiKey, 4);
  framed.writeInt16BE(apiVersion, 6);
  framed.writeInt32BE(correlationId, 8);
  framed.writeInt16BE(client.length, 12);
  framed.set(client, 14);
  framed.set(payload, headerBytes);
  return framed;
}

export interface RequestHeader {
  readonly apiKey: number;
  readonly apiVersion: number;
  readonly correlationId: number;
  readonly clientId: string;
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
      const { buffer } = await request.encode();
      const buf = frameRequest({ apiKey, apiVersion, correlationId, clientId }, buffer);
      return Object.assign(new Encoder(1), { buf, offset: buf.length });
    };
  },
};
