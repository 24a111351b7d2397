/** Shows the progress and the result of the latest comparison of past calls, regardless of which user started it. */

import { useEffect, useState } from "preact/hooks";

import type { JobView } from "../action-view.ts";
import type { ComparedCallsView, CountedCalls, ProblemsView } from "../query-view.ts";
import { counted, jobState } from "./action-text.ts";
import { type ComparedRow, comparedRows, comparedSummary } from "./compared-rows.ts";
import { useJobs } from "./jobs.tsx";
import { CallLink, DestinationLink, Empty, Problem, State, Time } from "./parts.tsx";
import { deleteComparison, errorText, readComparison } from "./server.ts";
import { type Column, Table } from "./table.tsx";

/** Shows why a file cannot be compared. */
export function Problems({ view: { kind, problems } }: { readonly view: ProblemsView }) {
  return (
    <>
      <Problem
        text={
          kind === "unusable"
            ? "This file is invalid: a reload would reject it."
            : "The console does not compare this file."
        }
      />
      <ul class="flex">
        {problems.map(({ where, line, text }) => (
          <li key={`${where} ${line} ${text}`}>
            <b>{where}</b>
            {line === null ? "" : ` (line ${line})`}: {text}
          </li>
        ))}
      </ul>
    </>
  );
}

/** Shows nothing until a comparison has been started. */
export function LatestComparison() {
  const job = useJobs().find(({ action }) => action.action === "compare-calls");
  return job === undefined ? null : <Comparison key={job.id} job={job} />;
}

function Comparison({ job }: { readonly job: JobView }) {
  const { id, state, progress, messages, startedAt } = job;
  const [result, setResult] = useState<ComparedCallsView | null>(null);
  const [error, setError] = useState<string | null>(null);
  useEffect(() => {
    if (state !== "done") return;
    readComparison(id).then(setResult, (problem: unknown) => setError(errorText(problem)));
  }, [id, state]);
  return (
    <section aria-label="Comparison of past calls">
      <h3>Past calls</h3>
      <p role="status">
        <State {...jobState(job)} /> started at <Time at={startedAt} />
        {progress === "" ? "" : `. ${progress} …`}
      </p>
      {state === "running" ? (
        <button type="button" onClick={() => void deleteComparison(id)}>
          Stop<span class="hidden"> the comparison</span>
        </button>
      ) : null}
      <Problem text={error ?? (state === "failed" ? messages.join(" ") : null)} />
      {result === null ? null : <Found view={result} />}
    </section>
  );
}

const COLUMNS: readonly Column<ComparedRow>[] = [
  { label: "Destination", of: ({ destination }) => <DestinationLink id={destination} /> },
  { label: "Would be", of: ({ what }) => what },
  { label: "Calls", isNumber: true, of: ({ calls }) => calls.count.toLocaleString("en") },
  { label: "Why, or what", of: ({ why }) => why },
  { label: "Examples", of: ({ calls }) => <Examples calls={calls} /> },
];

function Found({ view }: { readonly view: ComparedCallsView }) {
  const rows = comparedRows(view);
  return (
    <>
      <p>
        {comparedSummary(view)} <Time at={view.since} />
      </p>
      <Problem text={view.unread.length === 0 ? null : `Cannot read ${view.unread.join("; ")}`} />
      {rows.length === 0 ? (
        <Empty>No call would be routed differently.</Empty>
      ) : (
        <Table
          label="Differences"
          columns={COLUMNS}
          rows={rows}
          keyOf={({ destination, what, why }) => `${destination} ${what} ${why}`}
        />
      )}
      {view.others === 0 ? null : (
        <p class="quiet">
          {counted(view.others, "more destination has", "more destinations have")} differences. Use:
          switchyard config diff --since
        </p>
      )}
    </>
  );
}

function Examples({ calls: { examples } }: { readonly calls: CountedCalls }) {
  return (
    <ul class="flex">
      {examples.map((messageId) => (
        <li key={messageId}>
          <CallLink messageId={messageId} />
        </li>
      ))}
    </ul>
  );
}
