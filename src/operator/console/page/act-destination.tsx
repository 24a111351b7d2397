/** The buttons and dialogs for actions on one destination. */

import { useState } from "preact/hooks";
import { counted } from "../../../base/words/count.ts";
import type { Action } from "../action-view.ts";
import type { DestinationView } from "../view.ts";
import { destinationOf, fieldTime, instantOf } from "./action-text.ts";
import { ActionDialog, CountedDialog, DialogButton } from "./dialog.tsx";
import { JobList, useMayAct, useShownJobs, useStart } from "./jobs.tsx";
import { Problem, ReadOnly } from "./parts.tsx";

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

export function DestinationActions({ view }: { readonly view: DestinationView }) {
  const { destination: id } = view;
  const jobs = useShownJobs(({ action }) => destinationOf(action) === id);
  return (
    <>
      {useMayAct() ? (
        <Buttons view={view} />
      ) : (
        <ReadOnly commands={`pause, resume, retry, wait, cancel, replay ${id}`} />
      )}
      <JobList jobs={jobs} />
    </>
  );
}

function Buttons({
  view: { destination: id, isAttempted, hold, endpoints },
}: {
  readonly view: DestinationView;
}) {
  const { start, error } = useStart(() => undefined);
  const isPaused = hold?.reason === "paused";
  const isGone = endpoints.some(({ unavailable }) => unavailable?.reason === "gone");
  const direct = (action: "resume" | "retry" | "wait", label: string) => (
    <button type="button" onClick={() => start({ action, destination: id })}>
      {label}
    </button>
  );
  return (
    <>
      <fieldset class="flex">
        <legend class="hidden">Actions on {id}</legend>
        {isAttempted === false ? (
          <p class="note">Other consumers read its topic, so replay is the only action.</p>
        ) : (
          <>
            {isPaused || isGone ? direct("resume", "Resume") : null}
            {isPaused ? null : (
              <DialogButton label="Pause…">
                {(close) => <PauseDialog id={id} onClose={close} />}
              </DialogButton>
            )}
            {direct("retry", "Retry now")}
            {direct("wait", "Wait")}
            <DialogButton label="Cancel…">
              {(close) => <CancelDialog id={id} onClose={close} />}
            </DialogButton>
          </>
        )}
        <DialogButton label="Replay…">
          {(close) => <ReplayDialog id={id} onClose={close} />}
        </DialogButton>
      </fieldset>
      <Problem text={error} />
    </>
  );
}

interface DialogProps {
  readonly id: string;
  readonly onClose: () => void;
}

function PauseDialog({ id, onClose }: DialogProps) {
  const actionOf = (form: FormData): Action => {
    return { action: "pause", destination: id, pauseForMs: Number(form.get("for")) || null };
  };
  return (
    <ActionDialog title={`Pause ${id}`} actionOf={actionOf} submit="Pause" onClose={onClose}>
      <p>During the pause, nothing is sent to {id}. Its calls stay in the queue, in order.</p>
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
    </ActionDialog>
  );
}

function CancelDialog({ id, onClose }: DialogProps) {
  return (
    <CountedDialog
      title={`Cancel deliveries to ${id}`}
      actionOf={(form) => {
        const before = Number(form.get("age"));
        return { action: "cancel", destination: id, before, dryRun: true };
      }}
      doIt={(count) => `Cancel ${counted(count, "delivery", "deliveries")}`}
      isDanger
      onClose={onClose}
    >
      <p>Deliveries that are queued or await retry become dead letters, which can be replayed.</p>
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

function ReplayDialog({ id, onClose }: DialogProps) {
  // The initial value is computed only once, so that the field keeps what the user enters.
  const [since] = useState(() => fieldTime(Date.now() - DAY_MS));
  return (
    <CountedDialog
      title={`Replay calls to ${id}`}
      actionOf={(form) => replayOf(id, form)}
      doIt={(count) => `Replay ${counted(count, "call")}`}
      onClose={onClose}
    >
      <p>
        Calls from this range are routed again, for this destination only. Calls that it has already
        received are sent again with the same message IDs.
      </p>
      <label>
        Received from (your time zone)
        <input type="datetime-local" name="since" required defaultValue={since} />
      </label>
      <label>
        Until (your time zone; empty: now)
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
        Event name of track calls (empty: all)
        <input type="text" name="event" maxLength={200} />
      </label>
      <PerSecond />
    </CountedDialog>
  );
}

type Again = Extract<
  Action<string | number>,
  { readonly action: "send-again" | "replay-dead-letters" }
>;

/** Sends one call again. @param about the call, for screen readers. */
export function SendAgain({ action, about }: { readonly action: Again; readonly about: string }) {
  if (!useMayAct()) return null;
  const to = action.destination ?? "every destination that should get it";
  return (
    <DialogButton label="Send again…" about={about}>
      {(close) => (
        <CountedDialog
          title="Send again"
          actionOf={() => action}
          doIt={(count) => `Send ${counted(count, "call")} again`}
          onClose={close}
        >
          <p>
            {action.action === "send-again"
              ? `The call is routed again by the current rules, and sent to ${to} with the same message ID.`
              : `The dead letter goes back to where it came from: it is sent to ${to}, and gets a new retry window.`}
          </p>
        </CountedDialog>
      )}
    </DialogButton>
  );
}

export function PerSecond() {
  return (
    <label>
      Maximum per second (empty: no limit)
      <input type="number" name="perSecond" min={1} max={1_000_000} step={1} />
    </label>
  );
}

/** Reads the field for the rate; null if the field is empty. */
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
