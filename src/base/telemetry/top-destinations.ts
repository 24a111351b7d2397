/**
 * Selects the destinations whose histograms are shown with `metrics.destinations: top`.
 *
 *   the destination is                                    shown
 *   one of the 25 with the most recent requests           yes
 *   one of the 25 with the most recent failed requests    yes
 *   any other                                             no: only its counters are shown
 *
 * Requests since the last scrape count fully. At each scrape, the count of earlier requests is multiplied by 0.9, so
 * that a destination usually stays in the selection for several scrapes.
 */

const SHOWN = 25;
const KEPT = 0.9;

/** The number of a destination's requests with the same outcome since the process started. */
export interface Requested {
  readonly destination: string;
  readonly outcome: string;
  readonly count: number;
}

interface Activity {
  count: number;
  recent: number;
}

export class Busiest {
  readonly #all = new Map<string, Activity>();
  readonly #failed = new Map<string, Activity>();

  /** Call at each scrape. Returns the destinations to show. */
  next(requests: readonly Requested[]): ReadonlySet<string> {
    const failures = requests.filter(({ outcome }) => outcome !== "2xx");
    return new Set([...top(this.#all, requests), ...top(this.#failed, failures)]);
  }
}

function top(activities: Map<string, Activity>, requests: readonly Requested[]): readonly string[] {
  const counts = new Map<string, number>();
  for (const { destination, count } of requests) {
    counts.set(destination, (counts.get(destination) ?? 0) + count);
  }
  for (const destination of activities.keys()) {
    if (!counts.has(destination)) activities.delete(destination);
  }
  for (const [destination, count] of counts) {
    const before = activities.get(destination) ?? { count: 0, recent: 0 };
    const more = Math.max(0, count - before.count);
    activities.set(destination, { count, recent: before.recent * KEPT + more });
  }
  return [...activities]
    .filter(([, { recent }]) => recent > 0)
    .sort(([, one], [, other]) => other.recent - one.recent)
    .slice(0, SHOWN)
    .map(([destination]) => destination);
}
