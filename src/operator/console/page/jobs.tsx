/**
 * Keeps the actions that the server reports. They include actions that were started by other users, or in other
 * tabs.
 */

import { createContext } from "preact";
import { useContext, useEffect, useState } from "preact/hooks";

import type { Action, JobView } from "../action-view.ts";
import { actionText, destinationOf, isCount, jobState, jobText } from "./action-text.ts";
import { Age, Problem, State } from "./parts.tsx";
import { errorText, jobsReceived, sendAction, stopAction } from "./server.ts";

const SHOWN_MAX = 5;

/** True if this console allows actions. */
export const MayAct = createContext(false);

export function useMayAct(): boolean {
  return useContext(MayAct);
}

let known: readonly JobView[] = [];
const listeners = new Set<() => void>();

jobsReceived.take = (jobs) => {
  known = jobs;
  for (const notify of listeners) notify();
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

/** The actions that a view shows. Jobs that only count are omitted. */
export function useShownJobs(isShown: (job: JobView) => boolean): readonly JobView[] {
  return useJobs().filter((job) => !isCount(job.action) && isShown(job));
}

/**
 * Adds a job from the response to the request that started it. Events also report the job, before or after this
 * response.
 */
function tookStart(job: JobView): void {
  if (!known.some(({ id }) => id === job.id)) jobsReceived.take([job, ...known]);
}

/** Starts an action. If the server rejects the action, keeps the reason. */
export function useStart(onStarted: (job: JobView) => void) {
  const [error, setError] = useState<string | null>(null);
  const [isSending, setIsSending] = useState(false);
  const start = (action: Action<string | number>) => {
    if (isSending) return;
    setIsSending(true);
    sendAction(action)
      .then(
        (job) => {
          setError(null);
          tookStart(job);
          onStarted(job);
        },
        (problem: unknown) => setError(errorText(problem)),
      )
      .finally(() => setIsSending(false));
  };
  return { start, error };
}

/** Calls `onEnd` when one of these jobs ends while the component is shown. */
export function useEnds(jobs: readonly JobView[], onEnd: () => void): void {
  const ended = jobs.filter(({ state }) => state !== "running").map(({ id }) => id);
  const [before] = useState(() => new Set(ended));
  useEffect(() => {
    const fresh = ended.filter((id) => !before.has(id));
    for (const id of fresh) before.add(id);
    if (fresh.length > 0) onEnd();
  }, [ended.join()]);
}

export function JobList({ jobs }: { readonly jobs: readonly JobView[] }) {
  const latest = jobs.find(({ state }) => state !== "running");
  return (
    <>
      <p class="hidden" role="status">
        {latest === undefined
          ? ""
          : `${actionText(latest.action)}: ${jobState(latest).text}. ${jobText(latest)}`}
      </p>
      {jobs.length === 0 ? null : (
        <ul class="jobs" aria-label="Actions">
          {jobs.slice(0, SHOWN_MAX).map((job) => (
            <Job key={job.id} job={job} />
          ))}
        </ul>
      )}
    </>
  );
}

function Job({ job }: { readonly job: JobView }) {
  const mayAct = useMayAct();
  const { start, error } = useStart(() => undefined);
  const { id, action, state, startedAt, endedAt, unfinished } = job;
  const destination = destinationOf(action);
  return (
    <li class="aside">
      <State {...jobState(job)} /> <b>{actionText(action)}</b> <Age at={endedAt ?? startedAt} />
      <p>{jobText(job)}</p>
      {mayAct && state === "running" ? (
        <button type="button" onClick={() => void stopAction(id)}>
          Stop<span class="hidden"> {actionText(action)}</span>
        </button>
      ) : null}
      {mayAct && unfinished !== null ? (
        <button
          type="button"
          onClick={() => start({ action: "resume-replay", destination, ...unfinished })}
        >
          Resume<span class="hidden"> replay {unfinished.replay}</span>
        </button>
      ) : null}
      <Problem text={error} />
    </li>
  );
}
