/** All problems that are drilled. */

import { CLOCK_SKEW } from "./clock-skew.ts";
import { DESTINATION_PROBLEMS } from "./destination-problems.ts";
import { FOREIGN_MEMBER } from "./foreign-member.ts";
import { FULL_DISK } from "./full-disk.ts";
import { HALF_A_ROLLOUT } from "./half-a-rollout.ts";
import { KAFKA_UNREACHABLE } from "./kafka-unreachable.ts";
import { PERMISSION_LOST } from "./permission-lost.ts";
import type { HealthProblem } from "./problem.ts";
import { BAD_CONFIG, STOPPED } from "./program-problems.ts";
import { WRONG_PASSWORD } from "./wrong-password.ts";

export const PROBLEMS: readonly HealthProblem[] = [
  ...DESTINATION_PROBLEMS,
  BAD_CONFIG,
  STOPPED,
  FULL_DISK,
  CLOCK_SKEW,
  HALF_A_ROLLOUT,
  PERMISSION_LOST,
  FOREIGN_MEMBER,
  KAFKA_UNREACHABLE,
  WRONG_PASSWORD,
];
