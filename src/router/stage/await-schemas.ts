/**
 * Passes each record to a stage together with the schema of its value, once the schema is known.
 *
 *   a record's value                              the record
 *   has no schema                                 is passed on
 *   has a frame that cannot be read               is passed on, as invalid
 *   has a schema that the process has cached      is passed on, with the schema
 *   has a schema that the registry does not have  is passed on, with that result instead of a schema
 *   has a schema that was not looked up yet       is not admitted, and later records of its partition wait
 *
 *   step                              if the process crashes after it
 *   1  the schema is fetched          the record is read again: it was never passed on
 *   2  the stage takes the record     depends on the stage
 *
 * While a partition waits for a schema, the schemas of the records that were fetched after it are requested too, each
 * once, so that a partition whose records all have new schemas does not wait for one lookup at a time. A partition
 * requests at most eight schemas at a time, and ends when 100 of them were found, because the process caches only 1,000.
 *
 * A record that waits is not in flight, so it takes no room from the consumer's other partitions. An outage of the
 * registry therefore stops only partitions whose next record needs an unknown schema (docs/registry.md#outages). A
 * drain cancels the wait and leaves the waiting records to the partition's next owner. A record keeps its schema until
 * it is processed, even if the cache drops the schema meanwhile.
 */

import { setImmediate as otherWork } from "node:timers/promises";
import { frameOf } from "../../domain/framing.ts";
import type { KnownSchema, SchemaRef } from "../../domain/known-schemas.ts";
import { type IncomingRecord, withSchema } from "../../domain/record.ts";
import type { PartitionHandler } from "../../kafka/port.ts";
import type { Schemas } from "../../registry/port.ts";
import type { OnBooked } from "../ledger/stage-ledger.ts";

/** In addition to the schema for which the partition waits. */
const AHEAD_AT_ONCE = 7;
const AHEAD_MAX = { requested: 5_000, found: 100 };
/** The number of records that are examined before other work gets a turn. */
const PIECE_RECORDS = 1_000;

/** Returned if the consumer is about to end. Never resolves. */
const NEVER = new Promise<void>(() => undefined);

/**
 * @param schemas undefined if no registry is configured. In this case, all records are passed on unchanged.
 * @param fail called with each failure; an outage of the registry does not count as a failure.
 */
export function awaitSchemas(
  schemas: Schemas | undefined,
  onAssigned: OnBooked,
  fail: (thrown: unknown) => void,
): OnBooked {
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
  const get = (ref: SchemaRef) => schemas.get(ref);
  let isAhead = false;
  const lookAhead = async (ref: SchemaRef, records: Iterable<IncomingRecord>) => {
    if (isAhead) return;
    isAhead = true;
    const requested = new Set([ref]);
    const some = () => requestAhead(records, requested, schemas, signal);
    await Promise.allSettled(Array.from({ length: AHEAD_AT_ONCE }, some));
    isAhead = false;
  };
  return {
    admit: (record, ahead) => {
      const given = givenSchema(record, get);
      if (typeof given === "object") return given;
      if (ahead !== undefined) void lookAhead(given, ahead());
      // The schema is looked up again when it has arrived, because the cache may have dropped it by then.
      return schemas.ready([given], signal).catch((thrown: unknown) => {
        if (signal.aborted) return;
        fail(thrown);
        return NEVER;
      });
    },
    get followers() {
      return handler.followers ?? 0;
    },
    take: (records) => handler.take(records),
    drain: () => {
      draining.abort(new Error("the partition is being revoked"));
      return handler.drain();
    },
  };
}

/** Requests the schemas of the records, one at a time. Several calls share the records. */
async function requestAhead(
  records: Iterable<IncomingRecord>,
  requested: Set<SchemaRef>,
  schemas: Schemas,
  signal: AbortSignal,
): Promise<void> {
  let [examined, found] = [0, 0];
  for (const record of records) {
    examined += 1;
    if (examined % PIECE_RECORDS === 0) await otherWork();
    const ref = givenSchema(record, (each) => schemas.get(each));
    if (typeof ref === "object" || requested.has(ref)) continue;
    requested.add(ref);
    await schemas.request(ref, signal);
    if (schemas.get(ref)?.kind === "schema") found += 1;
    const isOver = found * AHEAD_AT_ONCE >= AHEAD_MAX.found;
    if (isOver || requested.size >= AHEAD_MAX.requested) return;
  }
}

/** The same for a record that was not passed on by a consumer. Rejects if the signal aborts. */
export async function withItsSchema(
  schemas: Schemas | undefined,
  record: IncomingRecord,
  signal: AbortSignal,
): Promise<IncomingRecord> {
  if (schemas === undefined) return record;
  for (;;) {
    const given = givenSchema(record, (ref) => schemas.get(ref));
    if (typeof given === "object") return given;
    await schemas.ready([given], signal);
  }
}

/**
 * Returns the record, together with the schema of its value if the value has one. If the schema is not known yet,
 * returns a reference to the schema instead.
 */
export function givenSchema(
  record: IncomingRecord,
  get: (ref: SchemaRef) => KnownSchema | null,
): IncomingRecord | SchemaRef {
  if (record.value === null) return record;
  const frame = frameOf(record.value, record);
  if (frame.kind === "none") return record;
  if (frame.kind === "refused") return withSchema(record, { ref: 0, known: frame, start: 0 });
  const { ref, start } = frame;
  const known = get(ref);
  return known === null ? ref : withSchema(record, { ref, known, start });
}
