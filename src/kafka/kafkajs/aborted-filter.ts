/**
 * Leaves out aborted transactions with `wire/without-aborted.ts`. kafkajs takes any record with a
 * key of four zero bytes for a marker. Of several aborted transactions it leaves out only the first.
 */

import { withoutAborted } from "../wire/without-aborted.ts";
import type { Replacement } from "./load-kafkajs.ts";

export const abortedFilter: Replacement = {
  name: "filter-aborted",
  module: "src/consumer/filterAbortedMessages.js",
  replace: () => withoutAborted,
};
