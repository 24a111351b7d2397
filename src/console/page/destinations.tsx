/** The table of destinations. Of a thousand rows only those in sight are in the document. */

import { useEffect, useMemo, useRef, useState } from "preact/hooks";

import type { DestinationRow, RowsEvent } from "../view.ts";
import { destinationLink } from "./address.ts";
import { COLUMNS, orderOf, orderText, search, sorted } from "./destination-rows.ts";
import { countText, millisecondsText, outcomeText, percentText, stateWords } from "./format.ts";
import { Age, Empty, Problem, State } from "./parts.tsx";
import { Link, setQuery, useHere } from "./router.tsx";
import { useEvents } from "./server.ts";

const ROW_PX = 41;
const SPARE_ROWS = 8;
const PATH = "/api/events?of=destinations";

interface Known {
  readonly rows: ReadonlyMap<string, DestinationRow>;
  readonly ids: readonly string[];
  readonly kafkaError: string | null;
}

export function Destinations({ now }: { readonly now: number }) {
  const { query } = useHere();
  const [known, setKnown] = useState<Known | null>(null);
  useEvents<RowsEvent>(PATH, ({ changed, ids, kafkaError }) => {
    setKnown((before) => {
      const rows = new Map(before?.rows);
      for (const row of changed) rows.set(row.id, row);
      return { rows, ids, kafkaError };
    });
  });
  const wanted = query.get("q") ?? "";
  const order = orderOf(query.get("sort"));
  const all = useMemo(() => known?.ids.flatMap((id) => known.rows.get(id) ?? []) ?? [], [known]);
  const shown = useMemo(
    () => sorted(search(all, wanted), order),
    [all, wanted, order.column, order.isDown],
  );
  const count = shown.length === all.length ? `${all.length}` : `${shown.length} of ${all.length}`;
  return (
    <>
      <header class="head">
        <h1>Destinations</h1>
        <Search value={wanted} />
        <p role="status">{known === null ? "Loading" : `${count} shown`}</p>
      </header>
      {known?.kafkaError == null ? null : <Problem text={`Kafka is away: ${known.kafkaError}`} />}
      {known !== null && shown.length === 0 ? (
        <Empty>{all.length === 0 ? "No destination is configured." : "None is found."}</Empty>
      ) : (
        <Table rows={shown} order={order} now={now} />
      )}
    </>
  );
}

function Search({ value }: { readonly value: string }) {
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    const focus = (event: KeyboardEvent) => {
      const isTyping = event.target instanceof HTMLInputElement;
      if (event.key !== "/" || isTyping || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      input.current?.focus();
    };
    document.addEventListener("keydown", focus);
    return () => document.removeEventListener("keydown", focus);
  }, []);
  return (
    <label class="search">
      <span>Search</span>
      <input
        ref={input}
        type="search"
        value={value}
        placeholder="id, state or answer, such as failing 503  ( / )"
        onInput={({ currentTarget }) => setQuery({ q: currentTarget.value })}
      />
    </label>
  );
}

interface TableProps {
  readonly rows: readonly DestinationRow[];
  readonly order: ReturnType<typeof orderOf>;
  readonly now: number;
}

function Table({ rows, order, now }: TableProps) {
  const [first, last] = useInSight(rows.length);
  const above = first * ROW_PX;
  const below = Math.max(0, rows.length - last) * ROW_PX;
  return (
    <table class="rows" aria-rowcount={rows.length + 1}>
      <thead>
        <tr>
          {COLUMNS.map(({ name, label, isNumber }) => {
            const isSorted = order.column === name;
            const direction = order.isDown ? "descending" : "ascending";
            // Of numbers, the largest are looked for.
            const next = { column: name, isDown: isSorted ? !order.isDown : isNumber };
            return (
              <th
                key={name}
                scope="col"
                class={isNumber ? "number" : ""}
                data-column={name}
                {...(isSorted ? { "aria-sort": direction } : {})}
              >
                <button type="button" onClick={() => setQuery({ sort: orderText(next) })}>
                  {label}
                  <span aria-hidden="true">{isSorted ? (order.isDown ? " ↓" : " ↑") : ""}</span>
                </button>
              </th>
            );
          })}
        </tr>
      </thead>
      <tbody>
        {above === 0 ? null : <Space px={above} />}
        {rows.slice(first, last).map((row, index) => (
          <Row key={row.id} row={row} index={first + index + 2} now={now} />
        ))}
        {below === 0 ? null : <Space px={below} />}
      </tbody>
    </table>
  );
}

function Space({ px }: { readonly px: number }) {
  return (
    <tr class="space" style={{ height: `${px}px` }}>
      <td colSpan={COLUMNS.length} aria-hidden="true" />
    </tr>
  );
}

function Row({
  row,
  index,
  now,
}: {
  readonly row: DestinationRow;
  readonly index: number;
  readonly now: number;
}) {
  const isFailing = row.trouble <= 1;
  const cells: Readonly<Record<string, string>> = {
    rate: countText(row.acceptedPerMinute),
    failed: countText(row.failedPerMinute),
    share: percentText(row.share),
    p50: millisecondsText(row.p50Ms),
    p99: millisecondsText(row.p99Ms),
    waiting: countText(row.waiting),
    tiers: countText(row.inTiers),
  };
  return (
    <tr aria-rowindex={index} class={isFailing ? "failing" : ""}>
      <th scope="row" data-column="id">
        <Link to={destinationLink(row.id)}>{row.id}</Link>
      </th>
      <td data-column="state">
        <State {...stateWords(row)} />
      </td>
      {COLUMNS.filter(({ name }) => name in cells).map(({ name, label }) => (
        <td key={name} class="number" data-column={name} data-label={label}>
          {cells[name]}
        </td>
      ))}
      <td class="number" data-column="oldest" data-label="Oldest">
        <Age at={row.oldestAt} now={now} />
      </td>
      <td data-column="last" data-label="Last answer">
        {row.last === null ? (
          <span class="none">–</span>
        ) : (
          <>
            {outcomeText(row.last)}, <Age at={row.last.at} now={now} />
          </>
        )}
      </td>
    </tr>
  );
}

/** The rows that the window shows, and some more. */
function useInSight(count: number): readonly [number, number] {
  const [range, setRange] = useState<readonly [number, number]>([0, 40]);
  useEffect(() => {
    const look = () => {
      const table = document.querySelector("table.rows tbody");
      const top = table === null ? 0 : table.getBoundingClientRect().top;
      const first = Math.max(0, Math.floor(-top / ROW_PX) - SPARE_ROWS);
      const size = Math.ceil(window.innerHeight / ROW_PX) + 2 * SPARE_ROWS;
      const last = Math.min(count, first + size);
      setRange((before) => (before[0] === first && before[1] === last ? before : [first, last]));
    };
    look();
    window.addEventListener("scroll", look, { passive: true });
    window.addEventListener("resize", look);
    return () => {
      window.removeEventListener("scroll", look);
      window.removeEventListener("resize", look);
    };
  }, [count]);
  return [Math.min(range[0], Math.max(0, count - 1)), Math.min(range[1], count)];
}
