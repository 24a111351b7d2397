/** The metrics about the state of destinations and their endpoints. */

export const DESTINATION_METRICS = {
  destinationOnHold: {
    name: "switchyard_destination_on_hold",
    type: "gauge",
    labels: ["destination", "reason"],
    help: "1 while a destination is on hold, by reason: circuit-open, retry-after, token, paused, disabled.",
    isSparse: true,
  },
  destinationOnHoldSince: {
    name: "switchyard_destination_on_hold_since_timestamp_seconds",
    type: "gauge",
    labels: ["destination"],
    help:
      "Unix time at which the hold of a destination began; 0 if it is not on hold. A failed " +
      "probe does not end the hold.",
    isSparse: true,
  },
  destinationPaused: {
    name: "switchyard_destination_paused",
    type: "gauge",
    labels: ["destination", "by"],
    help: "1 while a destination is paused, by the configuration or by an operator. Both can be 1.",
    isSparse: true,
  },
  destinationFailingSince: {
    name: "switchyard_destination_failing_since_timestamp_seconds",
    type: "gauge",
    labels: ["destination"],
    help:
      "Unix time at which a destination began to fail; 0 if it is not failing. With deliver: " +
      "every, the time of the endpoint that has been failing longest.",
    isSparse: true,
  },
  destinationLastAccepted: {
    name: "switchyard_destination_last_success_timestamp_seconds",
    type: "gauge",
    labels: ["destination"],
    help: "Unix time of the last accepted attempt since the process started; 0 if there was none.",
  },
  circuitBreakerState: {
    name: "switchyard_circuit_breaker_state",
    type: "gauge",
    labels: ["destination", "endpoint_id", "endpoint_name"],
    help:
      "State of an endpoint's circuit breaker: 0 closed, 1 recovering, 2 open, 3 half-open. At 2 " +
      "and 3, the endpoint is unavailable.",
  },
} as const;
