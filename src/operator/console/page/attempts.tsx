/** Shows the latest attempts at a destination's deliveries, if attempts are recorded. */

import type { AttemptsView, AttemptView } from "../query-view.ts";
import { CallLink, Empty, Panel, Refresh, Result, State, Time } from "./parts.tsx";
import { useQuery } from "./server.ts";
import { type Column, Table } from "./table.tsx";

const COLUMNS: readonly Column<AttemptView>[] = [
  { label: "Ended", of: ({ at }) => <Time at={at} /> },
  { label: "Outcome", of: ({ tone, decision }) => <State tone={tone} text={decision} /> },
  { label: "Attempt", isNumber: true, of: ({ attempt }) => attempt },
  { label: "Responses", of: ({ text }) => text },
  { label: "Next retry", of: ({ retryAt }) => <Time at={retryAt} /> },
  { label: "Call", of: ({ messageId }) => <CallLink messageId={messageId} /> },
];

export function Attempts({ destination }: { readonly destination: string }) {
  const query = useQuery("attempts", { destination });
  return (
    <Panel title="Last attempts" aside={<Refresh query={query} />}>
      <Result query={query}>{(view) => <Known view={view} />}</Result>
    </Panel>
  );
}

function Known({ view: { isOn, attempts, since, isCut } }: { readonly view: AttemptsView }) {
  return (
    <>
      {isOn ? null : (
        <p class="quiet">
          Attempts are not recorded, because the setting <code>attempts.enabled</code> is off. The
          responses above come from metrics.
        </p>
      )}
      {attempts.length > 0 ? (
        <Table
          label="Last attempts"
          columns={COLUMNS}
          rows={attempts}
          keyOf={({ at, messageId, attempt }) => `${at} ${messageId} ${attempt}`}
        />
      ) : null}
      {isOn && attempts.length === 0 ? <Empty>No attempts in the last day.</Empty> : null}
      {since === null || !isCut ? null : (
        <p class="quiet">
          The time limit was reached: attempts since <Time at={since} /> are shown.
        </p>
      )}
    </>
  );
}
