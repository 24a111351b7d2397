/** The deliver stage's HTTP for tests, with one promise per request. */

import type { Resolve } from "../../../src/base/http/lookup.ts";
import { parseNetwork } from "../../../src/domain/addresses.ts";
import type { Delivery } from "../../../src/domain/delivery.ts";
import type { RequestResult, SendResult } from "../../../src/router/destinations/port.ts";
import { createHttp } from "../../../src/router/destinations/webhook/http.ts";
import type { HttpPort } from "../../../src/router/destinations/webhook/http-port.ts";
import { requestTo, sharedRequest } from "../../../src/router/destinations/webhook/request.ts";
import type {
  WebhookDestination,
  WebhookEndpoint,
} from "../../../src/router/destinations/webhook/settings.ts";
import { parseContent } from "../../../src/router/stage/content.ts";
import { recordValue } from "../build/record-value.ts";
import { deliveryOf, unitOf, webhookDestination } from "../build/webhook-destination.ts";

/** Far longer than a test takes. Tests of the deadline use other limits. */
export const LONG_MS = 5_000;

export const LOOPBACK = ["127.0.0.0/8", "::1/128"];

export interface ClientOptions {
  readonly timeoutMs?: number;
  readonly allow?: readonly string[];
  readonly connectionMaxAgeMs?: number;
  readonly ca?: string | null;
  readonly proxy?: string | null;
  readonly proxyCa?: string | null;
  readonly resolve?: Resolve;
  readonly destination?: Partial<WebhookDestination>;
}

type ProcessOptions = Omit<ClientOptions, "destination">;

export interface HttpClient extends AsyncDisposable {
  /**
   * Posts the webhook of a track call, with the headers that the destination's settings add. Rejects if a proxy failed
   * before the request was sent.
   */
  post(endpoint: WebhookEndpoint, delivery?: Partial<Delivery>): Promise<SendResult>;
  close(): Promise<void>;
}

export function httpClient(options: ClientOptions = {}): HttpClient {
  return httpProcess(options)(options.destination);
}

/** Opens destinations of one process, which share what destinations of a process can share. */
export function httpProcess(options: ProcessOptions) {
  const { timeoutMs = LONG_MS, allow = LOOPBACK, ca = null, resolve } = options;
  const { connectionMaxAgeMs = 60_000, proxy = null, proxyCa = null } = options;
  const allowNetworks = allow.map(parseNetwork).filter((network) => network !== null);
  const port = createHttp(
    { timeoutMs, allowNetworks, connectionMaxAgeMs, ca, proxy, proxyCa },
    resolve,
  );
  return (given?: Partial<WebhookDestination>) => clientOf(port, webhookDestination(given));
}

function clientOf(port: HttpPort, destination: WebhookDestination): HttpClient {
  const connections = port.open(destination);
  const call = trackCall();
  return {
    post: (endpoint, delivery = {}) => {
      const shared = sharedRequest(destination, unitOf(call, deliveryOf(delivery)), Date.now());
      const request = requestTo(endpoint, shared);
      return new Promise<RequestResult>((done) => connections.send(endpoint, request, done)).then(
        sent,
      );
    },
    close: () => connections.close(),
    [Symbol.asyncDispose]: () => connections.close(),
  };
}

/** A result in one word: the status or the cause. */
export function outcome(result: RequestResult): number | string {
  if (result.kind === "not-sent") return result.error;
  return result.kind === "response" ? result.status : result.cause;
}

/** The result of a request. Throws if a proxy failed before it was sent. */
export function sent(result: RequestResult): SendResult {
  if (result.kind === "not-sent") throw new Error(result.error);
  return result;
}

function trackCall() {
  const value = Buffer.from('{"type":"track","event":"Café ☕","userId":"u","properties":{"a":1}}');
  const parsed = parseContent(recordValue(value));
  if (parsed.kind === "refused") throw new Error(parsed.error);
  return parsed.content;
}
