import { expect, test } from "vitest";

import { produceOutcome, rejectionText } from "../../../../src/kafka/produce/outcome.ts";

test.each([
  [null, "acknowledged"],
  ["DUPLICATE_SEQUENCE_NUMBER", "acknowledged"],
  ["MESSAGE_TOO_LARGE", "too-large"],
  ["RECORD_LIST_TOO_LARGE", "too-large"],
  ["UNKNOWN_TOPIC_OR_PARTITION", "retry-with-metadata"],
  ["NOT_LEADER_OR_FOLLOWER", "retry-with-metadata"],
  ["LEADER_NOT_AVAILABLE", "retry-with-metadata"],
  ["FENCED_LEADER_EPOCH", "retry-with-metadata"],
  ["OUT_OF_ORDER_SEQUENCE_NUMBER", "retry-with-new-id"],
  ["UNKNOWN_PRODUCER_ID", "retry-with-new-id"],
  ["INVALID_PRODUCER_EPOCH", "retry-with-new-id"],
  ["REQUEST_TIMED_OUT", "retry-as-it-was"],
  ["NOT_ENOUGH_REPLICAS_AFTER_APPEND", "retry-as-it-was"],
  ["NOT_ENOUGH_REPLICAS", "retry"],
  ["TOPIC_AUTHORIZATION_FAILED", "retry"],
  ["an error of a later Kafka", "retry"],
])("%s: %s", (type, outcome) => {
  expect(produceOutcome(type)).toBe(outcome);
});

test.each([
  ["NOT_ENOUGH_REPLICAS", /^NOT_ENOUGH_REPLICAS$/],
  ["INVALID_TIMESTAMP", /the clock of this process or of the broker is wrong/],
  ["TOPIC_AUTHORIZATION_FAILED", /the permission Write on the topic calls is missing/],
])("an operator reads of %s: %s", (type, text) => {
  const identity = { brokers: ["a:9092"], tls: null, sasl: null };
  expect(rejectionText("calls", type, identity)).toMatch(text);
});
