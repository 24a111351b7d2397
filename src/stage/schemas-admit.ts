/**
 * The same as `await-schemas.ts`, for a consumer that holds its fetch loop while it has no room. Its
 * partitions share that room, so a record that waits must not be in hand.
 *
 *   a record's value                              the record
 *   has no schema, or one that is known, or       is handed over, as in `await-schemas.ts`
 *     is refused
 *   has one that is not known yet                 is not admitted, and its partition waits for it
 *
 *   step                              a crash after it
 *   1  the schema is looked up        the record is read again: it was never handed over
 *   2  the stage takes the record     as the stage says
 *
 * A look-up lasts as long as an outage. Meanwhile the consumer's other partitions go on, with all of
 * their room (docs/registry.md#outages). A drain gives the look-up up.
 */

import type { IncomingRecord } from "../domain/record.ts";
import type { ConsumeOptions, PartitionHandler } from "../kafka/port.ts";
import type { Schemas } from "../registry/port.ts";
import { givenSchema } from "./await-schemas.ts";

type OnAssigned = ConsumeOptions["onAssigned"];

/** The consumer is about to end. */
const NEVER = new Promise<void>(() => undefined);

/**
 * @param schemas absent: no registry is configured, and all records are handed over as they come.
 * @param fail is told of failures; outages are none.
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
      // Asked again when it is there: by then it may be forgotten.
      return schemas.ready([given], signal).catch((thrown: unknown) => {
        if (signal.aborted) return;
        fail(thrown);
        return NEVER;
      });
    },
    take: (records) => handler.take(records),
    drain: () => {
      draining.abort(new Error("the partition is being taken away"));
      return handler.drain();
    },
  };
}
