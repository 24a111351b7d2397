/** Actions, as the server tells of them. Those of all people who look, not of this page alone. */

import { createContext } from "preact";
import { useContext, useEffect, useState } from "preact/hooks";

import type { Action, JobView } from "../action-view.ts";
import { jobsTold, sendAction } from "./server.ts";

/** Whether people may act on this page. */
export const MayAct = createContext(false);

export function useMayAct(): boolean {
  return useContext(MayAct);
}

let known: readonly JobView[] = [];
const listeners = new Set<() => void>();

jobsTold.take = (jobs) => {
  known = jobs;
  for (const tell of listeners) tell();
};

/** The latest first. */
export function useJobs(): readonly JobView[] {
  const [jobs, setJobs] = useState(known);
  useEffect(() => {
    const changed = () => setJobs(known);
    listeners.add(changed);
    changed();
    return () => void listeners.delete(changed);
  }, []);
  return jobs;
}

/** Begins it. @throws Error a sentence for people. */
export async function begin(action: Action<string | number>): Promise<JobView> {
  const job = await sendAction(action);
  // The events tell of it, too: sooner or later than the answer.
  if (!known.some(({ id }) => id === job.id)) jobsTold.take([job, ...known]);
  return job;
}

/** Calls it once for each of them that ends while this is shown. */
export function useEnds(jobs: readonly JobView[], onEnd: () => void): void {
  const ended = jobs.filter(({ state }) => state !== "running").map(({ id }) => id);
  const [before] = useState(() => new Set(ended));
  useEffect(() => {
    const fresh = ended.filter((id) => !before.has(id));
    for (const id of fresh) before.add(id);
    if (fresh.length > 0) onEnd();
  }, [ended.join()]);
}
