/** The dashboard's rows about ingest, audiences, Kafka and the processes. */

import { look, of, ofProcess, quantile, type Row, rate } from "./panel.ts";

export const PROCESS_ROWS: readonly Row[] = [
  {
    title: "Ingest",
    height: 7,
    panels: [
      {
        title: "Requests by answer",
        description:
          "Codes of docs/ingest.md. kafka-unavailable and overloaded are ours, the others are the callers'.",
        ...look("timeseries", 8, "reqps"),
        queries: { "{{code}}": `sum by (code) (${rate("ingestRequests")})` },
      },
      {
        title: "Calls by source",
        description: "Calls taken over HTTP and acknowledged by the brokers.",
        ...look("timeseries", 6, "reqps"),
        queries: { "{{source}}": `sum by (source) (${rate("ingestCalls")})` },
      },
      {
        title: "Time to answer",
        description: "From the head of a request until its answer.",
        ...look("timeseries", 5, "s"),
        queries: { p50: quantile(0.5, "ingestDuration"), p99: quantile(0.99, "ingestDuration") },
      },
      {
        title: "Bytes in hand",
        description:
          "Bodies being read, and records that are not acknowledged. At ingest.maxInFlightBytes requests are refused.",
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
        title: "Syncs a second",
        description: "By their beginning and end.",
        ...look("timeseries", 8, "reqps"),
        queries: { "{{outcome}}": `sum by (outcome) (${rate("audienceSyncs")})` },
      },
      {
        title: "Users told a second",
        description: "Users told that they entered or left an audience, and computed traits.",
        ...look("timeseries", 8, "reqps"),
        queries: { "{{change}}": `sum by (change) (${rate("audienceChanges")})` },
      },
      {
        title: "Members",
        description: "Of all audiences.",
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
        description: "Away: a process gets no answer of the broker.",
        ...look("state-timeline", 8, "none"),
        names: { 0: "unreachable", 1: "reachable" },
        queries: { "{{broker}}": `min by (broker) (${of("kafkaConnected")})` },
      },
      {
        title: "Time to write",
        description: "Until all in-sync replicas have acknowledged.",
        ...look("timeseries", 8, "s"),
        queries: { p50: quantile(0.5, "produceDuration"), p99: quantile(0.99, "produceDuration") },
      },
      {
        title: "Writes that are repeated",
        description: "Batches that were not acknowledged, by Kafka's name of the error.",
        ...look("timeseries", 8, "reqps"),
        queries: { "{{error}}": `sum by (error) (${rate("produceErrors")})` },
      },
      {
        title: "Rebalances a second",
        description:
          "Times that consumers were given an assignment. A restart makes one for each consumer.",
        ...look("timeseries", 8, "reqps"),
        queries: { "{{stage}}": `sum by (stage) (${rate("rebalances")})` },
      },
      {
        title: "Topics that take nothing, for",
        description: "Deliveries go around such a topic. Empty is good.",
        ...look("bargauge", 8, "s"),
        limits: [60, 300],
        queries: { "{{topic}}": `time() - min by (topic) (${of("topicBlockedSince")} > 0)` },
      },
      {
        title: "Schemas that are waited for",
        description: "Partitions wait for them. The registry is away if it lasts.",
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
        description: "p99. Time limits and heartbeats are late by as much.",
        ...look("timeseries", 6, "s"),
        limits: [0.1, 0.5],
        queries: {
          "{{instance}}": `max by (instance) (${of("eventLoopDelay", 'quantile="0.99"')})`,
        },
      },
      {
        title: "Memory",
        description: "Resident memory, and the limit of the container.",
        ...look("timeseries", 6, "bytes"),
        queries: {
          "{{instance}}": ofProcess("process_resident_memory_bytes"),
          "{{instance}} limit": `${of("memoryLimit")} > 0`,
        },
      },
      {
        title: "Versions and configurations",
        description: "How many processes run each configuration, by its hash, and each version.",
        ...look("timeseries", 6, "short"),
        queries: {
          "configuration {{hash}}": `count by (hash) (${of("configInfo")})`,
          "version {{version}}": `count by (version) (${of("buildInfo")})`,
        },
      },
    ],
  },
];
