/** The message ID and other names by which log lines identify the call in a dead-lettered record. */

import { DELIVERY_HEADER } from "./delivery.ts";
import type { RecordHeaders } from "./record.ts";

/** Message IDs and other names are truncated to this many characters in logs. */
const NAME_MAX = 100;

export interface CallNames {
  readonly messageId?: string;
  readonly source?: string;
}

/** The names that the headers contain. If a header is repeated, its last value counts, as everywhere else. */
export function callNames(headers: RecordHeaders): CallNames {
  const text = (wanted: string) =>
    headers
      .findLast(([name]) => name === wanted)?.[1]
      ?.toString()
      .slice(0, NAME_MAX);
  const [messageId, source] = [text(DELIVERY_HEADER.messageId), text(DELIVERY_HEADER.source)];
  return {
    ...(messageId === undefined ? {} : { messageId }),
    ...(source === undefined ? {} : { source }),
  };
}
