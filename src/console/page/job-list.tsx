/** Actions that are under way, and how the latest of them ended. */

import type { JobView } from "../action-view.ts";
import { actionText, destinationOf, isCount, jobText, jobWords } from "./action-words.ts";
import { useBegin } from "./dialog.tsx";
import { useJobs, useMayAct } from "./jobs.ts";
import { Age, Problem, State } from "./parts.tsx";
import { stopAction } from "./server.ts";

const SHOWN_MAX = 5;

/** Those of a view. */
export function useShownJobs(isShown: (job: JobView) => boolean): readonly JobView[] {
  return useJobs().filter((job) => !isCount(job.action) && isShown(job));
}

export function JobList({
  jobs,
  now,
}: {
  readonly jobs: readonly JobView[];
  readonly now: number;
}) {
  const latest = jobs.find(({ state }) => state !== "running");
  return (
    <>
      <p class="hidden" role="status">
        {latest === undefined
          ? ""
          : `${actionText(latest.action)}: ${jobWords(latest).word}. ${jobText(latest)}`}
      </p>
      {jobs.length === 0 ? null : (
        <ul class="jobs" aria-label="Actions">
          {jobs.slice(0, SHOWN_MAX).map((job) => (
            <Job key={job.id} job={job} now={now} />
          ))}
        </ul>
      )}
    </>
  );
}

function Job({ job, now }: { readonly job: JobView; readonly now: number }) {
  const mayAct = useMayAct();
  const { start, error } = useBegin(() => undefined);
  const { action, state, unfinished } = job;
  const goOn =
    unfinished === null
      ? null
      : ({ action: "go-on", destination: destinationOf(action), ...unfinished } as const);
  return (
    <li>
      <State {...jobWords(job)} /> <b>{actionText(action)}</b>{" "}
      <Age at={job.endedAt ?? job.startedAt} now={now} />
      <p>{jobText(job)}</p>
      {mayAct && state === "running" ? (
        <button type="button" onClick={() => void stopAction(job.id)}>
          Stop<span class="hidden"> {actionText(action)}</span>
        </button>
      ) : null}
      {mayAct && goOn !== null ? (
        <button type="button" onClick={() => start(goOn)}>
          Go on<span class="hidden"> with replay {goOn.replay}</span>
        </button>
      ) : null}
      {error === null ? null : <Problem text={error} />}
    </li>
  );
}
