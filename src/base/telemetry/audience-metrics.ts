/** The metrics of audiences. */

export const AUDIENCE_METRICS = {
  audienceSyncs: {
    name: "switchyard_audience_syncs_total",
    type: "counter",
    labels: ["outcome"],
    help: "Audience syncs that started or ended, by outcome: started, complete, awaiting-approval, approved, abandoned, count-mismatch, deleted.",
  },
  audienceChanges: {
    name: "switchyard_audience_changes_total",
    type: "counter",
    labels: ["change"],
    help: "Calls for users who entered or left an audience, and for computed traits that changed.",
  },
  audienceMembers: {
    name: "switchyard_audience_members",
    type: "gauge",
    labels: [],
    help: "Members of all audiences. Absent while a state store is being built or restored.",
  },
  audienceOpenSyncs: {
    name: "switchyard_audience_syncs_open",
    type: "gauge",
    labels: [],
    help: "Syncs that have started and have not ended.",
  },
  audienceSyncsAwaitingApproval: {
    name: "switchyard_audience_syncs_awaiting_approval",
    type: "gauge",
    labels: [],
    help: "Syncs that await approval.",
  },
  audienceStoresUnavailable: {
    name: "switchyard_audience_state_stores_unavailable",
    type: "gauge",
    labels: [],
    help: "State stores that failed and have not been reopened. Their audiences are not processed.",
    inStatus: true,
  },
  audienceStores: {
    name: "switchyard_audience_stores_opened_total",
    type: "counter",
    labels: ["state"],
    help:
      "State stores opened, by state: current, behind or missing; or why it is rebuilt: stale, " +
      "ahead, foreign or corrupt.",
  },
} as const;
