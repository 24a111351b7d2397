/** The part of the metrics table that is about audiences. */

const SYNC_S = [1, 5, 15, 60, 300, 900, 3600, 14400, 86400];

export const AUDIENCE_METRICS = {
  audienceSyncs: {
    name: "switchyard_audience_syncs_total",
    type: "counter",
    labels: ["outcome"],
    help: "Audience syncs by their start and end: started, complete, awaiting-approval, approved, abandoned, count-mismatch, deleted.",
  },
  audienceChanges: {
    name: "switchyard_audience_changes_total",
    type: "counter",
    labels: ["change"],
    help: "Users who entered or left an audience, and computed traits that changed, by their calls.",
  },
  audienceSyncDuration: {
    name: "switchyard_audience_sync_duration_seconds",
    type: "histogram",
    labels: ["outcome"],
    buckets: SYNC_S,
    help: "From a sync's begin, by its record, to what became of it.",
  },
  audienceMembers: {
    name: "switchyard_audience_members",
    type: "gauge",
    labels: [],
    help: "Members of all audiences in the partitions owned here. Absent while a store of theirs is built or catches up.",
  },
  audienceOpenSyncs: {
    name: "switchyard_audience_syncs_open",
    type: "gauge",
    labels: [],
    help: "Syncs that have begun and not ended, in the partitions owned here.",
  },
  audienceSyncsAwaitingApproval: {
    name: "switchyard_audience_syncs_awaiting_approval",
    type: "gauge",
    labels: [],
    help: "Syncs that await approval, in the partitions owned here.",
  },
  audienceStoresUnavailable: {
    name: "switchyard_audience_state_stores_unavailable",
    type: "gauge",
    labels: [],
    help: "State stores that failed and are not open again, by their partitions: their audiences wait. /readyz names the error. Alert on any.",
  },
  audienceStores: {
    name: "switchyard_audience_stores_opened_total",
    type: "counter",
    labels: ["state"],
    help: "Local stores opened, by their state: current, behind (caught up), missing, stale, ahead, foreign, corrupt (rebuilt).",
  },
} as const;
