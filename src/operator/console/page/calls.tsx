/**
 * Shows the latest calls, finds a call by its message ID, and shows the calls of a user. In the address, the user's
 * ID appears only as a hash.
 */

import { useState } from "preact/hooks";

import type { CallsView, LatestCall } from "../query-view.ts";
import { callLink, userCallsLink } from "./address.ts";
import { CALL_TIMES } from "./call.tsx";
import { CallLink, Choice, Empty, Head, None, Panel, Problem, Result, Time } from "./parts.tsx";
import { go, useHere } from "./router.tsx";
import { errorText, postText, useQuery } from "./server.ts";
import { type Column, Table } from "./table.tsx";

export function Calls() {
  const { query } = useHere();
  const user = query.get("user");
  const since = query.get("since") ?? "1d";
  return (
    <>
      <Head title="Calls">
        {user === null ? null : (
          <Choice legend="Written in the last" name="since" values={CALL_TIMES} chosen={since} />
        )}
      </Head>
      <FindCall />
      {user === null ? <Latest /> : <OfUser user={user} since={since} />}
    </>
  );
}

const LATEST_EVERY_MS = 5_000;

function Latest() {
  const query = useQuery("calls", { since: "1d" }, LATEST_EVERY_MS);
  return (
    <Panel title="Latest calls">
      <Result query={query}>
        {({ calls }) =>
          calls.length === 0 ? (
            <Empty>No calls were written in the last day.</Empty>
          ) : (
            <CallTable label="Latest calls" calls={calls} />
          )
        }
      </Result>
    </Panel>
  );
}

function CallTable({
  label,
  calls,
}: {
  readonly label: string;
  readonly calls: readonly LatestCall[];
}) {
  const keyOf = ({ at, messageId }: LatestCall) => `${at} ${messageId}`;
  return <Table label={label} columns={COLUMNS} rows={calls} keyOf={keyOf} />;
}

export function FindCall() {
  const [error, setError] = useState<string | null>(null);
  const byUser = (id: string) => {
    // The server computes the hash that replaces the ID in the address.
    postText("/api/user", id).then(
      (found) => go(userCallsLink((found as { readonly hash: string }).hash)),
      (problem: unknown) => setError(errorText(problem)),
    );
  };
  return (
    <div class="finding flex">
      <Find label="Find a call" hint="message ID (press /)" take={(id) => go(callLink(id))} />
      <Find label="Calls of a user" hint="user ID or anonymous ID" take={byUser} />
      <Problem text={error} />
    </div>
  );
}

function Find({
  label,
  hint,
  take,
}: {
  readonly label: string;
  readonly hint: string;
  readonly take: (id: string) => void;
}) {
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    const id = String(new FormData(form).get("id") ?? "").trim();
    if (id !== "") take(id);
  };
  return (
    <form class="search" onSubmit={submit}>
      <label>
        <span>{label}</span>
        <input name="id" placeholder={hint} autoComplete="off" required />
      </label>
      <button type="submit">Find</button>
    </form>
  );
}

function OfUser({ user, since }: { readonly user: string; readonly since: string }) {
  const { data, error, isLoading } = useQuery("calls", { user, since });
  return (
    <>
      <Problem text={error} />
      <p class="quiet" role="status">
        {isLoading ? "Reading calls, the latest first" : data === null ? "" : scannedText(data)}
      </p>
      {data === null || isLoading ? null : <Found view={data} />}
    </>
  );
}

function scannedText({ scanned, isCut }: CallsView): string {
  const records = `${scanned.toLocaleString("en")} records were read`;
  return isCut ? `${records} before the time limit was reached.` : `${records}.`;
}

const COLUMNS: readonly Column<LatestCall>[] = [
  { label: "Written", of: ({ at }) => <Time at={at} /> },
  { label: "Call", of: ({ messageId }) => <CallLink messageId={messageId} /> },
  { label: "Type", of: ({ type }) => type },
  { label: "Event", of: ({ event }) => event ?? <None /> },
  { label: "Source", of: ({ source }) => source },
];

function Found({ view: { calls, since } }: { readonly view: CallsView }) {
  if (calls.length === 0) {
    return (
      <Empty>
        No calls of this user since <Time at={since} />. Choose a longer time to look further back.
      </Empty>
    );
  }
  return (
    <Panel title="The latest calls of this user">
      <CallTable label="Calls of this user" calls={calls} />
      <p class="quiet">
        All calls since <Time at={since} />.
      </p>
    </Panel>
  );
}
