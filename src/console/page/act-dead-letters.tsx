/** Replays of dead letters: of those that the filters leave. */

import { useState } from "preact/hooks";

import type { JobView } from "../action-view.ts";
import { PerSecond, perSecondOf } from "./act-destination.tsx";
import { counted } from "./action-words.ts";
import { CountedDialog } from "./dialog.tsx";
import { JobList, useShownJobs } from "./job-list.tsx";
import { useEnds, useMayAct } from "./jobs.ts";

const HOUR_MS = 3_600_000;
const SINCE_MS: Readonly<Record<string, number>> = {
  "1h": HOUR_MS,
  "1d": 24 * HOUR_MS,
  "7d": 7 * 24 * HOUR_MS,
  "30d": 30 * 24 * HOUR_MS,
};

interface Props {
  /** The filters of the view. */
  readonly query: URLSearchParams;
  readonly since: string;
  readonly now: number;
  readonly onDone: () => void;
}

export function DeadLetterActions({ query, since, now, onDone }: Props) {
  const mayAct = useMayAct();
  const [isOpen, setIsOpen] = useState(false);
  const jobs = useShownJobs(isOfDeadLetters);
  useEnds(jobs, onDone);
  const destination = query.get("destination") || null;
  const reason = query.get("reason") || null;
  return (
    <>
      {mayAct ? (
        <p class="actions">
          <button type="button" onClick={() => setIsOpen(true)}>
            Replay these…
          </button>
        </p>
      ) : (
        <p class="note">
          This page is read-only (<code>console.readOnly</code>). To send them again: switchyard
          dead-letters replay
        </p>
      )}
      <JobList jobs={jobs} now={now} />
      {isOpen ? (
        <CountedDialog
          title="Replay dead letters"
          actionOf={(form) => ({
            action: "replay-letters",
            destination,
            reason,
            since: SINCE_MS[since] ?? 24 * HOUR_MS,
            until: 0,
            includeReplayed: form.get("includeReplayed") !== null,
            perSecond: perSecondOf(form),
            dryRun: true,
          })}
          doIt={(count) => `Send ${counted(count, "dead letter", "dead letters")} again`}
          onClose={() => setIsOpen(false)}
        >
          <p>
            Those of the last {since}, of {destination ?? "all destinations"}, for{" "}
            {reason === null ? "any reason" : `the reason ${reason}`}.
          </p>
          <label class="check">
            <input type="checkbox" name="includeReplayed" /> also those that were replayed before
          </label>
          <PerSecond />
        </CountedDialog>
      ) : null}
    </>
  );
}

function isOfDeadLetters({ action }: JobView): boolean {
  if (action.action === "go-on") return action.of === "letters";
  return action.action === "replay-letters";
}
