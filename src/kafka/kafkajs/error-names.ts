/** Names of kafkajs' errors, by what they mean. Others tell more by their `type` or their cause. */

/** The brokers refuse the credentials. */
export const DRIVER_AUTHENTICATION_FAILED = "KafkaJSSASLAuthenticationError";

/** The connection has ended, or there was none. */
export const DRIVER_CLOSED = "KafkaJSConnectionClosedError";

/** Stay until somebody changes something. */
export const DRIVER_FATAL = [
  DRIVER_AUTHENTICATION_FAILED,
  "KafkaJSServerDoesNotSupportApiKey",
  "KafkaJSNotImplemented",
  "KafkaJSUnsupportedMagicByteInMessageSet",
] as const;

/** Brokers cannot be reached, or did not answer in time. */
export const DRIVER_OUTAGE = [
  "KafkaJSConnectionError",
  DRIVER_CLOSED,
  "KafkaJSRequestTimeoutError",
  // Not retriable for kafkajs.
  "KafkaJSLockTimeout",
  "KafkaJSTimeout",
  "KafkaJSGroupCoordinatorNotFound",
  "KafkaJSBrokerNotFound",
  "KafkaJSNoBrokerAvailableError",
  "KafkaJSMetadataNotLoaded",
  "KafkaJSTopicMetadataNotLoaded",
] as const;
