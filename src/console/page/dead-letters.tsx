/** Dead letters: counts, filters, and the latest of them with their sentences. */

import { useEffect, useRef } from "preact/hooks";

import type { LettersView, LetterView, Overview } from "../view.ts";
import { callLink, destinationLink } from "./address.ts";
import { Empty, Panel, Problem, Scroll, Time } from "./parts.tsx";
import { Link, setQuery, useHere } from "./router.tsx";
import { useAnswer } from "./server.ts";
import { countText, reasonText } from "./words.ts";

const TIMES = ["1h", "1d", "7d", "30d"] as const;
const FILTERS = ["destination", "reason", "since"] as const;

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
  const { answer, error, isAsking, again } = useAnswer<LettersView>(`/api/dead-letters?${asked}`);
  useFresh(overview?.deadLetters?.retained ?? null, again);
  const since = query.get("since") ?? "1d";
  return (
    <>
      <header class="head">
        <h1>Dead letters</h1>
        <fieldset class="times">
          <legend>Of the last</legend>
          {TIMES.map((time) => (
            <button
              key={time}
              type="button"
              aria-pressed={since === time}
              onClick={() => setQuery({ since: time })}
            >
              {time}
            </button>
          ))}
        </fieldset>
        <p role="status">
          {answer === null
            ? isAsking
              ? "Reading"
              : ""
            : `${answer.total.toLocaleString("en")} found`}
          {answer?.isCut === true ? ", and more than could be read in time" : ""}
        </p>
      </header>
      <Chosen query={query} />
      {error === null ? null : <Problem text={error} />}
      {answer === null ? null : <Counts view={answer} />}
      {answer === null ? null : <Samples letters={answer.samples} total={answer.total} now={now} />}
    </>
  );
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

function Counts({ view }: { readonly view: LettersView }) {
  if (view.counts.length === 0) return null;
  const most = Math.max(...view.counts.map(({ count }) => count));
  return (
    <Panel title="By reason and destination">
      <Scroll label="Counts by reason and destination">
        <table class="counts">
          <thead>
            <tr>
              <th scope="col">Reason</th>
              <th scope="col">Destination</th>
              <th scope="col" class="number">
                Count
              </th>
            </tr>
          </thead>
          <tbody>
            {view.counts.map(({ destination, reason, count }) => (
              <tr key={`${reason} ${destination}`}>
                <th scope="row">
                  <button type="button" class="plain" onClick={() => setQuery({ reason })}>
                    {reasonText(reason)}
                  </button>
                </th>
                <td>
                  {destination === null ? (
                    <span class="none">no delivery</span>
                  ) : (
                    <button type="button" class="plain" onClick={() => setQuery({ destination })}>
                      {destination}
                    </button>
                  )}
                </td>
                <td class="number">
                  <meter min={0} max={most} value={count} aria-hidden="true" /> {countText(count)}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </Panel>
  );
}

function Samples({
  letters,
  total,
  now,
}: {
  readonly letters: readonly LetterView[];
  readonly total: number;
  readonly now: number;
}) {
  if (letters.length === 0) return <Empty>There are none.</Empty>;
  const title = letters.length === total ? "All of them" : `The latest ${letters.length}`;
  return (
    <Panel title={title}>
      <ol class="letters">
        {letters.map((letter) => (
          <Letter key={`${letter.from} ${letter.at}`} letter={letter} now={now} />
        ))}
      </ol>
    </Panel>
  );
}

function Letter({ letter, now }: { readonly letter: LetterView; readonly now: number }) {
  const { at, stage, reason, error, destination, messageId, from, payload } = letter;
  return (
    <li>
      <p class="about">
        <span class="reason">{reasonText(reason)}</span>
        {destination === null ? null : <Link to={destinationLink(destination)}>{destination}</Link>}
        <Time at={at} now={now} />
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
