/** The dialog for replaying the dead letters that match the filters. */

import type { JobView } from "../action-view.ts";
import { PerSecond, perSecondOf } from "./act-destination.tsx";
import { counted } from "./action-text.ts";
import { CountedDialog, DialogButton } from "./dialog.tsx";
import { JobList, useEnds, useMayAct, useShownJobs } from "./jobs.tsx";
import { ReadOnly } from "./parts.tsx";

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
  readonly onDone: () => void;
}

export function DeadLetterActions({ query, since, onDone }: Props) {
  const jobs = useShownJobs(isOfDeadLetters);
  useEnds(jobs, onDone);
  const destination = query.get("destination") || null;
  const reason = query.get("reason") || null;
  return (
    <>
      {useMayAct() ? (
        <p>
          <DialogButton label="Replay these…">
            {(close) => (
              <CountedDialog
                title="Replay dead letters"
                actionOf={(form) => ({
                  action: "replay-dead-letters",
                  destination,
                  reason,
                  since: SINCE_MS[since] ?? 24 * HOUR_MS,
                  until: 0,
                  includeReplayed: form.get("includeReplayed") !== null,
                  perSecond: perSecondOf(form),
                  dryRun: true,
                })}
                doIt={(count) => `Replay ${counted(count, "dead letter", "dead letters")}`}
                onClose={close}
              >
                <p>
                  Dead letters from the last {since}, for {destination ?? "all destinations"}, with{" "}
                  {reason === null ? "any reason" : `the reason ${reason}`}.
                </p>
                <label>
                  <input type="checkbox" name="includeReplayed" /> Include dead letters that have
                  already been replayed
                </label>
                <PerSecond />
              </CountedDialog>
            )}
          </DialogButton>
        </p>
      ) : (
        <ReadOnly commands="dead-letters replay" />
      )}
      <JobList jobs={jobs} />
    </>
  );
}

function isOfDeadLetters({ action }: JobView): boolean {
  if (action.action === "resume-replay") return action.kind === "dead-letters";
  return action.action === "replay-dead-letters";
}
