/** Scripted endpoints that replace HTTP: their responses depend on chance and on the time. */

import type { DestinationId, EndpointKey } from "../../src/domain/ids.ts";
import type { RequestResult, SendResult } from "../../src/router/destinations/port.ts";
import type { HttpConnections, HttpPort } from "../../src/router/destinations/webhook/http-port.ts";
import type { WebhookDestination } from "../../src/router/destinations/webhook/settings.ts";
import type { ManualClock, Scheduled } from "../support/clock/manual-clock.ts";
import type { Prng } from "../support/clock/prng.ts";
import type { Party } from "../support/memory-kafka/network.ts";
import type { Exposure, Ledger } from "../support/worlds/ledger.ts";

const SECOND_MS = 1_000;
const HOUR_MS = 3_600 * SECOND_MS;
const TIMEOUT_MS = 5_000;

/** How an endpoint behaves. */
export type Behaviour =
  | { readonly kind: "healthy" }
  /** Fails with this probability, in various ways. */
  | { readonly kind: "flaky"; readonly failure: number }
  | { readonly kind: "down"; readonly untilMs: number }
  | { readonly kind: "rejecting" }
  /** Responds 410 to every request during this time. */
  | { readonly kind: "gone"; readonly fromMs: number; readonly untilMs: number }
  /** Rejects some calls, and each batch with one of them. */
  | { readonly kind: "poisoned" };

export function someBehaviours(
  destinations: readonly WebhookDestination[],
  nowMs: number,
  random: Prng,
): ReadonlyMap<EndpointKey, Behaviour> {
  const all = destinations.flatMap(({ endpoints, order }) =>
    endpoints.map(({ key }) => ({ key, order })),
  );
  return new Map(
    all.map(({ key, order }) => {
      // With a strict order, the deliveries of a user fail one after the other, and a world would take too long.
      const failureMax = order === "strict" ? 0.7 : 1;
      const untilMs = nowMs + random.integer(0, 6 * HOUR_MS);
      const behaviours: readonly Behaviour[] = [
        { kind: "healthy" },
        { kind: "healthy" },
        { kind: "flaky", failure: failureMax * random.fraction() },
        { kind: "down", untilMs },
        { kind: "rejecting" },
        { kind: "poisoned" },
      ];
      return [key, random.pick(behaviours)];
    }),
  );
}

/** When the proxy of each destination is down. @param forMs outages begin within this time, less an hour. */
export function someOutages(
  ids: readonly DestinationId[],
  nowMs: number,
  forMs: number,
  random: Prng,
): ReadonlyMap<string, readonly Exposure[]> {
  return new Map(
    ids.map((id) => {
      const outages = Array.from({ length: random.pick([0, 1, 3]) }, () => {
        const fromMs = nowMs + random.integer(0, forMs - HOUR_MS);
        return { fromMs, toMs: fromMs + random.integer(1, random.pick([10, 3_600])) * SECOND_MS };
      });
      return [id, outages];
    }),
  );
}

interface Response {
  readonly status: number;
  readonly retryAfter: string | null;
  /** The body of a response that judges each call. */
  readonly each?: readonly { readonly status: number }[];
}

type ScriptedResponse = Response | "timeout" | "reset";

interface SentCall {
  readonly messageId: string;
  readonly attempt: number;
}

/** Returns the calls of a request, from its headers. A batch lists its calls there. */
function callsOf(headers: readonly (readonly [string, string])[]): readonly SentCall[] {
  const named = new Map(headers);
  const attempts = (named.get("X-Switchyard-Attempt") ?? "").split(",");
  return (named.get("X-Switchyard-Message-Id") ?? "")
    .split(",")
    .map((messageId, at) => ({ messageId, attempt: Number(attempts[at]) }));
}

/** Returns true for every fifth call. */
function isPoison(messageId: string): boolean {
  return Number(messageId.slice(1)) % 5 === 0;
}

function statusOf(scripted: ScriptedResponse, at: number): number | null {
  if (typeof scripted === "string") return null;
  return scripted.each?.[at]?.status ?? scripted.status;
}

export class Endpoints {
  readonly #clock: ManualClock;
  readonly #random: Prng;
  readonly #ledger: Ledger;
  readonly #behaviours: ReadonlyMap<EndpointKey, Behaviour>;
  readonly #outages: ReadonlyMap<string, readonly Exposure[]>;
  /** Number of requests so far. */
  #requests = 0;

  /** @param outages when the proxy of each destination is down. */
  constructor(
    clock: ManualClock,
    random: Prng,
    ledger: Ledger,
    behaviours: ReadonlyMap<EndpointKey, Behaviour>,
    outages: ReadonlyMap<string, readonly Exposure[]> = new Map(),
  ) {
    this.#clock = clock;
    this.#random = random;
    this.#ledger = ledger;
    this.#behaviours = behaviours;
    this.#outages = outages;
  }

  /** Returns the HTTP port of a process, which gets no more responses when the process is dead. */
  from(process: Party): HttpPort {
    return { update: () => false, open: (destination) => this.#open(process, destination) };
  }

  #open(process: Party, destination: WebhookDestination): HttpConnections {
    const underWay = new Map<Scheduled, (result: RequestResult) => void>();
    const respond = (result: RequestResult, done: (result: RequestResult) => void) => {
      const scheduled = this.#clock.schedule(result.durationMs, () => {
        underWay.delete(scheduled);
        if (process.alive) done(result);
      });
      underWay.set(scheduled, done);
    };
    return {
      update: () => undefined,
      send: (endpoint, request, done) => {
        if (!process.alive) return;
        if (this.#isProxyDown(destination)) {
          const durationMs = this.#random.pick([1, this.#random.integer(1, TIMEOUT_MS)]);
          respond({ kind: "not-sent", proxy: "p:1", error: "the proxy is down", durationMs }, done);
          return;
        }
        const calls = callsOf(request.headers);
        const scripted = this.#responseTo(endpoint.key, calls, request.readsResponse === true);
        const durationMs = scripted === "timeout" ? TIMEOUT_MS : this.#random.integer(2, 400);
        const atMs = this.#clock.nowMs();
        const endAtMs = atMs + durationMs;
        const unit = this.#requests;
        this.#requests += 1;
        for (const [at, { messageId, attempt }] of calls.entries()) {
          const status = statusOf(scripted, at);
          // Several calls that are rejected together are sent again immediately, until each of them has a separate
          // result.
          if (calls.length > 1 && typeof scripted !== "string" && scripted.status === 400) break;
          this.#ledger
            .entry(messageId, destination.id)
            .requests.push({ endpoint: endpoint.key, attempt, atMs, endAtMs, status, unit });
        }
        respond(resultOf(scripted, durationMs), done);
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

  #isProxyDown({ id }: WebhookDestination): boolean {
    const nowMs = this.#clock.nowMs();
    const outages = this.#outages.get(id) ?? [];
    return outages.some(({ fromMs, toMs }) => nowMs >= fromMs && nowMs < toMs);
  }

  /** A response with a result for each call contains separate statuses. */
  #responseTo(key: EndpointKey, calls: readonly SentCall[], isEach: boolean): ScriptedResponse {
    const behaviour = this.#behaviours.get(key);
    const isPoisoned = (call: SentCall) =>
      behaviour?.kind === "poisoned" && isPoison(call.messageId);
    const scripted = this.#responseOf(key);
    const isWhole = typeof scripted === "string" || scripted.status === 410;
    if (!isEach || isWhole || this.#random.chance(0.2)) {
      return calls.some(isPoisoned) ? { status: 400, retryAfter: null } : scripted;
    }
    const each = calls.map((call) => {
      const own = isPoisoned(call) ? 400 : this.#responseOf(key);
      return { status: typeof own === "number" ? own : typeof own === "string" ? 500 : own.status };
    });
    return { status: 207, retryAfter: null, each };
  }

  #responseOf(key: EndpointKey): ScriptedResponse {
    const behaviour = this.#behaviours.get(key) ?? { kind: "healthy" };
    const ok = { status: this.#random.pick([200, 202, 204]), retryAfter: null };
    switch (behaviour.kind) {
      case "healthy":
      case "poisoned":
        return ok;
      case "rejecting":
        return { status: 400, retryAfter: null };
      case "gone": {
        const nowMs = this.#clock.nowMs();
        const isGone = behaviour.fromMs <= nowMs && nowMs < behaviour.untilMs;
        return isGone ? { status: 410, retryAfter: null } : ok;
      }
      case "down":
        return this.#clock.nowMs() < behaviour.untilMs ? this.#failure() : ok;
      case "flaky":
        return this.#random.chance(behaviour.failure) ? this.#failure() : ok;
    }
  }

  #failure(): ScriptedResponse {
    return this.#random.pick<ScriptedResponse>([
      { status: 500, retryAfter: null },
      { status: 503, retryAfter: null },
      { status: 503, retryAfter: `${this.#random.integer(1, 5_000)}` },
      { status: 429, retryAfter: `${this.#random.integer(1, 100)}` },
      "timeout",
      "reset",
    ]);
  }
}

function resultOf(scripted: ScriptedResponse, durationMs: number): SendResult {
  if (typeof scripted === "string") return { kind: "no-response", cause: scripted, durationMs };
  const { each, ...response } = scripted;
  const body = each === undefined ? undefined : Buffer.from(JSON.stringify(each));
  return { kind: "response", ...response, durationMs, body };
}
