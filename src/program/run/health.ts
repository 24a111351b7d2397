/**
 * The responses to `/livez` and `/readyz`.
 *
 *   state       /livez   /readyz   starts
 *   starting    200      503       with the process
 *   ready       200      200       configuration loaded, topics exist, consumers joined (or 30 s later)
 *   stopping    200      503       with SIGTERM, and is final
 *
 * An outage of Kafka or of a destination does not change the status, because taking a pod out of service would not end
 * the outage. Outages appear in the body, in metrics and in the alerts.
 */

export type HealthState = "starting" | "ready" | "stopping";

export interface HealthSource {
  readonly name: string;
  /** Health problems, as sentences. */
  readonly healthProblems: () => readonly string[];
}

export interface HealthReport {
  readonly state: HealthState;
  readonly stages: Readonly<Record<string, { readonly healthProblems: readonly string[] }>>;
}

export interface Health {
  /** Adds a stage, or another part that can have health problems. */
  add(source: HealthSource): void;
  /** `stopping` is final. */
  become(state: "ready" | "stopping"): void;
  report(): HealthReport;
}

export function createHealth(sources: HealthSource[] = []): Health {
  let state: HealthState = "starting";
  return {
    add: (source) => {
      sources.push(source);
    },
    become: (next) => {
      if (state !== "stopping") state = next;
    },
    report: () => ({
      state,
      stages: Object.fromEntries(
        sources.map(({ name, healthProblems }) => [name, { healthProblems: healthProblems() }]),
      ),
    }),
  };
}
