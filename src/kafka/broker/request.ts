/**
 * A request to a broker, in the versions in which it can be sent. `requests.ts` has those that @platformatic/kafka encodes;
 * our own encoders are in `wire/`.
 */

import { type Connection, type Reader, type ResponseParser, Writer } from "@platformatic/kafka";

import type { RequestKind } from "./request-version.ts";

export type Respond<Result> = (error: Error | null, result?: Result) => void;

export interface Throttling {
  /** How long the broker will not read from the connection, in milliseconds (KIP-219). */
  readonly throttleTimeMs: number;
}

export interface Request<Result> {
  readonly kind: RequestKind;
  /** The fields, in the order in which they are encoded. */
  readonly args: readonly unknown[];
  /** `true` if the request may be sent twice. */
  readonly isRepeatable?: boolean;
  /** The time until the connection is closed if there is no response; by default 30 seconds. */
  readonly limitMs?: number;
  /** Sends the request in this version. Calls `respond` once. */
  readonly send: (
    connection: Connection,
    version: number,
    respond: Respond<Result & Throttling>,
  ) => void;
}

/** A request in our own encoding. All its versions have the same bytes, and none is flexible. */
export function encodedRequest<Fields, Result>(
  kind: RequestKind,
  fields: Fields,
  encode: (fields: Fields) => Buffer,
  parse: ResponseParser<Result & Throttling>,
): Request<Result> {
  const payload = () => Writer.create().append(encode(fields));
  return {
    kind,
    args: [fields],
    send: (connection, version, respond) => {
      connection.send(kind.apiKey, version, payload, parse, false, false, respond);
    },
  };
}

/** The bytes of a response after its header. */
export function bytesOf({ buffer, position }: Reader): Buffer {
  return buffer.subarray(position).buffer;
}
