/** The last attempts of a destination, as the topic of attempts has them. */

import type { AttemptsView, AttemptView } from "../query-view.ts";
import { callLink } from "./address.ts";
import { Empty, Panel, Problem, State, Time, TimeOrNone } from "./parts.tsx";
import { Link } from "./router.tsx";
import { useAnswer } from "./server.ts";
import { type Column, Table } from "./table.tsx";

export function Attempts({
  destination,
  now,
}: {
  readonly destination: string;
  readonly now: number;
}) {
  const asked = new URLSearchParams({ destination });
  const { answer, error, isAsking, again } = useAnswer<AttemptsView>(`/api/attempts?${asked}`);
  return (
    <Panel
      title="Last attempts"
      aside={
        <>
          <button type="button" onClick={again}>
            Read again
          </button>
          <span role="status">{isAsking ? "Reading" : ""}</span>
        </>
      }
    >
      {error === null ? null : <Problem text={error} />}
      {answer === null ? null : <Known view={answer} now={now} />}
    </Panel>
  );
}

function Known({
  view: { isOn, attempts, since, isCut },
  now,
}: {
  readonly view: AttemptsView;
  readonly now: number;
}) {
  return (
    <>
      {isOn ? null : (
        <p class="beside">
          Attempts are not written down: the setting <code>attempts.enabled</code> is off. Answers
          above come from metrics.
        </p>
      )}
      {attempts.length > 0 ? <Rows attempts={attempts} now={now} /> : null}
      {isOn && attempts.length === 0 ? <Empty>It has no attempt of the last day.</Empty> : null}
      {since === null || !isCut ? null : (
        <p class="beside">
          Time ran out: attempts since <Time at={since} now={now} /> were looked at.
        </p>
      )}
    </>
  );
}

function Rows({
  attempts,
  now,
}: {
  readonly attempts: readonly AttemptView[];
  readonly now: number;
}) {
  const columns: readonly Column<AttemptView>[] = [
    { label: "Ended", of: ({ at }) => <Time at={at} now={now} /> },
    { label: "Outcome", of: ({ tone, decision }) => <State tone={tone} word={decision} /> },
    { label: "Attempt", isNumber: true, of: ({ attempt }) => attempt },
    { label: "Answers", of: ({ text }) => text },
    { label: "Tried again", of: ({ retryAt }) => <TimeOrNone at={retryAt} now={now} /> },
    {
      label: "Call",
      of: ({ messageId }) => (
        <Link to={callLink(messageId)}>
          <code>{messageId}</code>
        </Link>
      ),
    },
  ];
  return (
    <Table
      label="Last attempts"
      columns={columns}
      rows={attempts}
      keyOf={({ at, messageId, attempt }) => `${at} ${messageId} ${attempt}`}
    />
  );
}
