/** Parses Prometheus' text format, in which a process serves `/metrics`. */

export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const LINE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)(?: \d+)?$/;
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g;
const ESCAPES: Readonly<Record<string, string>> = { "\\n": "\n", '\\"': '"', "\\\\": "\\" };

/** Comments and invalid lines are ignored. */
export function parseMetrics(text: string): readonly Sample[] {
  return text.split("\n").flatMap((line) => {
    const [, name, labels = "", value] = LINE.exec(line) ?? [];
    if (name === undefined || value === undefined || Number.isNaN(Number(value))) return [];
    const pairs = [...labels.matchAll(LABEL)].map(([, label = "", escaped = ""]) => [
      label,
      escaped.replace(/\\./g, (pair) => ESCAPES[pair] ?? pair),
    ]);
    return [{ name, labels: Object.fromEntries(pairs) as Record<string, string>, value: +value }];
  });
}
