/** The part of the metrics table that is about the state of a destination, and of its endpoints. */

export const DESTINATION_METRICS = {
  lineHeld: {
    name: "switchyard_destination_on_hold",
    type: "gauge",
    labels: ["destination", "reason"],
    help: "1 while nothing is taken from a destination's line, by reason: circuit-open, retry-after, paused, disabled. Zeros are only shown with metrics.destinations: full.",
    isSparse: true,
  },
  lineHeldSince: {
    name: "switchyard_destination_on_hold_since_timestamp_seconds",
    type: "gauge",
    labels: ["destination"],
    help: "Since when nothing is taken from a destination's line; probes that fail do not end it. 0: it is not held, only shown with metrics.destinations: full.",
    isSparse: true,
  },
  destinationPaused: {
    name: "switchyard_destination_paused",
    type: "gauge",
    labels: ["destination", "by"],
    help: "1 while a destination is paused by the configuration, or by an operation: a command, or the page. Both can be 1. Zeros are only shown with metrics.destinations: full.",
    isSparse: true,
  },
  destinationFailingSince: {
    name: "switchyard_destination_failing_since_timestamp_seconds",
    type: "gauge",
    labels: ["destination"],
    help: "Unix time since which a destination has been failing: at least half of its attempts in a minute failed, and no minute since then had less than a fifth that did. It stays between two attempts. With deliver: every, of the endpoint that has failed for longest. 0: it is not failing, only shown with metrics.destinations: full. Alert on minutes of it.",
    isSparse: true,
  },
  destinationLastAccepted: {
    name: "switchyard_destination_last_success_timestamp_seconds",
    type: "gauge",
    labels: ["destination"],
    help: "The last attempt of a destination that was accepted. 0: none since the process started.",
  },
  circuitBreakerState: {
    name: "switchyard_circuit_breaker_state",
    type: "gauge",
    labels: ["destination", "endpoint_id", "endpoint_name"],
    help: "Circuit breaker of an endpoint, by its key and name: 0 closed, 1 recovering, 2 open, 3 half-open. From 2 on the endpoint is left alone.",
  },
} as const;
