/**
 * The figures in the tables that benches print, and how those of two commits compare.
 *
 * A table's columns of CPU, units per second and memory are compared. A row is named by its first
 * column and its other texts. Yardsticks are the same program in both commits: their rows show how much
 * the machine alone moves a ratio, and never fail.
 */

import { type Bootstrapped, bootstrapped, markdown, median } from "./measure.ts";

/** A ratio above this, surely, is a regression. */
const RATIO_MAX = 1.1;

const YARDSTICK = /plain|undici|bare|@segment|alone \(ceiling\)/i;

export interface Figure {
  /** Row and column, such as `(a) all five, Switchyard route: peak MB`. */
  readonly name: string;
  readonly value: number;
  /** Whether more of it is worse. */
  readonly isCost: boolean;
  readonly isYardstick: boolean;
}

export interface Compared {
  readonly name: string;
  readonly isYardstick: boolean;
  readonly before: number;
  readonly now: number;
  /** How much worse it is now; below 1 it is better. */
  readonly ratio: Bootstrapped;
}

/** All figures of what `npm run bench` printed. */
export function figuresIn(output: string): readonly Figure[] {
  const found: Figure[] = [];
  let header: readonly string[] = [];
  for (const line of output.split("\n")) {
    if (!line.startsWith("|")) header = [];
    else if (header.length === 0) header = cellsOf(line);
    else found.push(...figuresOf(header, cellsOf(line)));
  }
  return found;
}

function figuresOf(header: readonly string[], cells: readonly string[]): Figure[] {
  const [first = ""] = cells;
  const texts = cells.filter((cell) => cell !== "" && !isNumber(cell));
  // What varies stands first: calls a batch.
  const label = (isNumber(first) ? [`${first} ${header[0]}`, ...texts] : texts).join(", ");
  return header.flatMap((column, at) => {
    const cell = cells[at] ?? "";
    const isThroughput = column.endsWith("/ s");
    const isCost = /\bCPU\b|\bMB\b/.test(column) && !column.includes("ratio");
    if (!(isThroughput || isCost) || !isNumber(cell)) return [];
    const name = `${label}: ${column}`;
    const isYardstick = YARDSTICK.test(label);
    return [{ name, value: Number(cell), isCost, isYardstick }];
  });
}

function cellsOf(line: string): string[] {
  return line
    .split("|")
    .slice(1, -1)
    .map((cell) => cell.trim());
}

function isNumber(cell: string): boolean {
  return /^\d+(\.\d+)?$/.test(cell);
}

/**
 * Compares runs that were made in turns. A figure that only one of the commits prints is left out.
 *
 * @param before runs of the earlier commit, `now` those of the present one, in their order
 */
export function compareRuns(
  before: readonly (readonly Figure[])[],
  now: readonly (readonly Figure[])[],
): readonly Compared[] {
  const rounds = now.map((figures, at) => ({ figures, earlier: before[at] ?? [] }));
  return (now[0] ?? []).flatMap(({ name, isCost, isYardstick }) => {
    const pairs = rounds.flatMap(({ figures, earlier }) => {
      const [one, other] = [figureNamed(earlier, name), figureNamed(figures, name)];
      return one === null || other === null ? [] : [{ before: one, now: other }];
    });
    if (pairs.length === 0) return [];
    const ratioOf = (pair: (typeof pairs)[number]) =>
      isCost ? pair.now / pair.before : pair.before / pair.now;
    return [
      {
        name,
        isYardstick,
        before: median(pairs.map((pair) => pair.before)),
        now: median(pairs.map((pair) => pair.now)),
        ratio: bootstrapped(pairs, (drawn) => median(drawn.map(ratioOf))),
      },
    ];
  });
}

function figureNamed(figures: readonly Figure[], name: string): number | null {
  return figures.find((figure) => figure.name === name)?.value ?? null;
}

/** One round says nothing about chance, so that nothing is sure. */
export function isRegression({ isYardstick, ratio }: Compared, rounds: number): boolean {
  return rounds > 1 && !isYardstick && ratio.low > RATIO_MAX;
}

export function comparisonTable(rows: readonly Compared[], rounds: number): string {
  return markdown(
    rows.map((row) => ({
      figure: row.name,
      before: shown(row.before),
      now: shown(row.now),
      "worse by": row.ratio.value.toFixed(2),
      "95 %": `${row.ratio.low.toFixed(2)} to ${row.ratio.high.toFixed(2)}`,
      "": row.isYardstick ? "yardstick" : isRegression(row, rounds) ? "REGRESSION" : "",
    })),
  );
}

function shown(value: number): string {
  return value < 100 ? value.toFixed(1) : value.toFixed(0);
}
