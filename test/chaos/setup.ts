/**
 * The parts that are the same in every run: destinations, the tempers of their endpoints, short retry delays and a
 * short retry window. Only runs with several brokers have the last two destinations.
 *
 *   destination   endpoints              temper
 *   healthy       one                    accepts everything
 *   narrow        one, concurrency 2     accepts everything
 *   flaky         one                    scripted: failures of every kind, rejections
 *   sick          one                    like flaky, but sometimes it fails all requests
 *   second-try    one                    503 to each first attempt, accepts later ones: what one
 *                                        process learns about it must reach the others
 *   any           two, one is enough     each like flaky, independently
 *   every         two, both must         each like flaky, independently
 *   batch         one, up to 10 calls    like flaky for each call, with `responses: each`
 *   lines         one, up to 10 calls    rejects a batch with a call that it always rejects
 *   strict        one                    rejects or fails few calls; its order is strict
 *   strict-batch  one, up to 10 calls    the same, for each call, with `responses: each`
 *   strict-every  two, `deliver: every`  the same, each of the two
 *   proxied       one                    accepts everything, behind a forward proxy that fails sometimes
 *   lonely        one                    accepts everything; its topic has one replica
 *   doomed        one                    accepts everything, except during a fault with a hold;
 *                                        its topic is deleted sometimes
 */

import { stringify } from "yaml";
import { endpointKey } from "../../src/domain/destination.ts";
import type { DestinationId, EndpointKey } from "../../src/domain/ids.ts";
import { delayName, groupNames, topicNames } from "../../src/domain/topics.ts";
import { deliverOf } from "../../src/router/deliver/decide.ts";
import type { Batch } from "../../src/router/destinations/webhook/settings.ts";
import type { Recipient } from "../support/worlds/ledger.ts";

export const RETRY_DELAYS_MS = [1_000, 2_000, 4_000];
export const WINDOW_MS = 20_000;
export const POLICY = { retryDelaysMs: RETRY_DELAYS_MS, retryWindowMs: WINDOW_MS };
export const TIMEOUT_MS = 3_000;
export const SESSION_TIMEOUT_MS = 6_000;
const PARTITIONS = 3;
/** The replicas of the topic of `lonely`, by partition. */
export const LONELY_REPLICAS = [[1], [2], [3]] as const;

const PREFIX = "chaos.";
export const topics = topicNames(PREFIX);
const groups = groupNames(PREFIX);

/** The destinations whose order is strict. */
export const STRICT = ["strict", "strict-batch", "strict-every"];

/** The destination behind the forward proxy. */
export const PROXIED = "proxied";

export interface ChaosEndpoint {
  readonly key: EndpointKey;
  /** The path of the URL, without the host. */
  readonly path: string;
  readonly temper: "healthy" | "scripted" | "sick" | "second-try" | "doomed" | "poison" | "moody";
}

export interface ChaosDestination {
  readonly id: DestinationId;
  readonly deliver: "any" | "every";
  readonly concurrency: number;
  readonly endpoints: readonly ChaosEndpoint[];
  readonly batch: Pick<Batch, "format" | "responses"> | null;
  readonly order: "loose" | "strict";
}

/** @param baseUrl the URL of the receiver, such as `http://127.0.0.1:8000`. */
export function destinations(baseUrl: string, brokers = 1): readonly ChaosDestination[] {
  const endpoint = (path: string, temper: ChaosEndpoint["temper"]) => ({
    key: endpointKey(baseUrl + path),
    path,
    temper,
  });
  const destination = (
    id: string,
    endpoints: readonly ChaosEndpoint[],
    batch: ChaosDestination["batch"] = null,
  ): ChaosDestination => ({
    id: id as DestinationId,
    batch,
    order: STRICT.includes(id) ? "strict" : "loose",
    deliver: id.endsWith("every") ? "every" : "any",
    concurrency: id === "narrow" ? 2 : 64,
    endpoints,
  });
  return [
    destination("healthy", [endpoint("/healthy", "healthy")]),
    destination("narrow", [endpoint("/narrow", "healthy")]),
    destination("flaky", [endpoint("/flaky", "scripted")]),
    destination("sick", [endpoint("/sick", "sick")]),
    destination("second-try", [endpoint("/second-try", "second-try")]),
    destination("any", [endpoint("/any-a", "scripted"), endpoint("/any-b", "scripted")]),
    destination("every", [endpoint("/every-a", "scripted"), endpoint("/every-b", "scripted")]),
    destination("batch", [endpoint("/batch", "scripted")], { format: "array", responses: "each" }),
    destination("lines", [endpoint("/lines", "poison")], { format: "ndjson", responses: "whole" }),
    destination("strict", [endpoint("/strict", "moody")]),
    destination("strict-batch", [endpoint("/strict-batch", "moody")], {
      format: "array",
      responses: "each",
    }),
    destination("strict-every", [
      endpoint("/strict-every-a", "moody"),
      endpoint("/strict-every-b", "moody"),
    ]),
    destination(PROXIED, [endpoint("/proxied", "healthy")]),
    ...(brokers === 1
      ? []
      : [
          destination("lonely", [endpoint("/lonely", "healthy")]),
          destination("doomed", [endpoint("/doomed", "doomed")]),
        ]),
  ];
}

export function recipientOf(destination: ChaosDestination): Recipient {
  const { id, endpoints } = destination;
  return { id, deliver: deliverOf(destination), endpoints: endpoints.map(({ key }) => key) };
}

/**
 * YAML for `switchyard run` and `switchyard audit`. Environment variables set the programs' brokers and admin ports.
 *
 * @param proxy the URL of the forward proxy.
 */
export function configuration(
  all: readonly ChaosDestination[],
  baseUrl: string,
  proxy: string,
  brokers: readonly string[],
): string {
  return stringify({
    kafka: {
      brokers,
      topicPrefix: PREFIX,
      partitions: PARTITIONS,
      replicationFactor: brokers.length,
      sessionTimeout: `${SESSION_TIMEOUT_MS}ms`,
    },
    sources: [{ id: "web", writeKey: "k", destinations: all.map(({ id }) => id) }],
    defaultSource: "web",
    destinations: all.map(({ id, deliver, concurrency, endpoints, batch, order }) => ({
      id,
      order,
      ...(batch === null ? {} : { batch: { ...batch, calls: 10, wait: "400ms" } }),
      type: "webhook",
      deliver,
      concurrency,
      endpoints: endpoints.map(({ path }) => ({ url: baseUrl + path })),
      messageIdHeader: true,
      attemptHeader: true,
      ...(id === PROXIED ? { proxy } : {}),
    })),
    delivery: {
      timeout: `${TIMEOUT_MS}ms`,
      retryWindow: `${WINDOW_MS}ms`,
      retryDelays: RETRY_DELAYS_MS.map((ms) => `${ms}ms`),
      allowNetworks: ["127.0.0.0/8"],
    },
    admin: { host: "127.0.0.1", port: 1 },
  });
}

/** Each topic that is consumed, with the group that must have processed all of its records at the end. */
export function consumedTopics(
  all: readonly ChaosDestination[],
): readonly (readonly [topic: string, group: string])[] {
  return [
    [topics.calls, groups.route],
    ...all.map(({ id }) => [topics.deliveries(id), groups.deliver(id)] as const),
    ...all.map(({ id }) => [topics.retries(id), groups.deliver(id)] as const),
    ...RETRY_DELAYS_MS.map((ms) => [topics.delays(ms), groups.delay(delayName(ms))] as const),
  ];
}
