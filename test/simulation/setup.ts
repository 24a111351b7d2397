/** The parts that are the same in every world: destinations, topics, groups and the settings of stages. */

import { endpointKey } from "../../src/domain/destination.ts";
import type { DestinationId, SourceId } from "../../src/domain/ids.ts";
import { delayName, groupNames, topicNames } from "../../src/domain/topics.ts";
import { deliverOf } from "../../src/router/deliver/decide.ts";
import type { Batch, WebhookDestination } from "../../src/router/destinations/webhook/settings.ts";
import { aSource } from "../support/build/calls.ts";
import { webhookDestination } from "../support/build/webhook-destination.ts";
import type { Prng } from "../support/clock/prng.ts";
import type { Recipient } from "../support/worlds/ledger.ts";
import type { ProcessConfig } from "./process.ts";

export const SECOND_MS = 1_000;
export const MINUTE_MS = 60 * SECOND_MS;
export const HOUR_MS = 60 * MINUTE_MS;
export const RETRY_DELAYS_MS = [10, 30, 120, 300, 900, 1_800, 3_600].map(
  (seconds) => seconds * SECOND_MS,
);
export const WINDOW_MS = 4 * HOUR_MS;
export const POLICY = { retryDelaysMs: RETRY_DELAYS_MS, retryWindowMs: WINDOW_MS };

export const topics = topicNames("");
export const groups = groupNames("");
export const DELAY_TOPICS = new Set(RETRY_DELAYS_MS.map(topics.delays));

/** Returns null if each request has one call. */
export function aBatch(random: Prng): Batch | null {
  if (random.chance(0.4)) return null;
  return {
    calls: random.pick([2, 3, 10, 1_000]),
    bytes: random.pick([1_024, 65_536]),
    waitMs: random.pick([1, 250, 10_000]),
    format: random.pick(["array", "ndjson"]),
    responses: random.pick(["whole", "each"]),
  };
}

/** @param random chooses how they batch calls; if absent, they do not. */
export function destinations(random?: Prng): WebhookDestination[] {
  const endpoints = (...names: string[]) =>
    names.map((name) => {
      const url = `http://${name}.example/`;
      return { key: endpointKey(url), url, headers: [] };
    });
  const reported = { messageIdHeader: true, attemptHeader: true };
  const all = [
    webhookDestination({ id: "one", ...reported, endpoints: endpoints("one") }),
    webhookDestination({
      id: "narrow",
      ...reported,
      endpoints: endpoints("narrow"),
      concurrency: 2,
    }),
    webhookDestination({ id: "any", ...reported, endpoints: endpoints("any-a", "any-b") }),
    webhookDestination({
      id: "every",
      ...reported,
      endpoints: endpoints("every-a", "every-b"),
      deliver: "every",
    }),
  ];
  return random === undefined ? all : all.map((each) => ({ ...each, batch: aBatch(random) }));
}

export function recipientOf(destination: WebhookDestination): Recipient {
  const { id, endpoints } = destination;
  return { id, deliver: deliverOf(destination), endpoints: endpoints.map(({ key }) => key) };
}

export function configOf(all: readonly WebhookDestination[]): ProcessConfig {
  const ids: readonly DestinationId[] = all.map(({ id }) => id);
  const shared = { topics, groups, maxBytes: 1_000_000, drainLimitMs: 20 * SECOND_MS };
  return {
    route: {
      ...shared,
      sources: [aSource("web", ids)],
      defaultSource: "web" as SourceId,
      destinations: all,
    },
    deliver: {
      ...shared,
      maxBytes: () => shared.maxBytes,
      commonMaxBytes: 0,
      destinations: all,
      ...POLICY,
    },
    delay: {
      ...shared,
      delays: RETRY_DELAYS_MS.map(delayName),
      destinations: all.map(({ id }) => id),
      shownMax: all.length,
      retryWindowMs: POLICY.retryWindowMs,
    },
  };
}
