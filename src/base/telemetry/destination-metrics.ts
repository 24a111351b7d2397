/** The metrics about the state of destinations and their endpoints, and about waiting deliveries. */

export const DESTINATION_METRICS = {
  destinationOnHold: {
    name: "switchyard_destination_on_hold",
    type: "gauge",
    labels: ["destination", "reason"],
    help: "1 while a destination is on hold, by reason: circuit-open, retry-after, token, proxy, gone, order, paused, disabled.",
    isSparse: true,
  },
  destinationOnHoldSince: {
    name: "switchyard_destination_on_hold_since_timestamp_seconds",
    type: "gauge",
    labels: ["destination"],
    help: "Unix time at which the hold of a destination began; 0 if it is not on hold.",
    isSparse: true,
  },
  destinationProxyFailing: {
    name: "switchyard_destination_proxy_failing",
    type: "gauge",
    labels: ["destination", "proxy"],
    help:
      "1 while a destination is on hold because this proxy fails; the label is the host and the " +
      "port. Absent otherwise.",
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
  orderBlockedUsers: {
    name: "switchyard_order_blocked_users",
    type: "gauge",
    labels: ["destination"],
    help:
      "With order: strict, users on the process's partitions whose deliveries wait, because one of them awaits a retry " +
      "or, with onDeadLetter: hold, is a dead letter.",
  },
  orderWaitingDeliveries: {
    name: "switchyard_order_waiting_deliveries",
    type: "gauge",
    labels: ["destination"],
    help: "With order: strict, deliveries in the queue that wait behind an earlier delivery of their user.",
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

/** The metrics of deliveries that await retry. */
export const WAITING_METRICS = {
  deliveriesWaiting: {
    name: "switchyard_deliveries_awaiting_retry",
    type: "gauge",
    labels: ["destination", "delay"],
    help:
      "Deliveries that await retry; with an empty destination, the sum of all destinations that " +
      "are not listed. Absent while unknown.",
    isSparse: true,
    inStatus: true,
  },
  oldestWaiting: {
    name: "switchyard_deliveries_awaiting_retry_oldest_timestamp_seconds",
    type: "gauge",
    labels: ["destination"],
    help: "Unix time at which the oldest delivery awaiting retry was written to its delay topic. Absent if none is known.",
  },
  nextDue: {
    name: "switchyard_deliveries_next_retry_timestamp_seconds",
    type: "gauge",
    labels: ["destination"],
    help: "Unix time at which the next delivery awaiting retry is due. Absent if none is known.",
    inStatus: true,
  },
  firstWindowEnd: {
    name: "switchyard_deliveries_next_expiry_timestamp_seconds",
    type: "gauge",
    labels: ["destination"],
    help:
      "Earliest Unix time at which the retry window of a delivery awaiting retry ends. Absent if " +
      "none is known.",
  },
  waitingUnknown: {
    name: "switchyard_delay_uncounted_partitions",
    type: "gauge",
    labels: ["delay"],
    help: "Partitions of a delay topic whose content is unknown.",
    inStatus: true,
  },
} as const;
