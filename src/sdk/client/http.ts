/**
 * Makes batch requests with `fetch`. A single deadline applies to the request, the response and the response body.
 */

import { clearTimeout, setTimeout } from "node:timers";
import type { Fetch, FetchResponse } from "./fetch.ts";
import type { Settings } from "./options.ts";
import type { SendOutcome } from "./retry.ts";

interface PostSettings extends Pick<Settings, "url" | "writeKey" | "fetch"> {
  readonly timeoutMs: number;
}

/** Maximum number of bytes of a response that are read. Only the start of what was read is used. */
const RESPONSE_MAX_BYTES = 64 * 1_024;
const EXPLANATION_CHARACTERS_MAX = 300;

/**
 * Returns a function that makes one request. That function never rejects, because a missing response is also an
 * outcome. Redirects are not followed, because they would send the write key to an address that is not configured.
 */
export function createPost({ url, writeKey, timeoutMs, fetch: given }: PostSettings) {
  const headers = {
    authorization: `Basic ${base64(`${writeKey}:`)}`,
    "content-type": "application/json",
  };
  return async (body: string, stop: AbortSignal): Promise<SendOutcome> => {
    const controller = new AbortController();
    const abort = () => controller.abort(stop.reason);
    const expire = () => controller.abort(new Error(`no response within ${timeoutMs} ms`));
    const timer = setTimeout(expire, timeoutMs);
    // The timer need not keep the process alive, because during the request the connection does.
    timer.unref();
    stop.addEventListener("abort", abort, { once: true });
    const { signal } = controller;
    const aborted = rejectionOf(signal);
    try {
      const send: Fetch = given ?? fetch;
      const init = { method: "POST", headers, body, redirect: "manual", signal } as const;
      // The application's own `fetch` may ignore the signal.
      const response = await Promise.race([send(url, init), aborted]);
      const { status } = response;
      const text = await readStart(response, aborted);
      return {
        kind: "response",
        status,
        retryAfter: waitIn(response),
        explanation: explanationIn(text),
      };
    } catch (cause) {
      return { kind: "no-response", cause: signal.aborted ? signal.reason : cause };
    } finally {
      clearTimeout(timer);
      stop.removeEventListener("abort", abort);
    }
  };
}

function rejectionOf(signal: AbortSignal): Promise<never> {
  const aborted = new Promise<never>((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
  // When the signal aborts, nothing may be awaiting this promise any more.
  aborted.catch(() => undefined);
  return aborted;
}

/** Reads the body to its end, so that the connection can be used again. The status applies even if the body fails. */
async function readStart(response: FetchResponse, aborted: Promise<never>): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  try {
    const chunks = chunksOf(response.body);
    while (bytes <= RESPONSE_MAX_BYTES) {
      const { done, value } = await Promise.race([chunks.next(), aborted]);
      if (done || !ArrayBuffer.isView(value)) return text;
      bytes += value.byteLength;
      text += decoder.decode(value as Uint8Array, { stream: true });
    }
    await Promise.race([chunks.return?.(), aborted]);
    return text;
  } catch {
    return "";
  }
}

/** `node-fetch` returns a Node stream; others return a web stream, which older platforms cannot iterate. */
function chunksOf(body: unknown): AsyncIterator<unknown> {
  const stream = (body ?? {}) as Partial<AsyncIterable<unknown> & ReadableStream<unknown>>;
  if (typeof stream.getReader === "function") {
    const reader = stream.getReader();
    return {
      next: () => reader.read() as Promise<IteratorResult<unknown>>,
      return: async () => {
        await reader.cancel();
        return { done: true, value: undefined };
      },
    };
  }
  const iterate = stream[Symbol.asyncIterator];
  if (iterate !== undefined) return iterate.call(stream);
  return { next: async () => ({ done: true, value: undefined }) };
}

function waitIn({ headers }: FetchResponse): string | null {
  try {
    const wait: unknown = headers.get("retry-after");
    // A `fetch` written by the application may return a list of values, or a number.
    return wait === null || wait === undefined ? null : String(wait);
  } catch {
    return null;
  }
}

/** Returns the `message` of the endpoint's error, shortened to fit into a log line. */
function explanationIn(text: string): string | null {
  try {
    const response: unknown = JSON.parse(text);
    const message =
      typeof response === "object" && response !== null && Reflect.get(response, "message");
    return typeof message === "string" ? message.slice(0, EXPLANATION_CHARACTERS_MAX) : null;
  } catch {
    return null;
  }
}

/** Encodes the UTF-8 bytes, because `btoa` expects one character per byte. */
function base64(text: string): string {
  return btoa(String.fromCharCode(...new TextEncoder().encode(text)));
}
