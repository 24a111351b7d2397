/** Approvals of syncs. */

import { useState } from "preact/hooks";

import { counted } from "./action-words.ts";
import { Dialog, useBegin } from "./dialog.tsx";
import { JobList, useShownJobs } from "./job-list.tsx";
import { useEnds, useMayAct } from "./jobs.ts";
import { Problem } from "./parts.tsx";

interface Props {
  readonly id: string;
  readonly syncId: string;
  readonly removals: number;
}

/** Nothing where the page may not act: the problem above it then names the command. */
export function Approval({ id, syncId, removals }: Props) {
  const mayAct = useMayAct();
  const [isOpen, setIsOpen] = useState(false);
  const close = () => setIsOpen(false);
  const { start, error } = useBegin(close);
  if (!mayAct) return null;
  const members = counted(removals, "member", "members");
  return (
    <div class="actions">
      <button type="button" onClick={() => setIsOpen(true)}>
        Approve…<span class="hidden"> {id}</span>
      </button>
      {isOpen ? (
        <Dialog title={`Approve the sync of ${id}`} onClose={close}>
          <p>
            {members} of {id} leave, and each destination is notified. That cannot be undone. The
            sync: {syncId}.
          </p>
          <p class="buttons">
            <button
              type="button"
              class="danger"
              onClick={() => start({ action: "approve", audience: id, syncId })}
            >
              Approve: {members} leave
            </button>
            <button type="button" class="plain" onClick={close}>
              Close
            </button>
          </p>
          {error === null ? null : <Problem text={error} />}
        </Dialog>
      ) : null}
    </div>
  );
}

/** @param onDone called when one has ended. */
export function ApprovalJobs({
  now,
  onDone,
}: {
  readonly now: number;
  readonly onDone: () => void;
}) {
  const jobs = useShownJobs(({ action }) => action.action === "approve");
  useEnds(jobs, onDone);
  return <JobList jobs={jobs} now={now} />;
}
