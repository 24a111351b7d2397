/**
 * Dialogs. The browser itself keeps the focus inside an open dialog, closes the dialog when Escape is pressed, and
 * then returns the focus.
 *
 *   an action that is counted    the dialog
 *   is being described           has the form
 *   is being counted             shows the progress; closing it stops the count
 *   was counted                  shows the result and the button that starts the action
 *   matches nothing              shows that, and can only be closed
 *   could not be counted         shows the reason, and has the form
 */

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

import type { Action, JobView } from "../action-view.ts";
import { useJobs, useStart } from "./jobs.tsx";
import { Problem } from "./parts.tsx";
import { stopAction } from "./server.ts";

export function DialogButton({
  label,
  about = "",
  children,
}: {
  readonly label: string;
  /** What the button applies to, for screen readers. */
  readonly about?: string;
  readonly children: (close: () => void) => ComponentChildren;
}) {
  const [isOpen, setIsOpen] = useState(false);
  return (
    <>
      <button type="button" onClick={() => setIsOpen(true)}>
        {label}
        {about === "" ? null : <span class="hidden"> {about}</span>}
      </button>
      {isOpen ? children(() => setIsOpen(false)) : null}
    </>
  );
}

interface DialogProps {
  readonly title: string;
  readonly error: string | null;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

function Dialog({ title, error, onClose, children }: DialogProps) {
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
      <Problem text={error} />
    </dialog>
  );
}

interface FormProps<Started extends Action<string | number>> {
  readonly title: string;
  /** The fields of the form. */
  readonly children: ComponentChildren;
  readonly actionOf: (form: FormData) => Started;
  readonly onClose: () => void;
}

/** A dialog whose action starts without a count. */
export function ActionDialog({
  title,
  children,
  actionOf,
  submit,
  isDanger = false,
  onClose,
}: FormProps<Action<string | number>> & {
  readonly submit: string;
  readonly isDanger?: boolean;
}) {
  const { start, error } = useStart(onClose);
  return (
    <Dialog title={title} error={error} onClose={onClose}>
      <form onSubmit={(event) => start(actionOf(formOf(event)))}>
        {children}
        <Buttons onClose={onClose}>
          <button type="submit" class={isDanger ? "danger" : "primary"}>
            {submit}
          </button>
        </Buttons>
      </form>
    </Dialog>
  );
}

type Countable = Extract<Action<string | number>, { readonly dryRun: boolean }>;

interface CountedProps extends FormProps<Countable> {
  /** The text of the button that starts the action. */
  readonly doIt: (count: number) => string;
  readonly isDanger?: boolean;
}

/** A dialog whose action is counted before it starts. */
export function CountedDialog(props: CountedProps) {
  const { title, children, actionOf, doIt, isDanger = false, onClose } = props;
  const [id, setId] = useState<string | null>(null);
  const job = useJobs().find((each) => each.id === id) ?? null;
  const counting = useStart((started) => setId(started.id));
  const close = () => {
    if (job?.state === "running") void stopAction(job.id);
    onClose();
  };
  const doing = useStart(close);
  const results = useRef<HTMLDivElement>(null);
  // The button that was pressed and had the focus no longer exists, so the focus is set here.
  useEffect(() => results.current?.focus(), [job?.state]);
  const isDescribed = job === null || job.state === "failed" || job.state === "stopped";
  const failure = job?.state === "failed" ? failureText(job) : null;
  return (
    <Dialog title={title} error={counting.error ?? doing.error ?? failure} onClose={close}>
      <form onSubmit={(event) => counting.start(actionOf(formOf(event)))} hidden={!isDescribed}>
        {children}
        <Buttons onClose={close}>
          <button type="submit">Count first</button>
        </Buttons>
      </form>
      {job === null || isDescribed ? null : (
        <div ref={results} tabIndex={-1}>
          <div role="status">
            {job.state === "running" ? <p>Counting. {job.progress}</p> : <Messages job={job} />}
          </div>
          <Buttons onClose={close}>
            <Confirm job={job} doIt={doIt} isDanger={isDanger} onConfirm={doing.start} />
          </Buttons>
        </div>
      )}
    </Dialog>
  );
}

function formOf(event: SubmitEvent): FormData {
  event.preventDefault();
  return new FormData(event.currentTarget as HTMLFormElement);
}

function Buttons({
  onClose,
  children,
}: {
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}) {
  return (
    <p class="buttons">
      {children}
      <button type="button" class="plain" onClick={onClose}>
        Close
      </button>
    </p>
  );
}

function Messages({ job: { messages } }: { readonly job: JobView }) {
  return (
    <ul>
      {messages.map((message) => (
        <li key={message}>{message}</li>
      ))}
    </ul>
  );
}

interface ConfirmProps {
  readonly job: JobView;
  readonly doIt: (count: number) => string;
  readonly isDanger: boolean;
  readonly onConfirm: (action: Action) => void;
}

/** The action uses the instants of the count, so that it applies to what was counted. */
function Confirm({ job: { state, count, action }, doIt, isDanger, onConfirm }: ConfirmProps) {
  if (state !== "done" || count === null || count === 0 || !("dryRun" in action)) return null;
  return (
    <button
      type="button"
      class={isDanger ? "danger" : "primary"}
      onClick={() => onConfirm({ ...action, dryRun: false })}
    >
      {doIt(count)}
    </button>
  );
}

function failureText({ messages }: JobView): string {
  return messages.join(" ") || "Counting failed, and no reason was given.";
}
