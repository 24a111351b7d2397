/**
 * The names of kafkajs' errors, grouped by meaning. Errors that are not listed are classified by their `type` or their
 * cause.
 */

/** The brokers rejected the credentials. */
export const DRIVER_AUTHENTICATION_FAILED = "KafkaJSSASLAuthenticationError";

/** The connection has ended, or there was none. */
export const DRIVER_CLOSED = "KafkaJSConnectionClosedError";

/** Errors that last until an operator fixes the cause. */
export const DRIVER_FATAL = [
  DRIVER_AUTHENTICATION_FAILED,
  "KafkaJSNotImplemented",
  "KafkaJSUnsupportedMagicByteInMessageSet",
] as const;

/** Brokers are unreachable, or did not respond in time. */
export const DRIVER_OUTAGE = [
  "KafkaJSConnectionError",
  DRIVER_CLOSED,
  "KafkaJSRequestTimeoutError",
  // kafkajs marks this error as not retriable.
  "KafkaJSLockTimeout",
] as const;
