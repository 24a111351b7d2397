/** Sends a request whose bytes are made and read elsewhere, through a connection of kafkajs. */

export interface RawTarget {
  readonly connectionPool: { send(protocol: never): Promise<unknown> };
}

export interface RawKind {
  readonly apiKey: number;
  readonly apiName: string;
  readonly apiVersion: number;
}

/** @returns the answer after its correlation id. */
export async function rawRequest(
  { connectionPool }: RawTarget,
  kind: RawKind,
  buffer: Buffer,
): Promise<Buffer> {
  const { length } = buffer;
  const encoded = { buf: buffer, buffer, offset: length, size: () => length };
  const protocol = {
    request: { ...kind, encode: async () => encoded },
    response: {
      decode: async (payload: Buffer) => ({ payload }),
      parse: async ({ payload }: { readonly payload: Buffer }) => payload,
    },
  };
  return (await connectionPool.send(protocol as never)) as Buffer;
}
