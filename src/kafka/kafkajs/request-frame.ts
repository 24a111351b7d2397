/**
 * Frames requests with `wire/frame-request.ts`. kafkajs copies the whole request twice for it,
 * through buffers that it fills with zeros.
 */

import { frameBytes, frameRequest } from "../wire/frame-request.ts";
import type { LoadInternal, Replacement } from "./load-kafkajs.ts";

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

export const requestFrame: Replacement = {
  name: "frame-request",
  module: "src/protocol/request.js",
  replace: (load: LoadInternal) => {
    const Encoder = load("src/protocol/encoder.js") as new (
      bytes: number,
    ) => { buf: Buffer; offset: number };
    return async ({ correlationId, clientId, request }: FrameArguments) => {
      const { apiKey, apiVersion } = request;
      const { buffer, roomBytes } = await request.encode(frameBytes(clientId));
      const buf = frameRequest({ apiKey, apiVersion, correlationId, clientId }, buffer, roomBytes);
      return Object.assign(new Encoder(1), { buf, offset: buf.length });
    };
  },
};
