/** Endpoints whose responses and delays a test scripts, on the test's clock. */

import type { Cause, RequestResult } from "../../../src/router/destinations/port.ts";
import type { HttpPort } from "../../../src/router/destinations/webhook/http-port.ts";
import type { ManualClock } from "../clock/manual-clock.ts";

/** A status, or the cause of a missing response. */
export type ScriptedResponse =
  | number
  | Cause
  | { readonly status: number; readonly retryAfter?: string; readonly afterMs?: number }
  | { readonly cause: Cause; readonly afterMs: number }
  /** The proxy with this host and port fails, so that the endpoint does not get the request. */
  | { readonly proxy: string; readonly afterMs?: number };

export interface Sent {
  readonly destination: string;
  readonly url: string;
  readonly atMs: number;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

export class ScriptedHttp implements HttpPort {
  readonly sent: Sent[] = [];
  /** The type of each destination that was opened. */
  readonly openedKinds: string[] = [];
  /** Number of destinations whose connections are open. */
  openDestinations = 0;
  underWay = 0;
  underWayMax = 0;
  readonly #sentTo = new Map<string, number>();
  readonly #clock: ManualClock;
  readonly #respond: (sent: Sent, earlier: number) => ScriptedResponse;

  /** @param respond called for each request, with the number of earlier requests to the same URL. */
  constructor(clock: ManualClock, respond: (sent: Sent, earlier: number) => ScriptedResponse) {
    this.#clock = clock;
    this.#respond = respond;
  }

  /** Certificates are not checked here, and there are no proxies. */
  update(): boolean {
    return false;
  }

  open: HttpPort["open"] = ({ id, kind }) => {
    this.openedKinds.push(kind);
    this.openDestinations += 1;
    return {
      send: ({ url }, { body, headers }, done) => {
        const sent: Sent = {
          destination: id,
          url,
          atMs: this.#clock.nowMs(),
          body: body.toString(),
          headers: Object.fromEntries(headers),
        };
        const earlier = this.#sentTo.get(url) ?? 0;
        this.#sentTo.set(url, earlier + 1);
        this.sent.push(sent);
        this.underWay += 1;
        this.underWayMax = Math.max(this.underWayMax, this.underWay);
        const response = this.#respond(sent, earlier);
        const afterMs = typeof response === "object" ? (response.afterMs ?? 1) : 1;
        this.#clock.schedule(afterMs, () => {
          this.underWay -= 1;
          done(resultOf(response, afterMs));
        });
      },
      update: () => undefined,
      close: () => {
        this.openDestinations -= 1;
        return Promise.resolve();
      },
    };
  };
}

function resultOf(response: ScriptedResponse, durationMs: number): RequestResult {
  if (typeof response === "string") return { kind: "no-response", cause: response, durationMs };
  if (typeof response === "object" && "cause" in response) {
    return { kind: "no-response", cause: response.cause, durationMs };
  }
  if (typeof response === "object" && "proxy" in response) {
    return { kind: "not-sent", proxy: response.proxy, error: "the proxy is down", durationMs };
  }
  const { status, retryAfter = null } =
    typeof response === "number" ? { status: response } : response;
  return { kind: "response", status, retryAfter, durationMs };
}
