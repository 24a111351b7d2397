/**
 * The dead letters of the audience stage.
 *
 *   what happened                          the dead letter
 *   a record breaks the protocol           its key, value and own headers, and the reason
 *   the brokers refuse the call of a       the same, reason too-large
 *     trait because of its size
 *   they refuse a dead letter              the same without key, value and own headers
 */

import { deadLetter } from "../domain/dead-letter.ts";
import { foreignHeaders } from "../domain/delivery.ts";
import type { OutgoingRecord } from "../domain/record.ts";
import type { GivenUp } from "./ports.ts";

export function deadLetterOf(givenUp: GivenUp, topic: string, nowMs: number): OutgoingRecord {
  const { record, reason, error } = givenUp;
  const cause = { stage: "audience", reason, error, failedAtMs: nowMs } as const;
  return deadLetter(topic, record, cause, foreignHeaders(record.headers));
}

export function bareLetterOf(givenUp: GivenUp, topic: string, nowMs: number): OutgoingRecord {
  const { record, reason } = givenUp;
  const bytes = record.value?.length ?? 0;
  const error = `${givenUp.error}; its ${bytes} bytes are too large for this topic and not kept here`;
  const bare = { ...record, key: null, value: null, headers: [] };
  return deadLetterOf({ record: bare, reason, error }, topic, nowMs);
}
