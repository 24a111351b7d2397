/** The latest calls of a user, whose id the address has as a hash. */

import type { UserCall, UserCallsView } from "../query-view.ts";
import { callLink } from "./address.ts";
import { FindCall } from "./find-call.tsx";
import { Choice, Empty, Panel, Problem, Time } from "./parts.tsx";
import { Link, useHere } from "./router.tsx";
import { useAnswer } from "./server.ts";
import { type Column, Table } from "./table.tsx";

export function Calls({ now }: { readonly now: number }) {
  const { query } = useHere();
  const user = query.get("user");
  return (
    <>
      <header class="head">
        <h1>Calls</h1>
        {user === null ? null : (
          <Choice
            legend="Written in the last"
            name="since"
            values={["1h", "1d", "7d"]}
            chosen={query.get("since") ?? "1d"}
          />
        )}
      </header>
      <FindCall />
      {user === null ? (
        <Empty>
          A call is found by its message id. The latest calls of a user are found by the id.
        </Empty>
      ) : (
        <OfUser user={user} since={query.get("since") ?? "1d"} now={now} />
      )}
    </>
  );
}

function OfUser({
  user,
  since,
  now,
}: {
  readonly user: string;
  readonly since: string;
  readonly now: number;
}) {
  const asked = new URLSearchParams({ user, since });
  const { answer, error, isAsking } = useAnswer<UserCallsView>(`/api/calls?${asked}`);
  return (
    <>
      {error === null ? null : <Problem text={error} />}
      <p class="beside" role="status">
        {isAsking ? "Reading calls from the latest on" : answer === null ? "" : lookedText(answer)}
      </p>
      {answer === null || isAsking ? null : <Found view={answer} now={now} />}
    </>
  );
}

function lookedText({ looked, isCut }: UserCallsView): string {
  const records = `${looked.toLocaleString("en")} records were looked at`;
  return isCut ? `${records}, and time ran out before all of it was.` : `${records}.`;
}

function Found({
  view: { calls, since },
  now,
}: {
  readonly view: UserCallsView;
  readonly now: number;
}) {
  if (calls.length === 0) {
    return (
      <Empty>
        This user has no call since <Time at={since} now={now} />. A longer time looks further back.
      </Empty>
    );
  }
  const columns: readonly Column<UserCall>[] = [
    { label: "Written", of: ({ at }) => <Time at={at} now={now} /> },
    {
      label: "Call",
      of: ({ messageId }) => (
        <Link to={callLink(messageId)}>
          <code>{messageId}</code>
        </Link>
      ),
    },
    { label: "Type", of: ({ type }) => type },
    { label: "Event", of: ({ event }) => event ?? <span class="none">–</span> },
    { label: "Source", of: ({ source }) => source },
  ];
  return (
    <Panel title="The latest calls of this user">
      <Table
        label="Calls of this user"
        columns={columns}
        rows={calls}
        keyOf={({ at, messageId }) => `${at} ${messageId}`}
      />
      <p class="beside">
        All since <Time at={since} now={now} />.
      </p>
    </Panel>
  );
}
