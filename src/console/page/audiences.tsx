/** Audiences: members, last syncs, and those awaiting approval. */

import type { AudienceView, SyncView } from "../query-view.ts";
import { Approval, ApprovalJobs } from "./act-audience.tsx";
import { countText } from "./format.ts";
import { useMayAct } from "./jobs.ts";
import { Empty, Panel, Problem, State, Time } from "./parts.tsx";
import { type Line, Plot } from "./plot.tsx";
import { useAnswer } from "./server.ts";
import { type Column, Table } from "./table.tsx";

/** Of many audiences the table tells all. */
const DRAWN_MAX = 12;

export function Audiences({ now }: { readonly now: number }) {
  const { answer, error, isAsking, again } = useAnswer<readonly AudienceView[]>("/api/audiences");
  return (
    <>
      <header class="head">
        <h1>Audiences</h1>
        <button type="button" onClick={again}>
          Read again
        </button>
        <p role="status">{isAsking ? "Reading" : ""}</p>
      </header>
      {error === null ? null : <Problem text={error} />}
      {answer
        ?.filter(({ awaitingApproval }) => awaitingApproval !== null)
        .map((each) => (
          <AwaitingApproval key={each.id} audience={each} />
        ))}
      <ApprovalJobs now={now} onDone={again} />
      {answer === null ? null : <List audiences={answer} now={now} />}
      {answer?.slice(0, DRAWN_MAX).map((each) => (
        <Past key={each.id} audience={each} now={now} />
      ))}
    </>
  );
}

function AwaitingApproval({
  audience: { id, awaitingApproval, members },
}: {
  readonly audience: AudienceView;
}) {
  const mayAct = useMayAct();
  if (awaitingApproval === null) return null;
  const way = mayAct ? ", press Approve…" : `: switchyard audience approve ${id}`;
  return (
    <>
      <Problem
        text={`${id}: the sync ${awaitingApproval.syncId} awaits approval, because ${awaitingApproval.removals.toLocaleString("en")} of ${members.toLocaleString("en")} members would leave. If that is right${way}`}
      />
      <Approval id={id} syncId={awaitingApproval.syncId} removals={awaitingApproval.removals} />
    </>
  );
}

function List({
  audiences,
  now,
}: {
  readonly audiences: readonly AudienceView[];
  readonly now: number;
}) {
  if (audiences.length === 0) return <Empty>There is no audience.</Empty>;
  const columns: readonly Column<AudienceView>[] = [
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
      of: ({ last }) =>
        last === null ? (
          <span class="none">none yet</span>
        ) : (
          <>
            <Time at={last.endedAt} now={now} /> <small>{last.syncId}</small>
          </>
        ),
    },
    { label: "State", of: stateOf },
  ];
  return (
    <Panel title="All audiences">
      <Table label="All audiences" columns={columns} rows={audiences} keyOf={({ id }) => id} />
    </Panel>
  );
}

function stateOf({ awaitingApproval, openSyncId }: AudienceView) {
  if (awaitingApproval !== null) return <State tone="bad" word="awaiting approval" />;
  return openSyncId === null ? (
    <State tone="good" word="in step" />
  ) : (
    <State tone="warn" word="a sync is under way" />
  );
}

const MEMBERS: readonly Line[] = [{ name: "members", label: "members", color: "--blue" }];

function Past({ audience, now }: { readonly audience: AudienceView; readonly now: number }) {
  const { name, history, syncs } = audience;
  const columns: readonly Column<SyncView>[] = [
    { label: "Sync", of: ({ syncId }) => syncId },
    { label: "Ended", of: ({ endedAt }) => <Time at={endedAt} now={now} /> },
    { label: "Members after it", isNumber: true, of: ({ members }) => countText(members) },
  ];
  return (
    <Panel title={name}>
      {history === null ? null : (
        <Plot
          title="Members, as far back as Kafka has them"
          series={history}
          lines={MEMBERS}
          unit="members"
        />
      )}
      {syncs.length === 0 ? (
        <Empty>No sync of it has ended.</Empty>
      ) : (
        <Table
          label={`Last syncs of ${name}`}
          columns={columns}
          rows={syncs}
          keyOf={({ syncId, endedAt }) => `${syncId} ${endedAt}`}
        />
      )}
    </Panel>
  );
}
