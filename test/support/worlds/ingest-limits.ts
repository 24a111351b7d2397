/** The limits of the ingest stage for tests and benches, which are the configuration's defaults. */
export const INGEST_LIMITS = {
  maxInFlightBytes: 64 * 1_024 * 1_024,
  maxUnauthenticatedBytes: 8 * 1_024 * 1_024,
  minBodyBytesPerSecond: 1_024,
  keepAliveTimeoutMs: 620_000,
  maxConnections: 10_000,
  maxConnectionsPerAddress: 10_000,
} as const;
