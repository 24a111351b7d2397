/** The metrics of deliveries that await retry. */

export const WAITING_METRICS = {
  deliveriesWaiting: {
    name: "switchyard_deliveries_awaiting_retry",
    type: "gauge",
    labels: ["destination", "delay"],
    help:
      "Deliveries that await retry in a delay topic; with an empty destination, the sum of all " +
      "destinations that are not listed. Absent while the content of the delay topic is " +
      "unknown.",
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
      "Unix time at which the next retry window of a delivery awaiting retry ends. Absent if " +
      "none is known.",
  },
  waitingUnknown: {
    name: "switchyard_delay_uncounted_partitions",
    type: "gauge",
    labels: ["delay"],
    help:
      "Partitions of a delay topic whose content is unknown, because they are still being read, " +
      "cannot be read, or are not assigned yet (counted as one).",
    inStatus: true,
  },
} as const;
