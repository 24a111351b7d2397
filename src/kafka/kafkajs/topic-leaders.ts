/** Asks a broker for the leaders of topics, without kafkajs' reading of it: it makes 20 objects a partition. */

import { LEADERS_VERSION, METADATA_KEY } from "../wire/topic-leaders.ts";
import type { Broker } from "./internals.ts";

/**
 * @param request as `encodeLeadersRequest` makes it.
 * @returns the answer after its correlation id.
 */
export async function askLeaders({ connectionPool }: Broker, request: Buffer): Promise<Buffer> {
  const encoded = { buf: request, buffer: request, offset: request.length };
  const answer = await connectionPool.send({
    request: {
      apiKey: METADATA_KEY,
      apiVersion: LEADERS_VERSION,
      apiName: "Metadata",
      encode: async () => ({ ...encoded, size: () => request.length }),
    },
    response: {
      decode: async (payload: Buffer) => ({ payload }),
      parse: async (decoded: unknown) => (decoded as { readonly payload: Buffer }).payload,
    },
  });
  return answer as Buffer;
}
