/** The metrics of a schema registry. */

export const REGISTRY_METRICS = {
  registryLookups: {
    name: "switchyard_registry_lookups_total",
    type: "counter",
    labels: ["outcome"],
    help: "Lookups of schemas by outcome: found, unknown, unusable (too large), or outage (no usable response).",
  },
  registrySchemas: {
    name: "switchyard_registry_schemas",
    type: "gauge",
    labels: [],
    help: "Compiled schemas that this process has cached.",
  },
  registryWaiting: {
    name: "switchyard_registry_pending_schemas",
    type: "gauge",
    labels: [],
    help: "Schemas that are being looked up. Partitions wait for them.",
  },
  registryUnreachableSince: {
    name: "switchyard_registry_unreachable_since_timestamp_seconds",
    type: "gauge",
    labels: [],
    help: "Unix time since which no lookup has had a usable response; 0 if the last lookup had one.",
  },
} as const;
