/** A line without axes: how it went over the last hours, beside a number that says how it is. */

import { trimmed } from "./trimmed.ts";

interface SparkProps {
  readonly values: readonly (number | null)[];
  readonly tone: string;
}

const WIDTH = 120;
const HEIGHT = 28;

export function Spark({ values, tone }: SparkProps) {
  const shown = trimmed({ fromMs: 0, stepMs: 1, values: { all: values } }).values.all;
  const known = shown.flatMap((value) => value ?? []);
  if (known.length < 2) return <div class="spark" />;
  const most = Math.max(...known, 1);
  return (
    <svg
      class={`spark ${tone}`}
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      <path d={pathOf(shown, most)} />
    </svg>
  );
}

function pathOf(values: readonly (number | null)[], most: number): string {
  const step = WIDTH / Math.max(1, values.length - 1);
  let path = "";
  let isDown = false;
  for (const [index, value] of values.entries()) {
    if (value === null) {
      isDown = false;
      continue;
    }
    const y = HEIGHT - 2 - (value / most) * (HEIGHT - 4);
    path += `${isDown ? "L" : "M"}${(index * step).toFixed(1)} ${y.toFixed(1)}`;
    isDown = true;
  }
  return path;
}
