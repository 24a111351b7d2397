/** The part of the metrics table that is about a schema registry. */

export const REGISTRY_METRICS = {
  registryLookups: {
    name: "switchyard_registry_lookups_total",
    type: "counter",
    labels: ["outcome"],
    help: "Look-ups of schemas by outcome: found, unknown, unusable (too large), or outage: no answer that counts.",
  },
  registrySchemas: {
    name: "switchyard_registry_schemas",
    type: "gauge",
    labels: [],
    help: "Schemas that this process keeps, compiled.",
  },
  registryWaiting: {
    name: "switchyard_registry_pending_schemas",
    type: "gauge",
    labels: [],
    help: "Schemas that are looked up now. Partitions wait for them.",
  },
  registryUnreachableSince: {
    name: "switchyard_registry_unreachable_since_timestamp_seconds",
    type: "gauge",
    labels: [],
    help: "Since when look-ups get no answer that counts; 0: they do.",
  },
} as const;
