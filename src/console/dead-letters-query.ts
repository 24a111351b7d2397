/** Which dead letters, or which calls, a page asks for. A part that is not understood counts as not given. */

export interface DeadLettersQuery {
  /** Null: all. */
  readonly destination: string | null;
  readonly reason: string | null;
  /** Null: both. */
  readonly isReplayed: boolean | null;
  /** How long ago at most. */
  readonly sinceMs: number;
}

/** The times that the page offers. */
const SINCE = {
  "1h": 3_600_000,
  "1d": 86_400_000,
  "7d": 7 * 86_400_000,
  "30d": 30 * 86_400_000,
} as const;

export interface CallQuery {
  readonly messageId: string;
  readonly sinceMs: number;
}

export function callQuery(query: URLSearchParams): CallQuery {
  return { messageId: query.get("id") ?? "", sinceMs: sinceOf(query) };
}

export function sinceOf(query: URLSearchParams): number {
  const since = query.get("since") ?? "";
  const known = Object.entries(SINCE).find(([name]) => name === since);
  return known?.[1] ?? SINCE["1d"];
}

const STATES: ReadonlyMap<string, boolean> = new Map([
  ["waiting", false],
  ["replayed", true],
]);

export function deadLettersQuery(query: URLSearchParams): DeadLettersQuery {
  return {
    destination: query.get("destination") || null,
    reason: query.get("reason") || null,
    isReplayed: STATES.get(query.get("state") ?? "") ?? null,
    sinceMs: sinceOf(query),
  };
}
