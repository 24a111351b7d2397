/** The list of kafkajs' modules that are replaced, and the short replacements themselves. */

import { frameBytes, frameRequest } from "../wire/frame-request.ts";
import { authenticateToBroker } from "./authentication.ts";
import type { LoadInternal, Replacement } from "./load-kafkajs.ts";
import { requestQueue } from "./request-queue.ts";
import { sessions } from "./sessions.ts";

interface FrameArguments {
  readonly correlationId: number;
  readonly clientId: string;
  readonly request: {
    readonly apiKey: number;
    readonly apiVersion: number;
    /** Our encoders leave the requested room in front of the request; kafkajs' own encoders leave none. */
    encode(roomBytes: number): Promise<{ readonly buffer: Buffer; readonly roomBytes?: number }>;
  };
}

/**
 * Frames requests with `wire/frame-request.ts`. kafkajs' own code copies the whole request twice, through buffers that
 * it fills with zeros.
 */
const requestFrame: Replacement = {
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

interface Decoding {
  readInt16(): number;
  readInt32(): number;
  readBytes(length?: number): Buffer | null;
}

/** Checks lengths. kafkajs' own decoder allocates as many entries as a list claims, and reads past the end. */
const decoder: Replacement = {
  name: "decoder",
  module: "src/protocol/decoder.js",
  replace: (load: LoadInternal) => {
    const Original = load("src/protocol/decoder.js") as new (payload: Buffer) => Decoding;
    return class Bounded extends Original {
      override readBytes(length = this.readInt32()): Buffer | null {
        const bytes = super.readBytes(length);
        if (bytes === null || bytes.length === length) return bytes;
        throw new RangeError(`${length} bytes are not in the response`);
      }

      readString(): string | null {
        return this.readBytes(this.readInt16())?.toString() ?? null;
      }

      readArray<Item>(read: (decoder: Bounded) => Item): Item[] {
        const items: Item[] = [];
        for (let left = this.readInt32(); left > 0; left -= 1) items.push(read(this));
        return items;
      }
    };
  },
};

/** The order matters: no replacement may load a module that a later one replaces. */
export const REPLACEMENTS: readonly Replacement[] = [
  requestFrame,
  decoder,
  requestQueue,
  authenticateToBroker,
  sessions,
];
