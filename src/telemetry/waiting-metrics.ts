/** The part of the metrics table that is about deliveries that wait in delay topics. */

export const WAITING_METRICS = {
  deliveriesWaiting: {
    name: "switchyard_deliveries_awaiting_retry",
    type: "gauge",
    labels: ["destination", "delay"],
    help: "Deliveries that wait in the partitions of a delay topic owned here; destination is empty for the rest together. Absent where it is not known for the delay topic. Zeros are only shown with metrics.destinations: full.",
    isSparse: true,
  },
  oldestWaiting: {
    name: "switchyard_deliveries_awaiting_retry_oldest_timestamp_seconds",
    type: "gauge",
    labels: ["destination"],
    help: "When the oldest of the deliveries that wait was put into its delay topic. Absent when none is known to wait.",
  },
  nextDue: {
    name: "switchyard_deliveries_next_retry_timestamp_seconds",
    type: "gauge",
    labels: ["destination"],
    help: "When the next of the deliveries that wait is due. Absent when none is known to wait.",
  },
  firstWindowEnd: {
    name: "switchyard_deliveries_next_expiry_timestamp_seconds",
    type: "gauge",
    labels: ["destination"],
    help: "The earliest end of a window among the deliveries that wait: the first attempt and delivery.retryWindow. Absent when none that was attempted is known to wait.",
  },
  waitingUnknown: {
    name: "switchyard_delay_uncounted_partitions",
    type: "gauge",
    labels: ["delay"],
    help: "Partitions of a delay topic of which it is not known what waits there: they are still being read, cannot be read, or are not assigned yet (counted as one). Alert on minutes of it.",
  },
} as const;
