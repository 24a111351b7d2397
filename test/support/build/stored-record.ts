/**
 * A record for tests that behaves like a fetched one: the fields belong to its class, so that a copy of its own
 * properties (`{ ...record }`) has none of them.
 */

import type { IncomingRecord, RecordHeaders } from "../../../src/domain/record.ts";

export class StoredRecord implements IncomingRecord {
  readonly #says: IncomingRecord;

  constructor(says: IncomingRecord) {
    this.#says = says;
  }

  get topic(): string {
    return this.#says.topic;
  }

  get partition(): number {
    return this.#says.partition;
  }

  get offset(): number {
    return this.#says.offset;
  }

  get timestampMs(): number {
    return this.#says.timestampMs;
  }

  get key(): Buffer | null {
    return this.#says.key;
  }

  get value(): Buffer | null {
    return this.#says.value;
  }

  get headers(): RecordHeaders {
    return this.#says.headers;
  }
}
