/** All troubles that are drilled. */

import { CLOCK_SKEW } from "./clock-skew.ts";
import { DESTINATION_TROUBLES } from "./destination-troubles.ts";
import { FOREIGN_MEMBER } from "./foreign-member.ts";
import { FULL_DISK } from "./full-disk.ts";
import { HALF_A_ROLLOUT } from "./half-a-rollout.ts";
import { KAFKA_AWAY } from "./kafka-away.ts";
import { PERMISSION_LOST } from "./permission-lost.ts";
import { BAD_CONFIG, STOPPED } from "./program-troubles.ts";
import type { HealthProblem } from "./trouble.ts";
import { WRONG_PASSWORD } from "./wrong-password.ts";

export const TROUBLES: readonly HealthProblem[] = [
  ...DESTINATION_TROUBLES,
  BAD_CONFIG,
  STOPPED,
  FULL_DISK,
  CLOCK_SKEW,
  HALF_A_ROLLOUT,
  PERMISSION_LOST,
  FOREIGN_MEMBER,
  KAFKA_AWAY,
  WRONG_PASSWORD,
];
