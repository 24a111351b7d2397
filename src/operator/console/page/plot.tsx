/**
 * Draws lines or stacked areas over time, and small lines without axes next to a number. The drawings are hidden
 * from screen readers. Instead, a sentence states the latest and the highest values of a plot.
 */

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";

import type { Series } from "../view.ts";
import { trimmed } from "./trimmed.ts";

export interface Line {
  readonly name: string;
  readonly label: string;
  /** A custom property of the style sheet, such as `--good`. */
  readonly color: string;
}

interface PlotProps {
  readonly title: string;
  readonly series: Series;
  readonly lines: readonly Line[];
  readonly unit: string;
  readonly isStacked?: boolean;
}

type Values = readonly (number | null)[];
const HEIGHT = 180;

export function Plot({ title, series: whole, lines, unit, isStacked = false }: PlotProps) {
  const series = useMemo(() => trimmed(whole), [whole]);
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const [at, setAt] = useState<number | null>(null);
  const isDark = useDark();
  const data = dataOf(series, lines, isStacked);
  const names = lines.map(({ name }) => name).join();
  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    const options = optionsOf(element, lines, isStacked, setAt);
    const made = new uPlot(options, data, element);
    plot.current = made;
    const resized = new ResizeObserver(() => {
      made.setSize({ width: Math.max(200, element.clientWidth), height: HEIGHT });
    });
    resized.observe(element);
    return () => {
      resized.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [isDark, names, isStacked]);
  useEffect(() => plot.current?.setData(data), [series]);
  const shown = at ?? lastAt(series, lines);
  // A line needs two points.
  const knownOf = ({ name }: Line) => (series.values[name] ?? []).filter((each) => each !== null);
  const isEmpty = lines.every((line) => knownOf(line).length < 2);
  return (
    <figure class="plot">
      <figcaption>
        <span>{title}</span>
        <ul class="legend flex">
          {lines.map(({ name, label, color }) => (
            <li key={name}>
              <i class="swatch" style={{ background: `var(${color})` }} aria-hidden="true" />
              {label} <b>{shown === null ? "–" : valueText(series.values[name]?.[shown])}</b>
            </li>
          ))}
          {isNamed(unit, lines) ? null : <li>{unit}</li>}
        </ul>
      </figcaption>
      <div ref={place} aria-hidden="true" hidden={isEmpty} />
      {isEmpty ? <p class="quiet">No data yet.</p> : null}
      <p class="hidden">{sentenceOf(series, lines, unit)}</p>
    </figure>
  );
}

function optionsOf(
  element: HTMLElement,
  lines: readonly Line[],
  isStacked: boolean,
  setAt: (index: number | null) => void,
): uPlot.Options {
  const style = getComputedStyle(element);
  const color = (name: string) => style.getPropertyValue(name).trim();
  const axis = {
    stroke: color("--soft"),
    grid: { stroke: color("--line"), width: 1 },
    ticks: { show: false },
    font: "12px system-ui, sans-serif",
  };
  const drawn = isStacked ? lines.toReversed() : lines;
  return {
    width: Math.max(200, element.clientWidth),
    height: HEIGHT,
    legend: { show: false },
    cursor: { drag: { x: false, y: false }, y: false },
    scales: { y: { range: (_plot, _low, high) => [0, Math.max(1, (high ?? 1) * 1.08)] } },
    axes: [
      { ...axis, size: 28, values: clockTimes },
      { ...axis, size: 46, incrs: WHOLE_STEPS },
    ],
    // Without padding, half of the last label on the time axis would be outside the plot.
    padding: [8, 20, 0, 0],
    series: [
      {},
      ...drawn.map((line) => ({
        label: line.label,
        stroke: color(line.color),
        width: isStacked ? 1 : 1.75,
        points: { show: false },
        ...(isStacked ? { fill: color(line.color) } : {}),
      })),
    ],
    hooks: { setCursor: [({ cursor }: uPlot) => setAt(cursor.idx ?? null)] },
  };
}

/** The possible distances between ticks. They are integers, because there are no fractions of calls or milliseconds. */
const WHOLE_STEPS = Array.from({ length: 10 }, (_, power) => power).flatMap((power) =>
  [1, 2, 5].map((step) => step * 10 ** power),
);

/**
 * Formats times in 24-hour format, in the user's time zone. The default of uPlot is the format of the United States.
 */
function clockTimes(_plot: uPlot, times: readonly number[]): string[] {
  return times.map((seconds) =>
    new Date(seconds * 1_000).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" }),
  );
}

function dataOf(
  { fromMs, stepMs, values }: Series,
  lines: readonly Line[],
  isStacked: boolean,
): uPlot.AlignedData {
  const rows = lines.map(({ name }) => values[name] ?? []);
  const length = rows[0]?.length ?? 0;
  const times = Array.from({ length }, (_, index) => (fromMs + index * stepMs) / 1_000);
  const shown = isStacked ? stackedOf(rows).toReversed() : rows;
  return [times, ...shown.map((row) => [...row])];
}

/** Stacks each series on top of the earlier ones. The topmost series is drawn first, so that all series are visible. */
function stackedOf(rows: readonly Values[]): readonly Values[] {
  let below: Values | null = null;
  return rows.map((row) => {
    const under: Values | null = below;
    const stacked: Values = row.map((value, index) => {
      return value === null ? null : value + (under?.[index] ?? 0);
    });
    below = stacked;
    return stacked;
  });
}

function lastAt({ values }: Series, lines: readonly Line[]): number | null {
  const row = values[lines[0]?.name ?? ""] ?? [];
  const last = row.findLastIndex((value) => value !== null);
  return last < 0 ? null : last;
}

function valueText(value: number | null | undefined): string {
  if (value === null || value === undefined) return "–";
  return value < 10 && !Number.isInteger(value)
    ? value.toFixed(1)
    : Math.round(value).toLocaleString("en");
}

function sentenceOf(series: Series, lines: readonly Line[], unit: string): string {
  const last = lastAt(series, lines);
  const parts = lines.map(({ name, label }) => {
    const row = series.values[name] ?? [];
    const most = Math.max(0, ...row.flatMap((value) => value ?? []));
    return `${label}: now ${last === null ? "unknown" : valueText(row[last])}, at most ${valueText(most)}`;
  });
  return `${parts.join("; ")}${isNamed(unit, lines) ? "" : ` (${unit})`}.`;
}

/** Returns true if a label already names the unit. */
function isNamed(unit: string, lines: readonly Line[]): boolean {
  return lines.some(({ label }) => label === unit);
}

function useDark(): boolean {
  const [query] = useState(() => window.matchMedia("(prefers-color-scheme: dark)"));
  const [isDark, setDark] = useState(query.matches);
  useEffect(() => {
    const changed = () => setDark(query.matches);
    query.addEventListener("change", changed);
    return () => query.removeEventListener("change", changed);
  }, [query]);
  return isDark;
}

const SPARK_WIDTH = 120;
const SPARK_HEIGHT = 28;

/** Draws a line without axes. */
export function Spark({ values, tone }: { readonly values: Values; readonly tone: string }) {
  const shown = trimmed({ fromMs: 0, stepMs: 1, values: { all: values } }).values.all;
  const known = shown.flatMap((value) => value ?? []);
  if (known.length < 2) return <div class="spark quiet">no data yet</div>;
  return (
    <svg
      class={`spark ${tone}`}
      viewBox={`0 0 ${SPARK_WIDTH} ${SPARK_HEIGHT}`}
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      <path d={sparkPath(shown, Math.max(...known, 1))} />
    </svg>
  );
}

function sparkPath(values: Values, most: number): string {
  const step = SPARK_WIDTH / Math.max(1, values.length - 1);
  let path = "";
  let isDown = false;
  for (const [index, value] of values.entries()) {
    if (value !== null) {
      const y = SPARK_HEIGHT - 2 - (value / most) * (SPARK_HEIGHT - 4);
      path += `${isDown ? "L" : "M"}${(index * step).toFixed(1)} ${y.toFixed(1)}`;
    }
    isDown = value !== null;
  }
  return path;
}
