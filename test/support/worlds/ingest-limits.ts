/** The limits of ingest that tests and benches start with: those of the configuration's defaults. */
export const INGEST_LIMITS = {
  bytesInHand: 64 * 1_024 * 1_024,
  bytesWithoutKey: 8 * 1_024 * 1_024,
  bodyBytesPerSecond: 1_024,
  connections: 10_000,
  connectionsPerAddress: 10_000,
} as const;
