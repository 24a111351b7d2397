/**
 * Reads the figures in the tables that benches print, and compares the figures of two commits.
 *
 * The columns for CPU, units per second and memory are compared. A row is identified by its first column and its other
 * texts. A yardstick is the same program in both commits: its rows show how much a ratio changes because of the machine
 * alone, and never fail.
 */

import { type Bootstrapped, bootstrapped, markdown, median } from "./measure.ts";

/** A ratio that is certainly above this is a regression. */
const RATIO_MAX = 1.1;

const YARDSTICK = /plain|undici|bare|@segment|alone \(ceiling\)/i;

export interface Figure {
  /** Row and column, such as `(a) all five, Switchyard route: peak MB`. */
  readonly name: string;
  readonly value: number;
  /** True if a larger value is worse. */
  readonly isCost: boolean;
  readonly isYardstick: boolean;
}

export interface Compared {
  readonly name: string;
  readonly isYardstick: boolean;
  readonly before: number;
  readonly now: number;
  /** By which factor it is worse now; below 1 if it is better. */
  readonly ratio: Bootstrapped;
}

/** Returns all figures in the output of `npm run bench`. */
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
  // The first column has what varies: the calls per batch.
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
 * Compares runs that were made in turns. A figure that only one of the commits prints is omitted.
 *
 * @param before runs of the earlier commit, in order; `now` has the runs of the current one
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

/** A single round does not show the effect of chance, so nothing is certain. */
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
