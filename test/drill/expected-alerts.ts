/** The alerts that fire in each problem. */

export interface ExpectedAlerts {
  readonly fire: readonly string[];
  /** Alerts that are also correct, but do not always fire. */
  readonly mayFire?: readonly string[];
}

/** The alert about the whole program, which fires if more than a quarter of its destinations fail at the same time. */
const MANY = "SwitchyardDestinationsFailing";
const FAILING: ExpectedAlerts = {
  fire: ["SwitchyardDestinationFailing", "SwitchyardDestinationOnHold"],
  mayFire: [MANY],
};

/** By the problem's name. If a problem concerns a destination, the alerts name that destination. */
export const ALERTS: Readonly<Record<string, ExpectedAlerts>> = {
  down: FAILING,
  silent: FAILING,
  "self-signed": FAILING,
  refuses: { fire: ["SwitchyardDestinationFailing", "SwitchyardDeadLetters"], mayFire: [MANY] },
  slow: { fire: ["SwitchyardLagRising"] },
  // The destination is on hold for 40 s at a time, for which there is no alert.
  "retry-after": {
    fire: ["SwitchyardDestinationFailing"],
    mayFire: ["SwitchyardDestinationOnHold", MANY],
  },
  disabled: { fire: ["SwitchyardCallsSkipped"] },
  paused: { fire: [] },
  // The lag of a missing topic is unknown, and the alert about that names no destination. A delivery that is returned
  // from a delay topic becomes a dead letter, because its topic does not exist.
  "topic-gone": {
    fire: ["SwitchyardTopicNotWritable"],
    mayFire: ["SwitchyardLagUnknown", "SwitchyardDeadLetters"],
  },
  "bad-config": { fire: ["SwitchyardConfigInvalid"] },
  stopped: { fire: ["SwitchyardTargetDown", "SwitchyardAbsent"] },
  // The consumer has no partitions between two restarts.
  "full-disk": {
    fire: ["SwitchyardAudienceStateStoreUnavailable"],
    mayFire: ["SwitchyardLagUnknown"],
  },
  "clock-skew": { fire: ["SwitchyardClockWrong"] },
  "half-a-rollout": { fire: ["SwitchyardRoutesMissing"] },
  // The permissions to write to one topic, and to read in one group.
  "permission-lost": { fire: ["SwitchyardTopicNotWritable", "SwitchyardLagUnknown"] },
  "foreign-member": { fire: ["SwitchyardForeignGroupMember"], mayFire: ["SwitchyardLagUnknown"] },
  "kafka-unreachable": { fire: ["SwitchyardKafkaUnreachable"] },
};

export function expectedOf(problem: string): ExpectedAlerts {
  const expected = ALERTS[problem];
  if (expected === undefined) throw new Error(`nobody has said which alerts ${problem} has`);
  return expected;
}
