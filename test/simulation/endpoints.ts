/** Scripted endpoints in place of HTTP: what they answer is up to chance and the time. */

import type { SendResult } from "../../src/destinations/port.ts";
import type { HttpConnections, HttpPort } from "../../src/destinations/webhook/http-port.ts";
import type { WebhookDestination } from "../../src/destinations/webhook/settings.ts";
import type { EndpointKey } from "../../src/domain/ids.ts";
import type { ManualClock, Scheduled } from "../support/clock/manual-clock.ts";
import type { Prng } from "../support/clock/prng.ts";
import type { Party } from "../support/memory-kafka/network.ts";
import type { Ledger } from "../support/worlds/ledger.ts";

const TIMEOUT_MS = 5_000;

/** How an endpoint behaves. */
export type Behaviour =
  | { readonly kind: "healthy" }
  /** Fails with this probability, in various ways. */
  | { readonly kind: "flaky"; readonly failure: number }
  | { readonly kind: "down"; readonly untilMs: number }
  | { readonly kind: "rejecting" };

type Answer = { readonly status: number; readonly retryAfter: string | null } | "timeout" | "reset";

export class Endpoints {
  readonly #clock: ManualClock;
  readonly #random: Prng;
  readonly #ledger: Ledger;
  readonly #behaviours: ReadonlyMap<EndpointKey, Behaviour>;

  constructor(
    clock: ManualClock,
    random: Prng,
    ledger: Ledger,
    behaviours: ReadonlyMap<EndpointKey, Behaviour>,
  ) {
    this.#clock = clock;
    this.#random = random;
    this.#ledger = ledger;
    this.#behaviours = behaviours;
  }

  /** The way to the endpoints from a process, which hears nothing more once it is dead. */
  from(process: Party): HttpPort {
    return { trust: () => false, open: (destination) => this.#open(process, destination) };
  }

  #open(process: Party, destination: WebhookDestination): HttpConnections {
    const underWay = new Map<Scheduled, (result: SendResult) => void>();
    return {
      update: () => undefined,
      send: (endpoint, request, done) => {
        if (!process.alive) return;
        const headers = new Map(request.headers);
        const answer = this.#answer(endpoint.key);
        const durationMs = answer === "timeout" ? TIMEOUT_MS : this.#random.integer(2, 400);
        const atMs = this.#clock.nowMs();
        this.#ledger
          .entry(headers.get("X-Switchyard-Message-Id") ?? "", destination.id)
          .requests.push({
            endpoint: endpoint.key,
            attempt: Number(headers.get("X-Switchyard-Attempt")),
            atMs,
            endAtMs: atMs + durationMs,
            status: typeof answer === "string" ? null : answer.status,
          });
        const scheduled = this.#clock.schedule(durationMs, () => {
          underWay.delete(scheduled);
          if (process.alive) done(resultOf(answer, durationMs));
        });
        underWay.set(scheduled, done);
      },
      close: () => {
        for (const [scheduled, done] of underWay) {
          scheduled.cancel();
          done(resultOf("reset", 0));
        }
        underWay.clear();
        return Promise.resolve();
      },
    };
  }

  #answer(key: EndpointKey): Answer {
    const behaviour = this.#behaviours.get(key) ?? { kind: "healthy" };
    const ok = { status: this.#random.pick([200, 202, 204]), retryAfter: null };
    switch (behaviour.kind) {
      case "healthy":
        return ok;
      case "rejecting":
        return { status: 400, retryAfter: null };
      case "down":
        return this.#clock.nowMs() < behaviour.untilMs ? this.#failure() : ok;
      case "flaky":
        return this.#random.chance(behaviour.failure) ? this.#failure() : ok;
    }
  }

  #failure(): Answer {
    return this.#random.pick<Answer>([
      { status: 500, retryAfter: null },
      { status: 503, retryAfter: null },
      { status: 503, retryAfter: `${this.#random.integer(1, 5_000)}` },
      { status: 429, retryAfter: `${this.#random.integer(1, 100)}` },
      "timeout",
      "reset",
    ]);
  }
}

function resultOf(answer: Answer, durationMs: number): SendResult {
  if (typeof answer === "string") return { kind: "no-response", cause: answer, durationMs };
  return { kind: "response", ...answer, durationMs };
}
