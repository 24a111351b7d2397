/** The questions of a person on call, and the queries that answer them. */

export interface Subject {
  readonly subject: string;
  readonly queries: readonly (readonly [question: string, query: string])[];
}

export const QUERIES: readonly Subject[] = [
  {
    subject: "Are calls at risk?",
    queries: [
      [
        "Were records deleted before they were read?",
        "sum by (stage, destination) (increase(switchyard_consumer_offset_resets_total[1d])) > 0",
      ],
      [
        "How much of its retention has the oldest record used?",
        "max by (stage, destination) (switchyard_consumer_oldest_unprocessed_age_seconds) / min by (stage, destination) (switchyard_topic_retention_seconds)",
      ],
      [
        "Is anything given up, and why?",
        "sum by (stage, reason, destination) (increase(switchyard_dead_letters_total[1h])) > 0",
      ],
      [
        "When is the next delivery given up?",
        "min by (destination) (switchyard_deliveries_next_expiry_timestamp_seconds) - time()",
      ],
      [
        "Does a disabled destination miss calls?",
        'sum by (destination) (increase(switchyard_route_calls_skipped_total{reason="disabled"}[1h])) > 0',
      ],
      ["Does a damaged batch halt a consumer?", "switchyard_consumer_halted_offset"],
    ],
  },
  {
    subject: "Do calls arrive?",
    queries: [
      [
        "Which share of attempts is accepted?",
        'sum(rate(switchyard_delivery_attempts_total{outcome="accepted"}[5m])) / sum(rate(switchyard_delivery_attempts_total[5m]))',
      ],
      [
        "How late are calls, from receipt?",
        "histogram_quantile(0.99, sum by (le, destination) (rate(switchyard_delivery_latency_seconds_bucket[5m])))",
      ],
      [
        "Which destination falls behind?",
        'max by (destination) (switchyard_consumer_oldest_unprocessed_age_seconds{stage="deliver"})',
      ],
      [
        "How much waits in front of each stage?",
        "sum by (stage) (switchyard_consumer_lag_records)",
      ],
      [
        "Does route keep up with what comes in?",
        'sum by (stage) (rate(switchyard_records_in_total{stage=~"route|deliver"}[5m]))',
      ],
    ],
  },
  {
    subject: "Which destination fails, and why?",
    queries: [
      [
        "Since when has it been failing?",
        "min by (destination) (switchyard_destination_failing_since_timestamp_seconds > 0)",
      ],
      [
        "Why do requests fail?",
        'sum by (destination, outcome) (rate(switchyard_delivery_requests_total{outcome!="2xx"}[5m])) > 0',
      ],
      [
        "How slow is the receiver?",
        "histogram_quantile(0.99, sum by (le, destination) (rate(switchyard_delivery_attempt_duration_seconds_bucket[5m])))",
      ],
      [
        "Which lines are held, and why?",
        "max by (destination, because) (switchyard_destination_on_hold) == 1",
      ],
      [
        "Which endpoints are left alone?",
        "max by (destination, endpoint) (switchyard_circuit_breaker_state) >= 2",
      ],
      [
        "How many deliveries wait for another attempt?",
        "sum by (destination, tier) (switchyard_deliveries_awaiting_retry) > 0",
      ],
      [
        "When is the next of them due?",
        "min by (destination) (switchyard_deliveries_next_retry_timestamp_seconds) - time()",
      ],
      [
        "Since when does one wait?",
        "time() - min by (destination) (switchyard_deliveries_awaiting_retry_oldest_timestamp_seconds)",
      ],
      [
        "Is it not known what waits?",
        "sum by (instance, tier) (switchyard_delay_uncounted_partitions) > 0",
      ],
      [
        "Do delay topics keep time?",
        "histogram_quantile(0.99, sum by (le, tier) (rate(switchyard_delay_overdue_seconds_bucket[5m])))",
      ],
    ],
  },
  {
    subject: "Is Kafka the cause?",
    queries: [
      ["Which brokers are away?", "min by (broker) (switchyard_kafka_broker_reachable) == 0"],
      ["Does a topic take nothing?", "switchyard_topic_not_writable_since_timestamp_seconds > 0"],
      [
        "How slow are writes?",
        "histogram_quantile(0.99, sum by (le) (rate(switchyard_produce_duration_seconds_bucket[5m])))",
      ],
      [
        "Why are writes repeated?",
        "sum by (error) (rate(switchyard_produce_errors_total[5m])) > 0",
      ],
      [
        "Is a lag not known?",
        "sum by (instance, stage) (switchyard_consumers_with_unknown_lag) > 0",
      ],
      [
        "Which consumer has lost its group?",
        "time() - switchyard_consumer_last_heartbeat_timestamp_seconds > 60",
      ],
      [
        "Do groups rebalance again and again?",
        "sum by (stage, destination) (increase(switchyard_consumer_rebalances_total[1h])) > 3",
      ],
      [
        "Is the schema registry away?",
        "max(switchyard_registry_unreachable_since_timestamp_seconds) > 0",
      ],
      ["How many schemas are waited for?", "sum(switchyard_registry_pending_schemas)"],
    ],
  },
  {
    subject: "Can applications send?",
    queries: [
      [
        "Which answers does ingest give?",
        "sum by (code) (rate(switchyard_ingest_requests_total[5m]))",
      ],
      [
        "Which share is refused by our fault?",
        'sum(rate(switchyard_ingest_requests_total{code=~"kafka-unavailable|overloaded"}[5m])) / sum(rate(switchyard_ingest_requests_total[5m]))',
      ],
      [
        "How long do answers take?",
        "histogram_quantile(0.99, sum by (le) (rate(switchyard_ingest_request_duration_seconds_bucket[5m])))",
      ],
      ["Which sources send calls?", "sum by (source) (rate(switchyard_ingest_calls_total[5m]))"],
    ],
  },
  {
    subject: "Are the processes well?",
    queries: [
      ["Which versions run?", "count by (version, node) (switchyard_build_info)"],
      ["Do they run the same configuration?", "count by (hash) (switchyard_config_info)"],
      [
        "Does one refuse the file on disk?",
        "switchyard_config_invalid_since_timestamp_seconds > 0",
      ],
      ["Does one wait for a restart?", "switchyard_config_settings_pending_restart > 0"],
      [
        "Is one short of CPU?",
        'max by (instance) (switchyard_event_loop_delay_seconds{quantile="0.99"}) > 0.1',
      ],
      [
        "How near is one to its memory limit?",
        "process_resident_memory_bytes / (switchyard_memory_limit_bytes > 0)",
      ],
      [
        "Does a held sync wait for a release?",
        "sum(switchyard_audience_syncs_awaiting_approval) > 0",
      ],
    ],
  },
];
