/**
 * A request to a broker, in the versions in which it can be sent. `requests.ts` has those that @platformatic/kafka encodes;
 * our own encoders are in `wire/`.
 */

import type { BoundedReader } from "./bounded-reader.ts";
import type { RequestKind } from "./request-version.ts";

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
  /** `true` if this version is in Kafka's flexible encoding, in which tagged fields end the headers. */
  readonly isFlexible: (version: number) => boolean;
  readonly encode: (version: number) => Buffer;
  /** Reads the response after its header. */
  readonly read: (reader: BoundedReader, version: number) => Result;
}

/** A request in our own encoding. All its versions have the same bytes, and none is flexible. */
export function encodedRequest<Fields, Result>(
  kind: RequestKind,
  fields: Fields,
  encode: (fields: Fields) => Buffer,
  read: (reader: BoundedReader, version: number) => Result & Throttling,
): Request<Result> {
  return { kind, args: [fields], isFlexible: () => false, encode: () => encode(fields), read };
}
