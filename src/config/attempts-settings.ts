/** The section `attempts`: a topic that is written only where somebody asks for it. */

import { duration, flag } from "./scalars.ts";
import { optional, section, setting } from "./setting.ts";
import { size } from "./size.ts";

const HOUR_MS = 3_600_000;
/** Five endpoints' answers, as JSON, have to fit into a record of 1 MiB. */
const RESPONSES_MAX_BYTES = 16 * 1_024;

export const attemptsSettings = section(
  "The topic of attempts, from which `switchyard timeline` tells what became of a call, see [Attempts](topics.md#attempts).",
  {
    enabled: setting(flag(), false, "Whether deliver writes a record for each attempt."),
    retention: setting(duration(HOUR_MS, 90 * 24 * HOUR_MS), "3d", "How long Kafka keeps them."),
    responseBytes: optional(
      size(1, RESPONSES_MAX_BYTES),
      "Of an answer that is none of success, so much of the body's head is kept. Left out: nothing. Endpoints may repeat there what they were sent.",
    ),
  },
);
