/**
 * Passes records to a stage, together with their schemas, once those are known.
 *
 *   a record's value                              the record
 *   has no schema                                 is passed on
 *   has a frame that cannot be read               is passed on, as invalid
 *   has a schema that the process knows           is passed on, with the schema
 *   has one that the registry does not have       the same: the schema then says so
 *   has one that is not known yet                 waits, and so do later records of its partition
 *
 *   step                              after a crash
 *   1  the schemas are fetched        the records are read again: nothing was written for them
 *   2  the stage takes the records    depends on the stage
 *
 * An outage of the registry therefore stops only the partitions that need a schema which is not known
 * yet; for that, the consumer must pause single partitions. A drain cancels the lookup and leaves the
 * records to the partition's next owner. A record keeps its schema until it is processed, even if the
 * cache drops the schema meanwhile.
 *
 * A consumer that blocks its fetch loop while it has no room uses `schemas-admit.ts`.
 */

import { type Frame, frameOf } from "../domain/framing.ts";
import type { KnownSchema, SchemaRef } from "../domain/known-schemas.ts";
import { type IncomingRecord, withSchema } from "../domain/record.ts";
import type { ConsumeOptions, PartitionHandler } from "../kafka/port.ts";
import type { Schemas } from "../registry/port.ts";
import { serialRunner } from "./serial-runner.ts";

type OnAssigned = ConsumeOptions["onAssigned"];

/** Requested together: all of them stay in the cache until the records are passed on. */
const REFS_AT_ONCE = 100;

/**
 * @param schemas absent if no registry is configured: all records are passed on as they come.
 * @param fail is called with failures; an outage is not one.
 */
export function schemasFirst(
  schemas: Schemas | undefined,
  onAssigned: OnAssigned,
  fail: (thrown: unknown) => void,
): OnAssigned {
  if (schemas === undefined) return onAssigned;
  return (assigned) => handing(schemas, onAssigned(assigned), fail);
}

function handing(
  schemas: Schemas,
  handler: PartitionHandler,
  fail: (thrown: unknown) => void,
): PartitionHandler {
  const waiting: (readonly IncomingRecord[])[] = [];
  const draining = new AbortController();
  const { signal } = draining;
  let isWaiting = false;

  const get = (ref: SchemaRef) => schemas.get(ref);
  const handOver = (records: readonly IncomingRecord[], known: GetSchema) => {
    const { ready, rest } = split(records, known);
    if (ready.length > 0) handler.take(ready);
    return rest;
  };
  const wait = async (records: readonly IncomingRecord[]) => {
    let rest = records;
    while (rest.length > 0) {
      const refs = missing(rest, get);
      await schemas.ready(refs, signal);
      if (signal.aborted) return;
      // Found before the next wait, because the cache does not keep schemas forever.
      const found = new Map(refs.map((ref) => [ref, schemas.get(ref)]));
      rest = handOver(rest, (ref) => found.get(ref) ?? schemas.get(ref));
    }
  };
  const waits = serialRunner(
    () => {
      const records = waiting.shift();
      isWaiting = records !== undefined;
      return records === undefined ? null : wait(records);
    },
    (thrown) => {
      if (!signal.aborted) fail(thrown);
    },
  );
  return {
    take: (records) => {
      if (signal.aborted) return;
      const rest = isWaiting ? records : handOver(records, get);
      if (rest.length === 0) return;
      waiting.push(rest);
      waits.wake();
    },
    drain: async () => {
      draining.abort(new Error("the partition is being revoked"));
      waiting.length = 0;
      await Promise.all([waits.ended(), handler.drain()]);
    },
  };
}

export type GetSchema = (ref: SchemaRef) => KnownSchema | null;

/** The record with its value's schema, if it has one; or the schema that is not known yet. */
export function givenSchema(record: IncomingRecord, get: GetSchema): IncomingRecord | SchemaRef {
  const frame = frameOfRecord(record);
  if (frame.kind === "none") return record;
  if (frame.kind === "refused") return withSchema(record, { ref: 0, known: frame, start: 0 });
  const { ref, start } = frame;
  const known = get(ref);
  return known === null ? ref : withSchema(record, { ref, known, start });
}

interface Split {
  readonly ready: readonly IncomingRecord[];
  /** Starts with a record whose schema is not known yet, or is empty. */
  readonly rest: readonly IncomingRecord[];
}

function split(records: readonly IncomingRecord[], get: GetSchema): Split {
  const ready: IncomingRecord[] = [];
  for (const [index, record] of records.entries()) {
    const given = givenSchema(record, get);
    if (typeof given !== "object") return { ready, rest: records.slice(index) };
    ready.push(given);
  }
  return { ready, rest: [] };
}

/** Some of the schemas that are not known yet, each once. */
function missing(records: readonly IncomingRecord[], get: GetSchema): readonly SchemaRef[] {
  const refs = new Set<SchemaRef>();
  for (const record of records) {
    const frame = frameOfRecord(record);
    if (frame.kind === "framed" && get(frame.ref) === null) refs.add(frame.ref);
    if (refs.size === REFS_AT_ONCE) break;
  }
  return [...refs];
}

const NONE: Frame = { kind: "none" };

function frameOfRecord(record: IncomingRecord): Frame {
  const { value } = record;
  return value === null ? NONE : frameOf(value, record);
}
