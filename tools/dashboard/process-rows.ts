/** The dashboard's rows about ingest, audiences, Kafka and the processes. */

import { look, of, ofProcess, quantile, type Row, rate } from "./panel.ts";

export const PROCESS_ROWS: readonly Row[] = [
  {
    title: "Ingest",
    height: 7,
    panels: [
      {
        title: "Requests by response",
        description:
          "Response codes, see docs/http-apis.md#errors. kafka-unavailable and overloaded are caused by Switchyard, the others by callers.",
        ...look("timeseries", 8, "reqps"),
        queries: { "{{code}}": `sum by (code) (${rate("ingestRequests")})` },
      },
      {
        title: "Calls by source",
        description: "Calls received over HTTP and acknowledged by the brokers.",
        ...look("timeseries", 6, "reqps"),
        queries: { "{{source}}": `sum by (source) (${rate("ingestCalls")})` },
      },
      {
        title: "Time to respond",
        description: "Time from the arrival of the request headers until the response was sent.",
        ...look("timeseries", 5, "s"),
        queries: { p50: quantile(0.5, "ingestDuration"), p99: quantile(0.99, "ingestDuration") },
      },
      {
        title: "Bytes in flight",
        description:
          "Bodies that are being read, and records that are not acknowledged yet. At ingest.maxInFlightBytes, requests are rejected.",
        ...look("timeseries", 5, "bytes"),
        queries: { "{{instance}}": `max by (instance) (${of("ingestInFlightBytes")})` },
      },
    ],
  },
  {
    title: "Audiences",
    height: 7,
    panels: [
      {
        title: "Syncs per second",
        description: "Syncs that started, and syncs that ended by outcome.",
        ...look("timeseries", 8, "reqps"),
        queries: { "{{outcome}}": `sum by (outcome) (${rate("audienceSyncs")})` },
      },
      {
        title: "Users reported per second",
        description: "Users who entered or left an audience, and computed traits that changed.",
        ...look("timeseries", 8, "reqps"),
        queries: { "{{change}}": `sum by (change) (${rate("audienceChanges")})` },
      },
      {
        title: "Members",
        description: "Members of all audiences.",
        ...look("stat", 4, "short"),
        queries: { "": `sum(${of("audienceMembers")})` },
      },
      {
        title: "Syncs awaiting approval",
        description: "Syncs that would remove more members than approvalShare allows.",
        ...look("stat", 4, "short"),
        limits: [1, 10],
        queries: { "": `sum(${of("audienceSyncsAwaitingApproval")})` },
      },
    ],
  },
  {
    title: "Kafka and the registry",
    height: 7,
    panels: [
      {
        title: "Brokers",
        description: "A broker is unreachable if at least one process has had no response from it.",
        ...look("state-timeline", 8, "none"),
        names: { 0: "unreachable", 1: "reachable" },
        queries: { "{{broker}}": `min by (broker) (${of("kafkaConnected")})` },
      },
      {
        title: "Time to write",
        description: "Time until all in-sync replicas have acknowledged a write.",
        ...look("timeseries", 8, "s"),
        queries: { p50: quantile(0.5, "produceDuration"), p99: quantile(0.99, "produceDuration") },
      },
      {
        title: "Writes that are retried",
        description: "Batches that were not acknowledged, by Kafka error.",
        ...look("timeseries", 8, "reqps"),
        queries: { "{{error}}": `sum by (error) (${rate("produceErrors")})` },
      },
      {
        title: "Rebalances per second",
        description: "Assignments that consumers received. A restart causes one per consumer.",
        ...look("timeseries", 8, "reqps"),
        queries: { "{{stage}}": `sum by (stage) (${rate("rebalances")})` },
      },
      {
        title: "Topics that are not writable",
        description:
          "How long brokers have rejected writes to a topic. Deliveries are rerouted through a delay topic. Normally empty.",
        ...look("bargauge", 8, "s"),
        limits: [60, 300],
        queries: { "{{topic}}": `time() - min by (topic) (${of("topicBlockedSince")} > 0)` },
      },
      {
        title: "Pending schema lookups",
        description:
          "Schemas that partitions wait for. If this lasts, the registry is unreachable.",
        ...look("timeseries", 8, "short"),
        queries: { "{{instance}}": `sum by (instance) (${of("registryWaiting")})` },
      },
    ],
  },
  {
    title: "Processes",
    height: 7,
    panels: [
      {
        title: "CPU",
        description: "Cores in use.",
        ...look("timeseries", 6, "short"),
        queries: {
          "{{instance}}": `rate(${ofProcess("process_cpu_seconds_total")}[$__rate_interval])`,
        },
      },
      {
        title: "Event loop delay",
        description: "p99 of the time by which timeouts and heartbeats are delayed.",
        ...look("timeseries", 6, "s"),
        limits: [0.1, 0.5],
        queries: {
          "{{instance}}": `max by (instance) (${of("eventLoopDelay", 'percentile="99"')})`,
        },
      },
      {
        title: "Memory",
        description: "Resident memory of the process, and the memory limit of the container.",
        ...look("timeseries", 6, "bytes"),
        queries: {
          "{{instance}}": ofProcess("process_resident_memory_bytes"),
          "{{instance}} limit": `${of("memoryLimit")} > 0`,
        },
      },
      {
        title: "Versions and configurations",
        description: "Number of processes by the hash of their configuration, and by version.",
        ...look("timeseries", 6, "short"),
        queries: {
          "configuration {{hash}}": `count by (hash) (${of("configInfo")})`,
          "version {{version}}": `count by (version) (${of("buildInfo")})`,
        },
      },
    ],
  },
];
