/** Dead letters: counts, filters, and the latest of them with their sentences. */

import { useEffect, useRef } from "preact/hooks";

import type { DeadLettersView, DeadLetterView } from "../query-view.ts";
import type { Overview } from "../view.ts";
import { DeadLetterActions } from "./act-dead-letters.tsx";
import { callLink, destinationLink } from "./address.ts";
import { countText, reasonText } from "./format.ts";
import { Age, Choice, Empty, Panel, Problem, State, Time } from "./parts.tsx";
import { Link, setQuery, useHere } from "./router.tsx";
import { useAnswer } from "./server.ts";
import { type Column, Table } from "./table.tsx";

const TIMES = ["1h", "1d", "7d", "30d"] as const;
const STATES = ["all", "waiting", "replayed"] as const;
const FILTERS = ["destination", "reason", "since", "state"] as const;

interface Props {
  readonly overview: Overview | null;
  readonly now: number;
}

export function DeadLetters({ overview, now }: Props) {
  const { query } = useHere();
  const asked = new URLSearchParams(
    FILTERS.flatMap((name) => {
      const value = query.get(name);
      return value === null ? [] : [[name, value]];
    }),
  );
  const { answer, error, isAsking, again } = useAnswer<DeadLettersView>(
    `/api/dead-letters?${asked}`,
  );
  useFresh(overview?.deadLetters?.retained ?? null, again);
  const since = query.get("since") ?? "1d";
  return (
    <>
      <header class="head">
        <h1>Dead letters</h1>
        <Choice legend="Of the last" name="since" values={TIMES} chosen={since} />
        <Choice legend="Shown" name="state" values={STATES} chosen={query.get("state") ?? "all"} />
        <p role="status">
          {answer === null ? (isAsking ? "Reading" : "") : foundText(answer)}
          {answer?.isCut === true ? ", and more than could be read in time" : ""}
        </p>
      </header>
      <Chosen query={query} />
      <DeadLetterActions query={query} since={since} now={now} onDone={again} />
      {error === null ? null : <Problem text={error} />}
      {answer === null ? null : <Counts view={answer} />}
      {answer === null ? null : (
        <Samples deadLetters={answer.samples} total={answer.total} now={now} />
      )}
    </>
  );
}

function foundText({ total, replayed }: DeadLettersView): string {
  const found = `${total.toLocaleString("en")} found`;
  const waiting = (total - replayed).toLocaleString("en");
  return replayed === 0
    ? found
    : `${found}: ${waiting} waiting, ${replayed.toLocaleString("en")} replayed`;
}

/** Reads again when there are more of them than before. */
function useFresh(retained: number | null, again: () => void): void {
  const before = useRef(retained);
  useEffect(() => {
    if (before.current !== null && retained !== before.current) again();
    before.current = retained;
  }, [retained]);
}

function Chosen({ query }: { readonly query: URLSearchParams }) {
  const chosen = (["destination", "reason"] as const).flatMap((name) => {
    const value = query.get(name);
    return value === null ? [] : [{ name, value }];
  });
  if (chosen.length === 0) return null;
  return (
    <p class="chosen">
      {chosen.map(({ name, value }) => (
        <button key={name} type="button" onClick={() => setQuery({ [name]: "" })}>
          {name} {value} <span aria-hidden="true">✕</span>
          <span class="hidden">, leave this filter out</span>
        </button>
      ))}
    </p>
  );
}

function Counts({ view }: { readonly view: DeadLettersView }) {
  if (view.counts.length === 0) return null;
  const most = Math.max(...view.counts.map(({ count }) => count));
  const columns: readonly Column<DeadLettersView["counts"][number]>[] = [
    {
      label: "Reason",
      of: ({ reason }) => (
        <button type="button" class="plain" onClick={() => setQuery({ reason })}>
          {reasonText(reason)}
        </button>
      ),
    },
    {
      label: "Destination",
      of: ({ destination }) =>
        destination === null ? (
          <span class="none">no delivery</span>
        ) : (
          <button type="button" class="plain" onClick={() => setQuery({ destination })}>
            {destination}
          </button>
        ),
    },
    {
      label: "Count",
      isNumber: true,
      of: ({ count }) => (
        <>
          <meter min={0} max={most} value={count} aria-hidden="true" /> {countText(count)}
        </>
      ),
    },
    {
      label: "Waiting",
      isNumber: true,
      of: ({ count, replayed }) => countText(count - replayed),
    },
    { label: "Replayed", isNumber: true, of: ({ replayed }) => countText(replayed) },
  ];
  return (
    <Panel title="By reason and destination">
      <Table
        label="Counts by reason and destination"
        columns={columns}
        rows={view.counts}
        keyOf={({ reason, destination }) => `${reason} ${destination}`}
      />
    </Panel>
  );
}

function Samples({
  deadLetters,
  total,
  now,
}: {
  readonly deadLetters: readonly DeadLetterView[];
  readonly total: number;
  readonly now: number;
}) {
  if (deadLetters.length === 0) return <Empty>There are none.</Empty>;
  const title = deadLetters.length === total ? "All of them" : `The latest ${deadLetters.length}`;
  return (
    <Panel title={title}>
      <ol class="letters">
        {deadLetters.map((deadLetter) => (
          <DeadLetter
            key={`${deadLetter.from} ${deadLetter.at}`}
            deadLetter={deadLetter}
            now={now}
          />
        ))}
      </ol>
    </Panel>
  );
}

function DeadLetter({
  deadLetter,
  now,
}: {
  readonly deadLetter: DeadLetterView;
  readonly now: number;
}) {
  const { at, stage, reason, error, destination, messageId, from, payload, replayedAt } =
    deadLetter;
  return (
    <li>
      <p class="about">
        <span class="reason">{reasonText(reason)}</span>
        {destination === null ? null : <Link to={destinationLink(destination)}>{destination}</Link>}
        <Time at={at} now={now} />
        {replayedAt === null ? null : (
          <span class="replayed">
            <State tone="good" word="replayed" /> <Age at={replayedAt} now={now} />
          </span>
        )}
      </p>
      <p>{error}</p>
      <p class="from">
        {messageId === null ? null : (
          <Link to={callLink(messageId)}>
            <code>{messageId}</code>
          </Link>
        )}{" "}
        {stage} gave up {from}
      </p>
      {payload === null ? null : (
        <details>
          <summary>Value</summary>
          <pre>{payload}</pre>
        </details>
      )}
    </li>
  );
}
