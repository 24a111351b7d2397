/**
 * Like `await-schemas.ts`, for a consumer that blocks its fetch loop while it has no room. Its
 * partitions share that room, so a record that waits must not be in flight.
 *
 *   a record's value                              the record
 *   has no schema, or one that is known or        is passed on, as in `await-schemas.ts`
 *     invalid
 *   has one that is not known yet                 is not admitted, and its partition waits for it
 *
 *   step                              after a crash
 *   1  the schema is fetched          the record is read again: it was never passed on
 *   2  the stage takes the record     depends on the stage
 *
 * A lookup lasts as long as an outage. Meanwhile the consumer's other partitions continue, with all
 * of their room (docs/registry.md#outages). A drain cancels the lookup.
 */

import type { IncomingRecord } from "../domain/record.ts";
import type { ConsumeOptions, PartitionHandler } from "../kafka/port.ts";
import type { Schemas } from "../registry/port.ts";
import { givenSchema } from "./await-schemas.ts";

type OnAssigned = ConsumeOptions["onAssigned"];

/** Never resolves, because the consumer is about to end. */
const NEVER = new Promise<void>(() => undefined);

/**
 * @param schemas absent if no registry is configured: all records are passed on as they come.
 * @param fail is called with failures; an outage is not one.
 */
export function schemasAdmit(
  schemas: Schemas | undefined,
  onAssigned: OnAssigned,
  fail: (thrown: unknown) => void,
): OnAssigned {
  if (schemas === undefined) return onAssigned;
  return (assigned) => admitting(schemas, onAssigned(assigned), fail);
}

function admitting(
  schemas: Schemas,
  handler: PartitionHandler,
  fail: (thrown: unknown) => void,
): PartitionHandler {
  const draining = new AbortController();
  const { signal } = draining;
  return {
    admit: (record: IncomingRecord) => {
      const given = givenSchema(record, (ref) => schemas.get(ref));
      if (typeof given === "object") return given;
      // Called again when the schema has arrived, because the cache may have dropped it by then.
      return schemas.ready([given], signal).catch((thrown: unknown) => {
        if (signal.aborted) return;
        fail(thrown);
        return NEVER;
      });
    },
    take: (records) => handler.take(records),
    drain: () => {
      draining.abort(new Error("the partition is being revoked"));
      return handler.drain();
    },
  };
}
