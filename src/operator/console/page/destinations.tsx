/** Shows the table of destinations. Only the visible rows are in the document. */

import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";

import type { DestinationRow, RowsEvent } from "../view.ts";
import {
  COLUMNS,
  type ColumnName,
  orderOf,
  orderText,
  search,
  sorted,
} from "./destination-rows.ts";
import {
  acceptedShare,
  countText,
  millisecondsText,
  outcomeText,
  percentText,
  stateOf,
} from "./format.ts";
import { Age, DestinationLink, Empty, Head, Loading, None, Problem, State } from "./parts.tsx";
import { setQuery, useHere } from "./router.tsx";
import { useEvents } from "./server.ts";

const ROW_PX = 41;
const SPARE_ROWS = 8;
const PATH = "/api/events?of=destinations";

interface KnownRows {
  readonly rows: ReadonlyMap<string, DestinationRow>;
  readonly ids: readonly string[];
  readonly kafkaError: string | null;
}

export function Destinations() {
  const { query } = useHere();
  const [known, setKnown] = useState<KnownRows | null>(null);
  useEvents<RowsEvent>(PATH, ({ changed, ids, kafkaError }) => {
    setKnown((before) => {
      const rows = new Map(before?.rows);
      for (const row of changed) rows.set(row.destination, row);
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
      <Head title="Destinations">
        <Search value={wanted} />
        <p role="status">{known === null ? "" : `${count} shown`}</p>
      </Head>
      <Problem
        text={known?.kafkaError == null ? null : `Kafka is unreachable: ${known.kafkaError}`}
      />
      {known === null ? (
        <Loading rows={8} />
      ) : shown.length === 0 ? (
        <Empty>{all.length === 0 ? "No destinations are configured." : "No matches."}</Empty>
      ) : (
        <Table rows={shown} order={order} />
      )}
    </>
  );
}

function Search({ value }: { readonly value: string }) {
  return (
    <label class="search">
      <span>Search</span>
      <input
        type="search"
        value={value}
        placeholder="ID, state or response, for example: failing 503 (press /)"
        onInput={({ currentTarget }) => setQuery({ q: currentTarget.value })}
      />
    </label>
  );
}

interface TableProps {
  readonly rows: readonly DestinationRow[];
  readonly order: ReturnType<typeof orderOf>;
}

function Table({ rows, order }: TableProps) {
  const [first, last] = useInSight(rows.length);
  const above = first * ROW_PX;
  const below = Math.max(0, rows.length - last) * ROW_PX;
  return (
    <table class="rows card" aria-rowcount={rows.length + 1}>
      <thead>
        <tr>
          {COLUMNS.map(({ name, label, isNumber }) => {
            const isSorted = order.column === name;
            const direction = order.isDown ? "descending" : "ascending";
            // Columns of numbers are first sorted with the largest number at the top.
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
          <Row key={row.destination} row={row} index={first + index + 2} />
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

function Row({ row, index }: { readonly row: DestinationRow; readonly index: number }) {
  const { destination, severity, last } = row;
  const cells: Readonly<Record<ColumnName, ComponentChildren>> = {
    id: <DestinationLink id={destination} />,
    state: <State {...stateOf(row)} />,
    delivered: countText(row.donePerMinute),
    failed: countText(row.failedPerMinute),
    success: percentText(acceptedShare(row)),
    p50: millisecondsText(row.p50Ms),
    p99: millisecondsText(row.p99Ms),
    queued: countText(row.waiting),
    retry: countText(row.awaitingRetry),
    oldest: <Age at={row.oldestAt} />,
    last:
      last === null ? (
        <None />
      ) : (
        <>
          {outcomeText(last)}, <Age at={last.at} />
        </>
      ),
  };
  return (
    <tr aria-rowindex={index} class={severity <= 1 ? "failing" : ""}>
      {COLUMNS.map(({ name, isNumber }) => {
        const [Cell, scope] = name === "id" ? (["th", "row"] as const) : (["td"] as const);
        return (
          <Cell key={name} scope={scope} class={isNumber ? "number" : ""} data-column={name}>
            {cells[name]}
          </Cell>
        );
      })}
    </tr>
  );
}

/** Determines which rows are visible, and adds some rows above and below them. */
function useInSight(count: number): readonly [number, number] {
  const [range, setRange] = useState<readonly [number, number]>([0, 40]);
  useEffect(() => {
    const measure = () => {
      const table = document.querySelector("table.rows tbody");
      const top = table === null ? 0 : table.getBoundingClientRect().top;
      const first = Math.max(0, Math.floor(-top / ROW_PX) - SPARE_ROWS);
      const size = Math.ceil(window.innerHeight / ROW_PX) + 2 * SPARE_ROWS;
      const last = Math.min(count, first + size);
      setRange((before) => (before[0] === first && before[1] === last ? before : [first, last]));
    };
    measure();
    window.addEventListener("scroll", measure, { passive: true });
    window.addEventListener("resize", measure);
    return () => {
      window.removeEventListener("scroll", measure);
      window.removeEventListener("resize", measure);
    };
  }, [count]);
  return [Math.min(range[0], Math.max(0, count - 1)), Math.min(range[1], count)];
}
