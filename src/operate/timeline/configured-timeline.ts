/** Creates the ports of a timeline from a configuration, for `switchyard timeline` and the console. */

import type { Config } from "../../config/config.ts";
import { isAttempted } from "../../domain/destination.ts";
import { endpointNames } from "../../domain/endpoint-name.ts";
import { groupNames } from "../../domain/topics.ts";
import { systemClock } from "../../runtime/clock.ts";
import type { CommandSchemas } from "../connect/command-schemas.ts";
import { configuredTopics } from "../connect/connection.ts";
import { factsBy, factsWith } from "./facts.ts";
import type { TimelinePorts } from "./read-timeline.ts";
import type { Names } from "./sentences.ts";

export interface ConfiguredTrace {
  readonly ports: TimelinePorts;
  /** Names of the endpoints of all destinations. */
  readonly names: Names;
}

/** @param schemas used for values with a schema. The caller closes them after reading. */
export function configuredTimeline(
  config: Config,
  schemas: Pick<CommandSchemas, "of" | "given">,
  { kafka, signal }: Pick<TimelinePorts, "kafka" | "signal">,
): ConfiguredTrace {
  const { destinations } = config;
  const topics = configuredTopics(config);
  const attempted = destinations.filter(isAttempted);
  const others = destinations.filter((each) => !each.isAttempted);
  return {
    ports: {
      kafka,
      topics,
      groups: groupNames(config.kafka.topicPrefix),
      factsOf: factsWith(schemas, factsBy(config, topics, systemClock.nowMs())),
      topicDestinations: new Set(others.map(({ id }) => id)),
      nowMs: () => systemClock.nowMs(),
      signal,
    },
    names: new Map(attempted.flatMap((each) => [...endpointNames(each)])),
  };
}
