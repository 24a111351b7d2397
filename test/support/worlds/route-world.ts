/** The route stage with a Kafka in memory, on a clock that tests advance. */

import type { DestinationId, SourceId } from "../../../src/domain/ids.ts";
import type { IncomingRecord } from "../../../src/domain/record.ts";
import type { DestinationRules } from "../../../src/domain/rules.ts";
import type { Schemas } from "../../../src/registry/port.ts";
import { startRoute } from "../../../src/router/route/stage.ts";
import { aSource, aTopicDestination } from "../build/calls.ts";
import { groups, StageWorld, topics } from "./stage-world.ts";

/** All destinations that are configured. */
export const DESTINATIONS = Array.from({ length: 20 }, (_, index) => `d${index}`);

export class RouteWorld extends StageWorld {
  constructor(partitions = 1, recordMaxBytes: (topic: string) => number = () => 1_048_576) {
    super({ input: topics.calls, group: groups.route, partitions, recordMaxBytes });
    for (const id of DESTINATIONS)
      this.cluster.createTopic(topics.deliveries(id as DestinationId), 2);
  }

  /** @param rulesOf the rules of a destination. */
  start(
    connectedTo: readonly string[],
    schemas?: Schemas,
    rulesOf: (id: string) => Partial<DestinationRules> = () => ({}),
  ) {
    return this.startIn((deps) =>
      startRoute(schemas === undefined ? deps : { ...deps, schemas }, {
        topics,
        groups,
        sources: [aSource("web", connectedTo)],
        defaultSource: "web" as SourceId,
        destinations: DESTINATIONS.map((id) => aTopicDestination(id, rulesOf(id))),
        maxBytes: 32_000_000,
        drainLimitMs: 10_000,
      }),
    );
  }

  appendCalls(count: number, from = 0): void {
    for (let number = from; number < from + count; number += 1) this.append(trackCall(number));
  }

  deliveries(id: string): readonly IncomingRecord[] {
    return this.cluster.records(topics.deliveries(id as DestinationId));
  }
}

/** A call of one of seven users, with the message ID `m<number>`. */
export const trackCall = (number: number, more: object = {}) => ({
  type: "track",
  userId: `u${number % 7}`,
  event: "e",
  messageId: `m${number}`,
  ...more,
});
