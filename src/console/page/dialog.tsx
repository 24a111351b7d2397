/**
 * Dialogs. The browser keeps the focus inside, gives it back at the end, and closes by Escape.
 *
 *   a counted action          the dialog
 *   is described              has the form
 *   is counted                says how far that is; closing it stops the count
 *   was counted               says the numbers, and has the button that does it
 *   there is nothing          says so, and can only be closed
 *   could not be counted      says why, and has the form
 */

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

import type { Action, JobView } from "../action-view.ts";
import { begin, useJobs } from "./jobs.ts";
import { Problem } from "./parts.tsx";
import { stopAction } from "./server.ts";

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

export function Dialog({ title, onClose, children }: DialogProps) {
  const place = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const dialog = place.current;
    dialog?.showModal();
    return () => dialog?.close();
  }, []);
  return (
    <dialog ref={place} aria-labelledby="dialog-title" onClose={onClose}>
      <h2 id="dialog-title">{title}</h2>
      {children}
    </dialog>
  );
}

/** Begins it, and tells why not. */
export function useBegin(onBegun: (job: JobView) => void) {
  const [error, setError] = useState<string | null>(null);
  const [isAsking, setIsAsking] = useState(false);
  const start = (action: Action<string | number>) => {
    if (isAsking) return;
    setIsAsking(true);
    begin(action)
      .then(
        (job) => {
          setError(null);
          onBegun(job);
        },
        (problem: unknown) => setError(problem instanceof Error ? problem.message : `${problem}`),
      )
      .finally(() => setIsAsking(false));
  };
  return { start, error };
}

type Countable = Extract<Action<string | number>, { readonly dryRun: boolean }>;

interface CountedProps {
  readonly title: string;
  /** Fields of the form. */
  readonly children: ComponentChildren;
  readonly actionOf: (form: FormData) => Countable;
  /** The words of the button that does it. */
  readonly doIt: (count: number) => string;
  readonly onClose: () => void;
}

export function CountedDialog({ title, children, actionOf, doIt, onClose }: CountedProps) {
  const [id, setId] = useState<string | null>(null);
  const job = useJobs().find((each) => each.id === id) ?? null;
  const counting = useBegin((begun) => setId(begun.id));
  const close = () => {
    if (job?.state === "running") void stopAction(job.id);
    onClose();
  };
  const doing = useBegin(close);
  const results = useRef<HTMLDivElement>(null);
  // The button that was pressed is gone.
  useEffect(() => results.current?.focus(), [job?.state]);
  const isDescribed = job === null || job.state === "failed" || job.state === "stopped";
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    counting.start(actionOf(new FormData(event.currentTarget as HTMLFormElement)));
  };
  const problem = counting.error ?? doing.error ?? (job?.state === "failed" ? saidBy(job) : null);
  return (
    <Dialog title={title} onClose={close}>
      <form onSubmit={submit} hidden={!isDescribed}>
        {children}
        <p class="buttons">
          <button type="submit">Count first</button>
          <button type="button" class="plain" onClick={close}>
            Close
          </button>
        </p>
      </form>
      {job === null || isDescribed ? null : (
        <div ref={results} tabIndex={-1}>
          <div role="status">
            {job.state === "running" ? <p>Counting. {job.progress}</p> : <Said job={job} />}
          </div>
          <p class="buttons">
            <Confirm job={job} doIt={doIt} onConfirm={doing.start} />
            <button type="button" class="plain" onClick={close}>
              Close
            </button>
          </p>
        </div>
      )}
      {problem === null ? null : <Problem text={problem} />}
    </Dialog>
  );
}

function Said({ job }: { readonly job: JobView }) {
  return (
    <ul class="said">
      {job.said.map((sentence) => (
        <li key={sentence}>{sentence}</li>
      ))}
    </ul>
  );
}

interface ConfirmProps {
  readonly job: JobView;
  readonly doIt: (count: number) => string;
  readonly onConfirm: (action: Action) => void;
}

/** The same times again: what is done is what was counted. */
function Confirm({ job: { state, count, action }, doIt, onConfirm }: ConfirmProps) {
  if (state !== "done" || count === null || count === 0 || !("dryRun" in action)) return null;
  return (
    <button type="button" class="danger" onClick={() => onConfirm({ ...action, dryRun: false })}>
      {doIt(count)}
    </button>
  );
}

function saidBy({ said }: JobView): string {
  return said.join(" ") || "It could not be counted.";
}
