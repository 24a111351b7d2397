/** A Fetch request of a session, and its answer, as kafkajs' connections take them. */

import { encodeFetch, type FetchWithSession } from "../wire/fetch-request.ts";
import { readFetchResponse } from "../wire/fetch-response.ts";
import { FETCH } from "../wire/request-kinds.ts";
import type { Protocol } from "./internals.ts";

export function fetchProtocol(fetch: FetchWithSession): Protocol {
  return {
    request: {
      apiKey: FETCH.apiKey,
      apiVersion: Math.max(...FETCH.versions),
      apiName: FETCH.apiName,
      encode: async (roomBytes = 0) => ({ buffer: encodeFetch(fetch, roomBytes), roomBytes }),
    },
    response: {
      decode: async (payload: Buffer) => readFetchResponse(payload),
      parse: async (response: unknown) => response,
    },
  };
}
