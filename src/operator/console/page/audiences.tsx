/** Shows audiences, with their members, their last syncs, and the syncs that await approval. */

import { counted } from "../../../base/words/count.ts";
import type { AudienceView, SyncView } from "../query-view.ts";
import { ActionDialog, DialogButton } from "./dialog.tsx";
import { countText } from "./format.ts";
import { JobList, useEnds, useMayAct, useShownJobs } from "./jobs.tsx";
import { Empty, Head, Panel, Problem, Refresh, State, Time } from "./parts.tsx";
import { type Line, Plot } from "./plot.tsx";
import { useQuery } from "./server.ts";
import { type Column, Table } from "./table.tsx";

/** Maximum number of plots. The table lists all audiences. */
const DRAWN_MAX = 12;

export function Audiences() {
  const query = useQuery("audiences");
  const jobs = useShownJobs(({ action }) => action.action === "approve");
  useEnds(jobs, query.reload);
  const { data, error } = query;
  return (
    <>
      <Head title="Audiences">
        <Refresh query={query} />
      </Head>
      <Problem text={error} />
      {data?.map((each) => (
        <AwaitingApproval key={each.id} audience={each} />
      ))}
      <JobList jobs={jobs} />
      {data === null ? null : <List audiences={data} />}
      {data?.slice(0, DRAWN_MAX).map((each) => (
        <Past key={each.id} audience={each} />
      ))}
    </>
  );
}

function AwaitingApproval({ audience }: { readonly audience: AudienceView }) {
  const { id, awaitingApproval, members } = audience;
  const mayAct = useMayAct();
  if (awaitingApproval === null) return null;
  const { syncId, removals, command } = awaitingApproval;
  const leaving = counted(removals, "member");
  const way = mayAct ? ", press Approve…" : `: ${command}`;
  return (
    <>
      <Problem
        text={`${id}: the sync ${syncId} awaits approval, because ${removals.toLocaleString("en")} of ${members.toLocaleString("en")} members would be removed. If this is correct${way}`}
      />
      {mayAct ? (
        <p>
          <DialogButton label="Approve…" about={id}>
            {(close) => (
              <ActionDialog
                title={`Approve the sync of ${id}`}
                actionOf={() => ({ action: "approve", audience: id, syncId })}
                submit={`Approve: ${leaving} leave`}
                isDanger
                onClose={close}
              >
                <p>
                  {leaving} of {id} leave, and each destination is notified. This cannot be undone.
                  Sync ID: {syncId}.
                </p>
              </ActionDialog>
            )}
          </DialogButton>
        </p>
      ) : null}
    </>
  );
}

const COLUMNS: readonly Column<AudienceView>[] = [
  {
    label: "Audience",
    of: ({ id, name }) => (
      <>
        {name} <small>{id}</small>
      </>
    ),
  },
  { label: "Trait", of: ({ key }) => <code>{key}</code> },
  { label: "Members", isNumber: true, of: ({ members }) => countText(members) },
  {
    label: "Last sync",
    of: ({ last }) => (
      <>
        <Time at={last?.endedAt ?? null} /> <small>{last?.syncId}</small>
      </>
    ),
  },
  { label: "State", of: stateOf },
];

function List({ audiences }: { readonly audiences: readonly AudienceView[] }) {
  if (audiences.length === 0) return <Empty>There are no audiences.</Empty>;
  return (
    <Panel title="All audiences">
      <Table label="All audiences" columns={COLUMNS} rows={audiences} keyOf={({ id }) => id} />
    </Panel>
  );
}

function stateOf({ awaitingApproval, openSyncId }: AudienceView) {
  if (awaitingApproval !== null) return <State tone="bad" text="Awaiting approval" />;
  return openSyncId === null ? (
    <State tone="good" text="Up to date" />
  ) : (
    <State tone="warn" text="Sync in progress" />
  );
}

const MEMBERS: readonly Line[] = [{ name: "members", label: "members", color: "--blue" }];
const SYNC_COLUMNS: readonly Column<SyncView>[] = [
  { label: "Sync", of: ({ syncId }) => syncId },
  { label: "Ended", of: ({ endedAt }) => <Time at={endedAt} /> },
  { label: "Members afterwards", isNumber: true, of: ({ members }) => countText(members) },
];

function Past({ audience: { name, history, syncs } }: { readonly audience: AudienceView }) {
  return (
    <Panel title={name}>
      {history === null ? null : (
        <Plot
          title="Members, as far back as Kafka keeps their history"
          series={history}
          lines={MEMBERS}
          unit="members"
        />
      )}
      {syncs.length === 0 ? (
        <Empty>No sync has ended yet.</Empty>
      ) : (
        <Table
          label={`Last syncs of ${name}`}
          columns={SYNC_COLUMNS}
          rows={syncs}
          keyOf={({ syncId, endedAt }) => `${syncId} ${endedAt}`}
        />
      )}
    </Panel>
  );
}
