/** How log lines name the call of a record that was given up. */

import { DELIVERY_HEADER } from "./delivery.ts";
import type { RecordHeaders } from "./record.ts";

/** Characters of a message id, and of any other name that is logged. */
const NAME_MAX = 100;

export interface CallNames {
  readonly messageId?: string;
  readonly source?: string;
}

/** As far as the headers name it. The last one of a name counts, as everywhere. */
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
