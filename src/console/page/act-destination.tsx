/** Actions on one destination. */

import { useState } from "preact/hooks";

import type { Action, JobView } from "../action-view.ts";
import type { DestinationView } from "../view.ts";
import { counted, destinationOf, fieldTime, instantOf } from "./action-words.ts";
import { CountedDialog, Dialog, useBegin } from "./dialog.tsx";
import { JobList, useShownJobs } from "./job-list.tsx";
import { useMayAct } from "./jobs.ts";
import { Problem } from "./parts.tsx";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const PAUSES = [
  ["15 minutes", 15 * MINUTE_MS],
  ["1 hour", HOUR_MS],
  ["4 hours", 4 * HOUR_MS],
  ["1 day", DAY_MS],
] as const;
const AGES = [
  ["1 hour", HOUR_MS],
  ["1 day", DAY_MS],
  ["2 days", 2 * DAY_MS],
  ["4 days", 4 * DAY_MS],
] as const;
const TYPES = ["identify", "track", "page", "screen", "group", "alias"] as const;

type Opened = "pause" | "cancel" | "replay";

interface Props {
  readonly view: DestinationView;
  readonly now: number;
}

export function DestinationActions({ view, now }: Props) {
  const { id } = view;
  const mayAct = useMayAct();
  const jobs = useShownJobs(({ action }: JobView) => destinationOf(action) === id);
  return (
    <>
      {mayAct ? (
        <Buttons view={view} now={now} />
      ) : (
        <p class="note">
          This page is read-only (<code>console.readOnly</code>). To act: switchyard pause, resume,
          retry, wait, cancel, replay {id}
        </p>
      )}
      <JobList jobs={jobs} now={now} />
    </>
  );
}

function Buttons({ view: { id, kind, held }, now }: Props) {
  const [opened, setOpened] = useState<Opened | null>(null);
  const { start, error } = useBegin(() => undefined);
  const close = () => setOpened(null);
  const direct = (action: "resume" | "retry" | "wait") => () => start({ action, destination: id });
  return (
    <>
      <fieldset class="actions">
        <legend class="hidden">Actions on {id}</legend>
        {kind === "topic" ? (
          <p class="note">Others read its topic, so it can be replayed to, and no more.</p>
        ) : (
          <>
            {held?.because === "paused" ? (
              <button type="button" onClick={direct("resume")}>
                Resume
              </button>
            ) : (
              <button type="button" onClick={() => setOpened("pause")}>
                Pause…
              </button>
            )}
            <button type="button" onClick={direct("retry")}>
              Retry now
            </button>
            <button type="button" onClick={direct("wait")}>
              Wait
            </button>
            <button type="button" onClick={() => setOpened("cancel")}>
              Cancel…
            </button>
          </>
        )}
        <button type="button" onClick={() => setOpened("replay")}>
          Replay…
        </button>
      </fieldset>
      {error === null ? null : <Problem text={error} />}
      {opened === "pause" ? <PauseDialog id={id} onClose={close} /> : null}
      {opened === "cancel" ? <CancelDialog id={id} onClose={close} /> : null}
      {opened === "replay" ? <ReplayDialog id={id} now={now} onClose={close} /> : null}
    </>
  );
}

interface DialogProps {
  readonly id: string;
  readonly onClose: () => void;
}

function PauseDialog({ id, onClose }: DialogProps) {
  const { start, error } = useBegin(onClose);
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    const forMs = Number(form.get("for"));
    start({ action: "pause", destination: id, forMs: forMs === 0 ? null : forMs });
  };
  return (
    <Dialog title={`Pause ${id}`} onClose={onClose}>
      <form onSubmit={submit}>
        <p>Nothing is posted to it then. Its calls wait in order.</p>
        <label>
          For
          <select name="for">
            <option value="0">until it is resumed</option>
            {PAUSES.map(([label, ms]) => (
              <option key={ms} value={ms}>
                {label}
              </option>
            ))}
          </select>
        </label>
        <p class="buttons">
          <button type="submit">Pause</button>
          <button type="button" class="plain" onClick={onClose}>
            Close
          </button>
        </p>
      </form>
      {error === null ? null : <Problem text={error} />}
    </Dialog>
  );
}

function CancelDialog({ id, onClose }: DialogProps) {
  return (
    <CountedDialog
      title={`Cancel what waits for ${id}`}
      actionOf={(form) => {
        const before = Number(form.get("age"));
        return { action: "cancel", destination: id, before, dryRun: true };
      }}
      doIt={(count) => `Cancel ${counted(count, "delivery", "deliveries")}`}
      onClose={onClose}
    >
      <p>Its deliveries that wait become dead letters, which can be replayed.</p>
      <label>
        Calls that were received
        <select name="age">
          <option value="0">until now</option>
          {AGES.map(([label, ms]) => (
            <option key={ms} value={ms}>
              more than {label} ago
            </option>
          ))}
        </select>
      </label>
    </CountedDialog>
  );
}

function ReplayDialog({ id, now, onClose }: DialogProps & { readonly now: number }) {
  // The clock of the page goes on; the field stays as people left it.
  const [since] = useState(() => fieldTime(now - DAY_MS));
  return (
    <CountedDialog
      title={`Replay calls to ${id}`}
      actionOf={(form) => replayOf(id, form)}
      doIt={(count) => `Replay ${counted(count, "call", "calls")}`}
      onClose={onClose}
    >
      <p>
        Calls of a time are routed once more, for this destination alone. It gets again what it has
        got already, under the same message ids.
      </p>
      <label>
        Received from, in your zone
        <input type="datetime-local" name="since" required defaultValue={since} />
      </label>
      <label>
        Until, in your zone (empty: now)
        <input type="datetime-local" name="until" />
      </label>
      <label>
        Type
        <select name="type">
          <option value="">all</option>
          {TYPES.map((type) => (
            <option key={type}>{type}</option>
          ))}
        </select>
      </label>
      <label>
        Event of tracks (empty: all)
        <input type="text" name="event" maxLength={200} />
      </label>
      <PerSecond />
    </CountedDialog>
  );
}

export function PerSecond() {
  return (
    <label>
      At most so many a second (empty: as fast as it goes)
      <input type="number" name="perSecond" min={1} max={1_000_000} step={1} />
    </label>
  );
}

/** Of that field. */
export function perSecondOf(form: FormData): number | null {
  return Number(form.get("perSecond")) || null;
}

type Replay = Extract<Action<string | number>, { readonly action: "replay" }>;

function replayOf(id: string, form: FormData): Replay {
  const of = (name: string) => String(form.get(name) ?? "");
  const listOf = (name: string) => (of(name) === "" ? [] : [of(name)]);
  return {
    action: "replay",
    destination: id,
    since: instantOf(of("since")),
    until: instantOf(of("until")),
    types: listOf("type"),
    events: listOf("event"),
    perSecond: perSecondOf(form),
    dryRun: true,
  };
}
