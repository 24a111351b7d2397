/** Which alerts fire in a trouble. */

export interface ExpectedAlerts {
  readonly fire: readonly string[];
  /** True as well, and not always seen. */
  readonly mayFire?: readonly string[];
}

/** Of the program, where more than a quarter of its destinations are drilled to fail at once. */
const MANY = "SwitchyardDestinationsFailing";
const FAILING: ExpectedAlerts = {
  fire: ["SwitchyardDestinationFailing", "SwitchyardDestinationOnHold"],
  mayFire: [MANY],
};

/** By the trouble's name. Of a destination's trouble they name that destination. */
export const ALERTS: Readonly<Record<string, ExpectedAlerts>> = {
  down: FAILING,
  silent: FAILING,
  "self-signed": FAILING,
  refuses: { fire: ["SwitchyardDestinationFailing", "SwitchyardDeadLetters"], mayFire: [MANY] },
  slow: { fire: ["SwitchyardLagRising"] },
  // Its line is held for 40 s at a time, which no alert is about.
  "retry-after": {
    fire: ["SwitchyardDestinationFailing"],
    mayFire: ["SwitchyardDestinationOnHold", MANY],
  },
  disabled: { fire: ["SwitchyardCallsSkipped"] },
  paused: { fire: [] },
  // Nobody knows the lag of a topic that is gone, and that alert names no destination. A delivery that
  // comes back from a delay topic finds no topic: a dead letter.
  "topic-gone": {
    fire: ["SwitchyardTopicNotWritable"],
    mayFire: ["SwitchyardLagUnknown", "SwitchyardDeadLetters"],
  },
  "bad-config": { fire: ["SwitchyardConfigInvalid"] },
  stopped: { fire: ["SwitchyardTargetDown", "SwitchyardAbsent"] },
  // Its consumer has no partitions between its starts.
  "full-disk": {
    fire: ["SwitchyardAudienceStateStoreUnavailable"],
    mayFire: ["SwitchyardLagUnknown"],
  },
  "clock-skew": { fire: ["SwitchyardClockWrong"] },
  "half-a-rollout": { fire: ["SwitchyardRoutesMissing"] },
  // To write one topic, and to read in one group.
  "permission-lost": { fire: ["SwitchyardTopicNotWritable", "SwitchyardLagUnknown"] },
  "foreign-member": { fire: ["SwitchyardForeignGroupMember"], mayFire: ["SwitchyardLagUnknown"] },
  "kafka-away": { fire: ["SwitchyardKafkaUnreachable"] },
};

export function expectedOf(trouble: string): ExpectedAlerts {
  const expected = ALERTS[trouble];
  if (expected === undefined) throw new Error(`nobody has said which alerts ${trouble} has`);
  return expected;
}
