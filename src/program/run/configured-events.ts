/**
 * Writes operator events, if the configuration enables them and the process runs a stage that has events. The process
 * that owns partition 0 of a destination's topic reports events for that destination.
 */

import type { Clock } from "../../base/runtime/clock.ts";
import type { Metrics } from "../../base/telemetry/instruments.ts";
import type { Log } from "../../base/telemetry/log.ts";
import type { Config } from "../../config/config.ts";
import { endpointKey } from "../../domain/destination.ts";
import type { DestinationStatus } from "../../domain/destination-status.ts";
import type { StageName } from "../../domain/stages.ts";
import { groupNames, type TopicNames } from "../../domain/topics.ts";
import type { ClusterView, Kafka, Producer } from "../../kafka/port.ts";
import { configuredTopics, knownDelays } from "../../operator/connect/connection.ts";
import { type WatchedRetryWindows, watchForPeople } from "../../operator/events/watch.ts";
import {
  type PostDeps,
  type Posted,
  postEvents,
  type RunningPosts,
} from "../../operator/events/webhook-sender.ts";
import {
  NO_OPERATOR_ACTIONS,
  type OperatorActions,
} from "../../router/control/operator-action-state.ts";
import { countExpiring } from "../../router/delay/scan-awaiting-retry.ts";
import type { RequestResult } from "../../router/destinations/port.ts";
import { createHttp } from "../../router/destinations/webhook/http.ts";
import type { HttpConnections } from "../../router/destinations/webhook/http-port.ts";
import { judge } from "../../router/destinations/webhook/judge.ts";
import { eventRequest, type WebhookRequest } from "../../router/destinations/webhook/request.ts";
import type { WebhookEndpoint } from "../../router/destinations/webhook/settings.ts";
import type { RunningStage } from "../../router/stage/running-stage.ts";
import type { TopicKeeper } from "../../router/stage/topic-keeper.ts";
import type { ReloadCauses } from "./reload-causes.ts";

export interface EventParts {
  readonly kafka: Kafka;
  readonly producer: Producer;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly cluster: ClusterView;
  readonly reloads: Pick<ReloadCauses, "refused">;
  readonly stages: readonly RunningStage[];
  readonly keeper: TopicKeeper;
  readonly clock: Clock;
  /** Absent if no stage in this process carries out operator actions. */
  readonly operatorActions?: OperatorActions;
}

const SEEING: readonly StageName[] = ["deliver", "delay", "audience"];

export interface RunningEvents extends AsyncDisposable {
  readonly healthProblems: () => readonly string[];
}

/** The caller disposes the result before the producer is closed. */
export function configuredEvents(
  { current }: { readonly current: () => { readonly config: Config } },
  { cluster, reloads, stages, operatorActions, ...deps }: EventParts,
): RunningEvents {
  const { config } = current();
  const seeing = stages.filter(({ name }) => SEEING.includes(name));
  if (!config.operatorEvents.enabled || seeing.length === 0) {
    return { healthProblems: () => [], [Symbol.asyncDispose]: async () => undefined };
  }
  const topics = configuredTopics(config);
  const watching = watchForPeople(deps, {
    topic: topics.operatorEvents,
    source: `/switchyard/${topics.prefix}`,
    destinations: () => seeing.flatMap((stage) => spokenFor(stage, topics)),
    audiences: () => seeing.flatMap((stage) => stage.audiences?.() ?? []),
    windows: retryWindowsOf(config, seeing, deps, operatorActions ?? NO_OPERATOR_ACTIONS),
    refused: () => reloads.refused(),
    brokers: () => cluster.brokers(),
  });
  const { webhook } = config.operatorEvents;
  const group = groupNames(config.kafka.topicPrefix).operatorEvents;
  const of = { topic: topics.operatorEvents, group };
  const posts = webhook && postToOperator(() => current().config.delivery, webhook, deps, of);
  return {
    healthProblems: () => posts?.healthProblems() ?? [],
    [Symbol.asyncDispose]: async () => {
      watching[Symbol.dispose]();
      await posts?.[Symbol.asyncDispose]();
    },
  };
}

function retryWindowsOf(
  config: Config,
  stages: readonly RunningStage[],
  deps: Pick<EventParts, "kafka" | "clock">,
  operatorActions: OperatorActions,
): WatchedRetryWindows | null {
  const firstAttempts = stages.flatMap((stage) => stage.firstAttempts ?? [])[0];
  if (firstAttempts === undefined) return null;
  const { retryWindowMs } = config.delivery;
  const delays = knownDelays(config, []);
  const groups = groupNames(config.kafka.topicPrefix);
  const windows = {
    delays,
    groups,
    topics: configuredTopics(config),
    retryWindowMs,
    operatorActions,
  };
  return {
    retryWindowMs,
    firstAttempts,
    count: (destinations, beforeMs, signal) =>
      countExpiring(deps, windows, destinations, beforeMs, signal),
  };
}

/** Returns the destinations for which this process owns partition 0. */
function spokenFor(
  deliver: Pick<RunningStage, "partitions" | "destinations">,
  topics: Pick<TopicNames, "deliveries">,
): readonly DestinationStatus[] {
  const owned = deliver.partitions?.() ?? [];
  const first = new Set(owned.filter(({ partition }) => partition === 0).map(({ topic }) => topic));
  const all = deliver.destinations?.() ?? [];
  return all.filter(({ id }) => first.has(topics.deliveries(id)));
}

/** Posts operator events to the operator webhook, with the same signatures and address checks as deliveries. */
type Webhook = NonNullable<Config["operatorEvents"]["webhook"]>;

function postToOperator(
  delivery: () => Config["delivery"],
  webhook: Webhook,
  deps: PostDeps,
  of: { readonly topic: string; readonly group: string },
): RunningPosts {
  const endpoint = {
    key: endpointKey(webhook.url),
    url: webhook.url,
    headers: webhook.headers,
  };
  const http = createHttp(delivery());
  const connected = { endpoints: [endpoint], tls: null, proxy: null };
  const connections = http.open(connected);
  const posts = postEvents(deps, {
    ...of,
    post: async ({ id }, text) => {
      if (http.update(delivery())) connections.update(connected);
      const request = eventRequest(endpoint, webhook, { id, text }, deps.clock.nowMs());
      return postedOf(await send(connections, endpoint, request), deps.clock.nowMs());
    },
  });
  return {
    healthProblems: posts.healthProblems,
    [Symbol.asyncDispose]: async () => {
      await posts[Symbol.asyncDispose]();
      await connections.close();
    },
  };
}

function send(
  connections: HttpConnections,
  endpoint: WebhookEndpoint,
  request: WebhookRequest,
): Promise<RequestResult> {
  return new Promise((resolve) => connections.send(endpoint, request, resolve));
}

function postedOf(result: RequestResult, nowMs: number): Posted {
  if (result.kind === "not-sent") return { kind: "retry", retryAfterMs: null, cause: result.error };
  const outcome = judge(result, nowMs);
  if (outcome.kind === "accepted") return outcome;
  const cause = result.kind === "response" ? `${result.status}` : result.cause;
  return { ...outcome, cause };
}
