/** Every trouble that is drilled. */

import { DESTINATION_TROUBLES } from "./destination-troubles.ts";
import { FULL_DISK } from "./full-disk.ts";
import { KAFKA_AWAY } from "./kafka-away.ts";
import { BAD_CONFIG, STOPPED } from "./program-troubles.ts";
import type { Trouble } from "./trouble.ts";
import { WRONG_PASSWORD } from "./wrong-password.ts";

export const TROUBLES: readonly Trouble[] = [
  ...DESTINATION_TROUBLES,
  BAD_CONFIG,
  STOPPED,
  FULL_DISK,
  KAFKA_AWAY,
  WRONG_PASSWORD,
];
