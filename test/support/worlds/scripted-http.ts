/** Endpoints whose responses and delays a test scripts, on the test's clock. */

import type { Cause, SendResult } from "../../../src/destinations/port.ts";
import type { HttpPort } from "../../../src/destinations/webhook/http-port.ts";
import type { ManualClock } from "../clock/manual-clock.ts";

/** A status, or the cause of a missing response. */
export type ScriptedResponse =
  | number
  | Cause
  | { readonly status: number; readonly retryAfter?: string; readonly afterMs?: number }
  | { readonly cause: Cause; readonly afterMs: number };

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
  readonly #answer: (sent: Sent, earlier: number) => ScriptedResponse;

  /** @param answer called for each request, with the number of earlier requests to the same URL. */
  constructor(clock: ManualClock, answer: (sent: Sent, earlier: number) => ScriptedResponse) {
    this.#clock = clock;
    this.#answer = answer;
  }

  /** Certificates are not checked here. */
  trust(): boolean {
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
        const answer = this.#answer(sent, earlier);
        const afterMs = typeof answer === "object" ? (answer.afterMs ?? 1) : 1;
        this.#clock.schedule(afterMs, () => {
          this.underWay -= 1;
          done(resultOf(answer, afterMs));
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

function resultOf(answer: ScriptedResponse, durationMs: number): SendResult {
  if (typeof answer === "string") return { kind: "no-response", cause: answer, durationMs };
  if (typeof answer === "object" && "cause" in answer) {
    return { kind: "no-response", cause: answer.cause, durationMs };
  }
  const { status, retryAfter = null } = typeof answer === "number" ? { status: answer } : answer;
  return { kind: "response", status, retryAfter, durationMs };
}
